"""OpenAPI documents: complete, made once, and made again when their kinds change."""

import asyncio
import re

import orjson
import pytest

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.discovery.openapi_v2 import OpenApiV2
from picokube.apiserver.discovery.openapi_v3 import OpenApi
from picokube.apiserver.kinds.resources import Registry
from picokube.apiserver.protocol.messages import Request
from picokube.apiserver.strategies.crds.custom import resource_types_of

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
    return {place: item["serverRelativeURL"] for place, item in orjson.loads(found.body)["paths"].items()}


def references(value):
    """Every schema that a document refers to."""
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [reference for inner in value.values() for reference in references(inner)]
    return (
        [reference for inner in value for reference in references(inner)] if isinstance(value, list) else []
    )


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
    """Requests to an old address are redirected."""
    moved = served(registry, PLACE, hash="OLD")

    assert moved.status == 301
    assert dict(moved.headers)["Location"] == index(OpenApi(registry))["apis/example.com/v1"]


def test_who_has_the_document_is_only_reported_so(registry):
    """By its tag."""
    tag = dict(served(registry, PLACE).headers)["ETag"]

    again = OpenApi(registry).answer(Request(method="GET", path=PLACE, headers={"if-none-match": tag}))

    assert (again.status, again.body) == (304, b"")


def _v2(registry, accept=None, **headers):
    headers |= {"accept": accept} if accept else {}
    request = Request(method="GET", path="/openapi/v2", headers=headers)
    return asyncio.run(OpenApiV2(registry).answer(request))


def test_v2_describes_every_kind_with_references_that_lead_somewhere(registry):
    """D4: Terraform and older clients read definitions and operations from it."""
    found = _v2(registry)
    document = orjson.loads(found.body)
    assert found.content_type == "application/json"
    named = {
        (item["group"], item["version"], item["kind"])
        for schema in document["definitions"].values()
        for item in schema.get("x-kubernetes-group-version-kind", ())
    }
    assert {(item.group, item.version, item.kind) for item in registry} <= named
    targets = set(re.findall(r'"\$ref":"#/(definitions|parameters)/([^"]+)"', found.body.decode()))
    assert len(targets) > 100
    assert all(name in document[where] for where, name in targets)
    patch = document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]["patch"]
    assert patch["x-kubernetes-action"] == "patch"
    assert any(parameter.get("name") == "dryRun" for parameter in patch["parameters"])


def test_v2_has_no_words_that_only_v3_has(registry):
    """Older clients refuse a document with them."""

    def schemas(found):
        if isinstance(found, dict):
            if "type" in found or "$ref" in found or "properties" in found:
                yield found
            for name, item in found.items():
                # A field may be called `default`.
                yield from (
                    (s for inner in item.values() for s in schemas(inner))
                    if name == "properties"
                    else schemas(item)
                )
        elif isinstance(found, list):
            for item in found:
                yield from schemas(item)

    whole = orjson.loads(_v2(registry).body)["definitions"]
    named = [schema for item in whole.values() for schema in schemas(item)]
    assert len(named) > 1000
    assert not [item for item in named if {"oneOf", "anyOf", "nullable"} & (item.keys() - {"properties"})]


def test_v2_is_protobuf_for_kubectl(registry):
    """The same definitions, field by field."""
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    found = _v2(registry, accept)
    assert found.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    document = _messages(found.body)
    assert document[1] == [b"2.0"]
    definitions = {
        name.decode(): _messages(schema)
        for entry in _messages(document[9][0])[1]
        for (name,), (schema,) in [(_messages(entry)[1], _messages(entry)[2])]
    }
    job = definitions["io.k8s.api.batch.v1.Job"]
    properties = [_messages(item)[1][0].decode() for item in _messages(job[25][0])[1]]
    assert properties == ["apiVersion", "kind", "metadata", "spec", "status"]
    paths = [_messages(item)[1][0].decode() for item in _messages(document[8][0])[2]]
    assert "/apis/batch/v1/namespaces/{namespace}/jobs/{name}" in paths


def test_v2_is_answered_briefly_to_who_has_it(registry):
    """By its tag, which changes with the kinds."""
    tag = dict(_v2(registry).headers)["ETag"]
    assert _v2(registry, **{"if-none-match": tag}).status == 304
    other = Registry([item for item in registry if item.kind != "Job"])
    assert dict(_v2(other).headers)["ETag"] != tag


def _messages(data):
    """Fields of a protobuf message by number, as bytes or whole numbers."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        match key & 7:
            case 0:
                value = varint()
            case 1:
                value, at = data[at : at + 8], at + 8
            case _:
                size = varint()
                value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found
