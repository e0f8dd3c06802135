"""The table of built-in kinds, custom kinds from their definitions, and tables."""

import pytest

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.printing.tables import table_columns, table_row
from picokube.apiserver.protocol import errors
from picokube.apiserver.strategies.core.config import MAX_BYTES
from picokube.apiserver.strategies.crds.custom import resource_types_of
from unit.picokube.apiserver.strategies.answers import created, resource_of

TYPES = {(built_in_type.group, built_in_type.kind): built_in_type for built_in_type in built_in_types()}
CRD = {
    "metadata": {"name": "parts.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "parts", "kind": "Part", "shortNames": ["pt"], "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"a": {"type": "string", "default": "x"}},
                            },
                            "status": {"type": "object", "properties": {"b": {"type": "integer"}}},
                        },
                    }
                },
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
                "selectableFields": [{"jsonPath": ".spec.a"}],
            },
            {"name": "v0", "served": False, "storage": False, "deprecated": True},
        ],
    },
}


@pytest.mark.parametrize("resource", TYPES.values(), ids=lambda item: item.qualified)
def test_every_kind_has_a_schema_and_decodes(resource):
    assert resource.schema["description"]
    assert resource.schema["properties"]["metadata"]["properties"]["name"]["type"] == "string"
    assert resource.strategy.decode({"metadata": {"name": "a"}}) == ({"metadata": {"name": "a"}}, [])


@pytest.mark.parametrize(
    "resource", [item for item in TYPES.values() if "list" in item.verbs], ids=lambda item: item.qualified
)
def test_every_row_has_a_cell_a_column(resource):
    obj = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    resource.strategy.complete(obj)
    assert len(table_row(resource, obj)) == len(table_columns(resource))


def test_schemas_know_how_lists_merge():
    containers = TYPES["batch", "Job"].schema["properties"]["spec"]["properties"]["template"]["properties"][
        "spec"
    ]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["items"]["properties"]["ports"]["x-kubernetes-list-map-keys"] == [
        "containerPort",
        "protocol",
    ]


def test_a_schema_that_holds_itself_ends_open():
    versions = TYPES["apiextensions.k8s.io", "CustomResourceDefinition"].schema["properties"]["spec"][
        "properties"
    ]["versions"]
    schema = versions["items"]["properties"]["schema"]["properties"]["openAPIV3Schema"]
    assert schema["properties"]["not"]["x-kubernetes-preserve-unknown-fields"] is True


def test_served_versions_of_a_definition_become_types():
    [part] = resource_types_of(CRD)
    assert (part.group, part.version, part.plural, part.singular) == ("example.com", "v1", "parts", "part")
    assert part.subresources == {"status"}
    assert part.selectable_fields == (".spec.a",)
    assert part.stored_as == "parts.example.com"
    assert part.is_custom
    assert [column.name for column in part.columns] == ["A"]


def test_custom_objects_are_pruned_defaulted_and_their_status_is_apart():
    [part] = resource_types_of(CRD)
    sent = {
        "apiVersion": "example.com/v1",
        "kind": "Part",
        "metadata": {"name": "a", "odd": 1},
        "spec": {"z": 1},
    }
    obj, unknown = part.strategy.decode(sent | {"status": {"b": 1}})
    assert [item.field for item in unknown] == ["metadata.odd", "spec.z"]
    part.strategy.prepare_create(obj)
    assert obj["spec"] == {"a": "x"}
    assert "status" not in obj
    new, _ = part.strategy.decode(obj | {"spec": {"a": "y"}, "status": {"b": 2}})
    part.strategy.prepare_update(new, obj, "status")
    assert (new["spec"], new["status"]) == ({"a": "x"}, {"b": 2})


@pytest.mark.parametrize(
    ("plural", "sent"),
    [
        pytest.param("configmaps", {"data": {"a": "x" * (MAX_BYTES + 1)}}, id="config-map"),
        pytest.param("secrets", {"stringData": {"a": "x" * (MAX_BYTES + 1)}}, id="secret"),
    ],
)
def test_more_than_a_mebibyte_is_too_much(plural, sent):
    with pytest.raises(errors.ApiError, match="Too long: may not be more than 1048576 bytes"):
        created(f"/api/v1/namespaces/d/{plural}", {"metadata": {"name": "a"}, **sent})


def test_an_event_is_one_object_in_two_groups():
    old, _ = resource_of("/api/v1/namespaces/d/events")
    new, _ = resource_of("/apis/events.k8s.io/v1/namespaces/d/events")
    assert old.stored_as == new.stored_as == "events"
    event = {"metadata": {"name": "a"}, "involvedObject": {"name": "p"}, "message": "m", "count": 2}
    shown = new.strategy.converted(event)
    assert (shown["regarding"], shown["note"], shown["deprecatedCount"]) == ({"name": "p"}, "m", 2)
    assert old.strategy.converted(shown)["involvedObject"] == {"name": "p"}
