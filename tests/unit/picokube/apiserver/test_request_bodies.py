"""From the bytes of a request to an object."""

import pytest

from picokube.apiserver.protocol.body import decode_object
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import Request


def sent(body, content_type="application/json"):
    return Request(method="POST", path="/", headers={"content-type": content_type}, body=body)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        pytest.param(b'{"a":{"b":1}}', "application/json", id="json"),
        pytest.param(b'{"a":{"b":1}}', "application/json; charset=utf-8", id="json-with-a-charset"),
        pytest.param(b'{"a":{"b":1}}', "", id="unsaid-is-json"),
        pytest.param(b"a:\n  b: 1\n", "application/yaml", id="yaml"),
        pytest.param(b"k8s", "application/vnd.kubernetes.protobuf", id="protobuf"),
    ],
)
def test_an_object_is_read_in_every_form(body, content_type):
    """JSON, YAML and, for built-in kinds, protobuf."""
    decoded = decode_object(sent(body, content_type), protobuf=lambda _: {"a": {"b": 1}})
    assert decoded.object == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        pytest.param(b'{"a":1,"a":2}', ['duplicate field "a"'], id="twice"),
        pytest.param(
            b'{"a":[{"b":1,"b":2,"b":3}]}', ['duplicate field "a[0].b"'] * 2, id="nested-and-thrice"
        ),
        pytest.param(b'{"a":1,"b":{"a":2}}', [], id="same-name-elsewhere"),
    ],
)
def test_repeated_keys_are_reported(body, problems):
    """The last one counts; strict validation refuses them."""
    assert decode_object(sent(body), protobuf=None).strict_problems == problems


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        pytest.param(b"{", "application/json", 400, id="broken-json"),
        pytest.param(b"[]", "application/json", 400, id="a-list"),
        pytest.param(b"\xff\xfe{}", "application/json", 400, id="not-utf8"),
        pytest.param(b"a: [", "application/yaml", 400, id="broken-yaml"),
        pytest.param(b"- a", "application/yaml", 400, id="a-yaml-list"),
        pytest.param(b"? [a]\n: b", "application/yaml", 400, id="yaml-without-a-json-form"),
        pytest.param(b"{}", "text/plain", 415, id="unknown-type"),
        pytest.param(b"{}", "application/vnd.kubernetes.protobuf", 415, id="protobuf-of-a-custom-kind"),
        pytest.param(b'{"a":' * 100_000, "application/json", 400, id="deep"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", "application/json", 400, id="a-very-long-number"),
    ],
)
def test_what_is_no_object_is_refused(body, content_type, code):
    """With the right code, and never a crash."""
    with pytest.raises(ApiError) as refused:
        decode_object(sent(body, content_type), protobuf=None)
    assert refused.value.code == code
