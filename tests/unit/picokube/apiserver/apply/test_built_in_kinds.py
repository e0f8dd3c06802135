"""Built-in kinds are Go structs: what they always show is there before anyone writes it."""

from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.apply.server_side import server_side_apply
from unit.picokube.apiserver.apply.things import NOW, TEXT, kind

CONTAINER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "default": ""},
        "image": TEXT,
        "resources": {"type": "object", "default": {}, "properties": {"limits": {"type": "object"}}},
    },
}
SPEC = {
    "type": "object",
    "required": ["containers"],
    "properties": {
        "containers": {
            "type": "array",
            "items": CONTAINER,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "nodeName": TEXT,
    },
}
POD = kind(
    {
        "type": "object",
        "properties": {"spec": {**SPEC, "default": {}}, "status": {"type": "object", "default": {}}},
    },
    group="",
    kind="Pod",
    plural="pods",
    is_custom=False,
)


def pod(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def test_fields_that_are_always_there_are_not_owned_by_who_fills_them():
    """No dot at spec and containers; resources of a new container are owned, though no client wrote them."""
    new = pod(containers=[{"name": "c", "image": "i"}])
    (entry,) = managed_after_write(POD, None, new, manager="one", subresource="", now=NOW)
    container = {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}
    assert entry["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"c"}': container}}}


def test_leaving_such_a_field_out_changes_nothing():
    """Nor does a null."""
    old = pod(containers=[{"name": "c", "resources": {}}])
    old["metadata"]["managedFields"] = managed_after_write(
        POD, None, old, manager="one", subresource="", now=NOW
    )
    new = pod(containers=[{"name": "c"}], nodeName=None)
    entries = managed_after_write(POD, old, new, manager="two", subresource="", now=NOW)
    assert entries == old["metadata"]["managedFields"]


def test_an_applier_owns_only_what_it_names():
    """And the result shows what the struct always shows, without nulls."""
    config = pod(containers=[{"name": "c"}])
    made = server_side_apply(POD, None, config, manager="one", force=False, subresource="", now=NOW)
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}}
    }
    assert made["spec"] == {"containers": [{"name": "c"}]}


def test_entries_of_versions_that_are_gone_are_forgotten():
    """On the next change."""
    old = pod(containers=[])
    old["metadata"]["managedFields"] = [
        {
            "manager": "old",
            "operation": "Update",
            "apiVersion": "v1beta1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:x": {}}},
        }
    ]
    entries = managed_after_write(POD, old, pod(nodeName="n"), manager="one", subresource="", now=NOW)
    assert [entry["manager"] for entry in entries] == ["one"]
