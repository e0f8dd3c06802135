"""Bodies that say they are of another kind or version than the path."""

import asyncio

import orjson
import pytest

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.kinds.resources import Registry
from picokube.apiserver.objects.admission import decode_request
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import IGNORE, STRICT, WARN, Request, Target, WriteOptions
from picokube.apiserver.strategies.crds.custom import resource_types_of

SPEC = {"type": "object", "properties": {"a": {"type": "string"}}}
NEWER = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


def version(name, spec):
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}


THINGS = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version("v1", SPEC), version("v2", NEWER)],
    },
}


@pytest.fixture
def serving():
    """Every built-in kind, and a custom one in two versions."""
    registry = Registry(built_in_types())
    registry.serve_custom("things.example.com", resource_types_of(THINGS))
    return ServerContext(registry=registry, store=None, clock=None, new_uid=str, new_suffix=str)


def refused(serving, place, validation=WARN, **body):
    """How a POST to a place is refused: words and warnings."""
    group, found, plural = place
    resource = serving.registry.find(group, found, plural)
    request = Request(
        method="POST", path="/", headers={"content-type": "application/json"}, body=orjson.dumps(body)
    )
    target = Target(group=group, version=found, resource=plural, namespace="d")
    with pytest.raises(ApiError) as caught:
        asyncio.run(
            decode_request(
                serving, resource, target, request, WriteOptions(manager="m", validation=validation)
            )
        )
    return caught.value.message, [value for name, value in caught.value.headers if name == "Warning"]


@pytest.mark.parametrize(
    ("place", "body", "why"),
    [
        pytest.param(
            ("", "v1", "configmaps"),
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "!"}},
            'Secret in version "v1" cannot be handled as a ConfigMap: illegal base64 data at input byte 0',
            id="read-as-what-it-says",
        ),
        pytest.param(
            ("batch", "v1", "jobs"),
            {"apiVersion": "v1", "kind": "Secret"},
            'Secret in version "v1" cannot be handled as a Job: '
            "converting (v1.Secret) to (batch.Job): unknown conversion",
            id="then-found-to-be-something-else",
        ),
        pytest.param(
            ("", "v1", "configmaps"),
            {"apiVersion": "example.com/v1", "kind": "Thing"},
            'Thing in version "v1" cannot be handled as a ConfigMap: no kind "Thing" is registered for version '
            '"example.com/v1" in scheme "pkg/runtime/scheme.go:111"',
            id="custom-kinds-are-not-known-to-built-in-ones",
        ),
        pytest.param(
            ("events.k8s.io", "v1", "events"),
            {"apiVersion": "v1", "kind": "Event"},
            "the API version in the data (v1) does not match the expected API version (events.k8s.io/v1)",
            id="the-same-kind-in-another-group",
        ),
    ],
)
def test_a_built_in_path_refuses_another_kind(serving, place, body, why):
    """With what went wrong first."""
    assert refused(serving, place, **body)[0] == why


@pytest.mark.parametrize(
    ("stated", "unknown"),
    [
        pytest.param("example.com/v2", ["spec.c"], id="by-the-schema-of-that-version"),
        pytest.param("example.com/v9", ["metadata.z", "more", "spec"], id="nothing-is-known-to-no-version"),
        pytest.param("other.example.com/v1", [], id="another-kind-is-nobodys-business"),
        pytest.param(None, [], id="none"),
    ],
)
def test_another_version_is_refused_with_a_warning_of_its_fields(serving, stated, unknown):
    """The body is read before its version is looked at."""
    more = {"more": 1, "metadata": {"z": 1}} if stated == "example.com/v9" else {}
    body = {"apiVersion": stated, "kind": "Thing", "spec": {"b": "x", "c": "y"}, **more}
    message, warnings = refused(serving, ("example.com", "v1", "things"), **body)
    assert message == (
        f"the API version in the data ({stated or ''}) does not match the expected API version (example.com/v1)"
    )
    assert warnings == [f'299 - "unknown field \\"{item}\\""' for item in unknown]


def test_another_version_is_refused_for_its_fields_when_strict(serving):
    """And silently if the caller does not collect warnings."""
    place, body = (
        ("example.com", "v1", "things"),
        {"apiVersion": "example.com/v9", "kind": "Thing", "spec": {}},
    )
    assert refused(serving, place, STRICT, **body)[0] == (
        'Thing in version "v9" cannot be handled as a Thing: strict decoding error: unknown field "spec"'
    )
    assert refused(serving, place, IGNORE, **body)[1] == []
