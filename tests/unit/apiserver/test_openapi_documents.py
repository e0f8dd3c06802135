"""OpenAPI documents: complete, made once, and made again when their kinds change."""

import orjson
import pytest

from jangar.apiserver.builtin import built_in_types
from jangar.apiserver.messages import Request
from jangar.apiserver.openapi import OpenApi
from jangar.apiserver.registry import Registry
from jangar.apiserver.strategies.custom_types import resource_types_of

TEXT = {"type": "string"}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}
PLACE = "/openapi/v3/apis/example.com/v1"


def definition(plural="things", **spec):
    """A definition whose objects have this spec."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


@pytest.fixture
def registry():
    """Every built-in kind and one custom one."""
    registry = Registry(built_in_types())
    registry.serve_custom("things.example.com", resource_types_of(definition(name=TEXT)))
    return registry


def served(registry, path, **query):
    """The answer to a GET."""
    return OpenApi(registry).answer(
        Request(method="GET", path=path, query={name: [value] for name, value in query.items()})
    )


def index(openapi):
    """Places and where their documents are."""
    found = openapi.answer(Request(method="GET", path="/openapi/v3"))
    return {place: each["serverRelativeURL"] for place, each in orjson.loads(found.body)["paths"].items()}


def references(value):
    """Every schema that a document refers to."""
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for inner in value.values() for each in references(inner)]
    return [each for inner in value for each in references(inner)] if isinstance(value, list) else []


def test_every_document_holds_what_it_refers_to(registry):
    """Kubectl explain follows references within one document."""
    for place in index(OpenApi(registry)):
        document = orjson.loads(served(registry, f"/openapi/v3/{place}").body)
        names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

        assert set(references(document)) <= names, place


def test_every_kind_is_found_by_its_path_and_its_name(registry):
    """Kubectl explain looks for the path of a resource, then for the schema of the kind that it names."""
    for resource in registry:
        place = f"apis/{resource.api_version}" if resource.group else "api/v1"
        document = orjson.loads(served(registry, f"/openapi/v3/{place}").body)
        within = "/namespaces/{namespace}" if resource.namespaced else ""
        item = document["paths"][f"/{place}{within}/{resource.plural}"]
        kind = item["post"]["x-kubernetes-group-version-kind"]
        named = [
            name
            for name, schema in document["components"]["schemas"].items()
            if kind in schema.get("x-kubernetes-group-version-kind", ())
        ]

        assert len(named) == 1, resource.qualified


def test_an_embedded_resource_is_described(registry):
    """It has a kind and metadata, although its schema does not say so."""
    registry.serve_custom("things.example.com", resource_types_of(definition(inner=EMBEDDED)))

    schemas = orjson.loads(served(registry, PLACE).body)["components"]["schemas"]

    inner = schemas["com.example.v1.Things"]["properties"]["spec"]["properties"]["inner"]
    assert set(inner["properties"]) == {"apiVersion", "kind", "metadata"}
    assert inner["required"] == ["kind", "apiVersion"]


def test_a_number_or_a_text_is_published_as_either(registry):
    """Clients do not know the word for it."""
    either = {"x-kubernetes-int-or-string": True}
    registry.serve_custom("things.example.com", resource_types_of(definition(amount=either)))

    schemas = orjson.loads(served(registry, PLACE).body)["components"]["schemas"]

    amount = schemas["com.example.v1.Things"]["properties"]["spec"]["properties"]["amount"]
    assert amount["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_only_the_group_that_changed_gets_another_address(registry):
    """The hash in it lets clients keep the documents of the others."""
    openapi = OpenApi(registry)
    before = index(openapi)

    registry.serve_custom("things.example.com", resource_types_of(definition(name=TEXT, more=TEXT)))
    after = index(openapi)

    assert {place for place in after if after[place] != before[place]} == {"apis/example.com/v1"}


def test_a_group_that_is_gone_has_no_document(registry):
    """An empty answer, not even a content type."""
    openapi = OpenApi(registry)
    index(openapi)
    registry.serve_custom("things.example.com", [])

    gone = openapi.answer(Request(method="GET", path=PLACE))

    assert (gone.status, gone.body, gone.content_type) == (404, b"", "")


def test_an_old_hash_leads_to_the_new_one(registry):
    """Whoever has an old address is sent on."""
    moved = served(registry, PLACE, hash="OLD")

    assert moved.status == 301
    assert dict(moved.headers)["Location"] == index(OpenApi(registry))["apis/example.com/v1"]


def test_who_has_the_document_is_only_told_so(registry):
    """By its tag."""
    tag = dict(served(registry, PLACE).headers)["ETag"]

    again = OpenApi(registry).answer(Request(method="GET", path=PLACE, headers={"if-none-match": tag}))

    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        pytest.param(None, "application/json", id="anything"),
        pytest.param("application/json", "application/json", id="json"),
        pytest.param(
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            id="kubectl",
        ),
    ],
)
def test_v2_describes_no_kind_and_is_there(registry, accept, content_type):
    """kubectl takes no List without it."""
    headers = {"accept": accept} if accept else {}
    found = OpenApi(registry).answer(Request(method="GET", path="/openapi/v2", headers=headers))
    assert found.content_type == content_type
    if accept and "protobuf" in accept:
        assert found.body == b"\n\x032.0\x12\x12\n\nKubernetes\x12\x041.35B\x00"
    else:
        assert orjson.loads(found.body)["paths"] == {}
