"""Bodies in protobuf become the objects they mean; what is no message is a bad request and nothing worse."""

import struct as packing
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picokube.apiserver.gotypes.protobuf import MAGIC, MAX_DEPTH, decode
from picokube.apiserver.protocol import errors


def varint(value):
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number, value):
    """A field of a message: numbers as varints, everything else with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (2**64 - 1))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*pairs):
    return b"".join(field(number, value) for number, value in pairs)


def body(api_version, kind, raw):
    return MAGIC + message((1, message((1, api_version), (2, kind))), (2, raw), (3, ""), (4, ""))


def pair(key, value):
    return message((1, key), (2, value))


POD_OF_A_JOB = message((2, message((3, "Never"))))
A_VOLUME = message((1, "v"), (2, message((6, message((1, "s"))))))
META = message((1, "a"), (11, message((1, "k"), (2, "v"))), (8, b""))


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(
            body("v1", "Namespace", message((1, message((1, "x"))), (2, b""), (3, b""))),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}, "spec": {}, "status": {}},
            id="namespace",
        ),
        pytest.param(
            body("v1", "ConfigMap", message((1, META), (2, pair("a", "b")), (2, pair("c", "d")))),
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "a", "labels": {"k": "v"}, "creationTimestamp": None},
                "data": {"a": "b", "c": "d"},
            },
            id="config-map",
        ),
        pytest.param(
            body("v1", "Secret", message((2, message((1, "a"), (2, b"\x00\xff"))), (3, "Opaque"))),
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "AP8="}, "type": "Opaque"},
            id="secret-bytes-are-base64",
        ),
        pytest.param(
            body("batch/v1", "Job", message((2, message((1, 2), (7, -1), (10, 1), (6, POD_OF_A_JOB))))),
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "spec": {
                    "parallelism": 2,
                    "backoffLimit": -1,
                    "suspend": True,
                    "template": {"spec": {"restartPolicy": "Never"}},
                },
            },
            id="job-numbers-and-truths",
        ),
        pytest.param(
            body("v1", "Pod", message((2, message((1, A_VOLUME))))),
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            },
            id="embedded-structs-are-part-of-their-owner",
        ),
        pytest.param(
            body(
                "v1",
                "Service",
                message((2, message((1, message((3, 80), (4, message((1, 1), (3, "http")))))))),
            ),
            {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80, "targetPort": "http"}]}},
            id="int-or-string",
        ),
        pytest.param(
            body("v1", "DeleteOptions", message((1, 5), (4, "Foreground"), (2, message((1, "u"))))),
            {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "gracePeriodSeconds": 5,
                "propagationPolicy": "Foreground",
                "preconditions": {"uid": "u"},
            },
            id="delete-options",
        ),
        pytest.param(
            body(
                "rbac.authorization.k8s.io/v1",
                "Role",
                message((2, message((1, "get"), (2, ""), (3, "pods")))),
            ),
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
            },
            id="role",
        ),
        pytest.param(
            body("v1", "Event", message((6, message((1, 1767225600))))),
            {"apiVersion": "v1", "kind": "Event", "firstTimestamp": "2026-01-01T00:00:00Z"},
            id="time",
        ),
    ],
)
def test_a_message_becomes_its_object(sent, expected):
    assert decode(sent) == expected


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="json"),
        pytest.param(MAGIC + b"\x0a\xff", id="length-beyond-the-end"),
        pytest.param(MAGIC + b"\xff" * 20, id="endless-number"),
        pytest.param(MAGIC + b"\x0b", id="group"),
        pytest.param(body("v1", "ConfigMap", b"\x0a\x05ab"), id="cut-off"),
        pytest.param(body("v1", "ConfigMap", field(1, 7)), id="number-for-a-message"),
        pytest.param(body("v1", "ConfigMap", field(1, field(1, b"\xff\xfe"))), id="no-utf-8"),
        pytest.param(body("v1", "Event", field(6, field(1, 2**62))), id="time-out-of-range"),
    ],
)
def test_what_is_no_message_is_a_bad_request(sent):
    with pytest.raises(errors.ApiError) as refused:
        decode(sent)
    assert refused.value.code == 400


def test_an_unknown_kind_is_named_and_left_alone():
    """The handler knows which kind belongs there, and refuses this one."""
    assert decode(body("v1", "Nonsense", b"\x00")) == {"apiVersion": "v1", "kind": "Nonsense"}


def test_unknown_fields_are_skipped():
    raw = message((1, message((1, "a"))), (99, "x"), (98, 7)) + varint(97 << 3 | 5) + packing.pack("<I", 1)
    assert decode(body("v1", "ConfigMap", raw))["metadata"] == {"name": "a"}


def test_depth_is_bounded():
    """A schema may hold itself; a body may not nest without bound."""
    inner = b""
    for _ in range(MAX_DEPTH + 5):
        inner = field(24, inner)
    crd = field(2, field(7, field(4, field(1, inner))))
    with pytest.raises(errors.ApiError):
        decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd))


@given(st.binary(max_size=200), st.sampled_from([("v1", "Pod"), ("batch/v1", "Job"), ("v1", "Secret")]))
def test_any_bytes_are_an_object_or_a_refusal(raw, kind):
    with suppress(errors.ApiError):
        assert decode(body(*kind, raw))["kind"] == kind[1]
