"""Secret values are redacted from kept log tails."""

import base64

import pytest

from jangar.controllers.log_tails import SecretReference, redact_tail, referenced_secrets, secret_values

POD = {
    "spec": {
        "initContainers": [
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]}
        ],
        "containers": [
            {
                "env": [{"name": "PLAIN", "value": "x"}],
                "envFrom": [{"secretRef": {"name": "b", "optional": True}}, {"configMapRef": {"name": "no"}}],
            }
        ],
        "volumes": [
            {"name": "v", "secret": {"secretName": "c"}},
            {
                "name": "p",
                "projected": {"sources": [{"secret": {"name": "b"}}, {"configMap": {"name": "no"}}]},
            },
        ],
        "imagePullSecrets": [{"name": "pull"}],
    }
}


@pytest.mark.rule("GC-6")
def test_every_secret_that_containers_see_is_known():
    """As variables, files and projected files; one that is needed once is needed."""
    assert referenced_secrets(POD) == [
        SecretReference("a", is_optional=False),
        SecretReference("b", is_optional=False),
        SecretReference("c", is_optional=False),
    ]
    assert referenced_secrets({}) == []


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"token=s3cr3t/=! end", b"token=*** end", id="as-it-is"),
        pytest.param(b"Basic " + base64.b64encode(b"s3cr3t/=!"), b"Basic ***", id="base64"),
        pytest.param(b"https://x/?t=s3cr3t%2F%3D%21&a=1", b"https://x/?t=***&a=1", id="in-a-url"),
        pytest.param(b"?t=s3cr3t/%3d%21&a=1", b"?t=***&a=1", id="in-small-letters-and-with-a-slash"),
        pytest.param(b"cr3t/=! began here", b"*** began here", id="cut-at-the-beginning"),
        pytest.param(b"ended in s3cr3t", b"ended in ***", id="cut-at-the-end"),
        pytest.param(b"nothing here", b"nothing here", id="nothing"),
    ],
)
def test_values_are_masked_in_every_form(text, expected):
    """Also where the text was cut within one."""
    assert redact_tail(text, [b"s3cr3t/=!"]) == expected


def test_lines_of_a_key_and_text_in_json_are_masked():
    """A program may show one line of a file, or quote it."""
    key = b"-----BEGIN-----\nabcdefgh\n-----END-----\n"
    assert redact_tail(b"read abcdefgh", [key]) == b"read ***"
    assert redact_tail(b'{"v": "say \\"hello\\""}', [b'say "hello"']) == b'{"v": "***"}'


def test_short_values_are_left():
    """They are in every text."""
    assert redact_tail(b"a yes b", [b"yes", b""]) == b"a yes b"


def test_a_secret_holds_base64():
    assert secret_values({"data": {"k": base64.b64encode(b"v").decode()}}) == [b"v"]
    assert secret_values({}) == []


@pytest.mark.rule("GC-6")
@pytest.mark.parametrize("before", [b"", b"u", b"me", b"bot", b"user"])
@pytest.mark.parametrize("after", [b"", b":x", b" and more"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_value_within_something_that_is_encoded_is_masked(before, after, encode):
    """Such as a name and a password in one header: little that surrounds it is left, nothing of it is."""
    text = encode(before + b":s3cr3t/+word" + after)
    assert b"***" in redact_tail(text, [b"s3cr3t/+word"])
    for alone in (b"s3cr3t", b"t/+wor"):
        assert encode(alone)[:8] not in redact_tail(text, [b"s3cr3t/+word"])
