"""Who owns what after creates, updates and patches."""

import pytest

from picokube.apiserver.apply.managed_fields import managed_after_write
from unit.picokube.apiserver.apply.things import LATER, NOW, THING, kind, owners, thing, updated

OURS = ("one", "Update")


def test_a_creator_owns_all_it_wrote_but_no_one_owns_names():
    """apiVersion, kind, and what the server sets in metadata have no owner."""
    made = updated(None, thing({"replicas": 1, "labels": {"a": "1"}}, labels={"x": "y"}, generation=1))
    assert owners(made) == {
        OURS: {
            "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
            "f:spec": {".": {}, "f:labels": {".": {}, "f:a": {}}, "f:replicas": {}},
        }
    }


def test_an_entry_has_kubernetes_fields_in_kubernetes_order():
    """Subresource comes last, and only where there is one."""
    made = updated(None, thing({"replicas": 1}))
    after = updated(made, made | {"status": {"phase": "A"}}, "two", subresource="status")
    names = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"]
    assert [list(managed_field) for managed_field in after["metadata"]["managedFields"]] == [
        names,
        [*names, "subresource"],
    ]


def test_who_changes_a_field_takes_it():
    """The others keep what did not change."""
    made = updated(None, thing({"replicas": 1, "name": "x"}))
    after = updated(made, made | {"spec": {"replicas": 2, "name": "x"}}, "two", now=LATER)
    assert owners(after) == {
        OURS: {"f:spec": {".": {}, "f:name": {}}},
        ("two", "Update"): {"f:spec": {"f:replicas": {}}},
    }


def test_a_write_that_changes_nothing_keeps_entries_and_times():
    """The very same entries."""
    made = updated(None, thing({"replicas": 1}))
    entries = managed_after_write(THING, made, made, manager="two", subresource="", now=LATER)
    assert entries == made["metadata"]["managedFields"]


def test_true_is_not_one():
    """A change of type is a change, where a schema allows both."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    resource = kind({"type": "object", "properties": {"spec": free}})
    old = thing({"any": 1})
    old["metadata"]["managedFields"] = managed_after_write(
        resource, None, old, manager="one", subresource="", now=NOW
    )
    entries = managed_after_write(resource, old, thing({"any": True}), manager="two", subresource="", now=NOW)
    assert [entry["manager"] for entry in entries] == ["one", "two"]


@pytest.mark.parametrize(
    ("subresource", "fields"),
    [
        pytest.param("", {"f:spec": {"f:name": {}}}, id="a-write-of-the-object-never-owns-status"),
        pytest.param(
            "status", {"f:status": {".": {}, "f:phase": {}}}, id="a-write-of-the-status-never-owns-spec"
        ),
    ],
)
def test_fields_that_a_write_cannot_change_are_not_owned_by_it(subresource, fields):
    """They are put back; the default rule."""
    made = updated(None, thing({"replicas": 1}))
    after = updated(
        made,
        made | {"spec": {"replicas": 1, "name": "x"}, "status": {"phase": "A"}},
        "two",
        subresource=subresource,
    )
    assert owners(after)["two", "Update"] == fields


@pytest.mark.parametrize(
    "sent", [pytest.param([], id="empty-list"), pytest.param([{}], id="one-empty-entry")]
)
def test_a_user_may_reset_managed_fields(sent):
    """Then no manager is tracked until the next apply."""
    made = updated(None, thing({"replicas": 1}))
    sent_object = made | {"metadata": made["metadata"] | {"managedFields": sent}, "spec": {"replicas": 2}}
    reset = updated(made, sent_object)
    assert owners(reset) == {}
    assert owners(updated(reset, reset | {"spec": {"replicas": 3}})) == {}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([{"operation": "Nope"}], id="unknown-operation"),
        pytest.param([{"operation": "Update", "fieldsType": "FieldsV1"}], id="no-version"),
        pytest.param([{"operation": "Update", "apiVersion": "v1"}], id="no-type"),
        pytest.param(
            [{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"x": {}}}],
            id="no-path",
        ),
    ],
)
def test_unreadable_managed_fields_are_ignored(sent):
    """The stored ones count."""
    made = updated(None, thing({"replicas": 1}))
    after = updated(made, made | {"metadata": made["metadata"] | {"managedFields": sent}})
    assert owners(after) == owners(made)


def test_entries_are_ordered_by_operation_age_and_name():
    """Appliers first."""
    sent = [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": "example.com/v1",
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {f"f:{manager}": {}}},
        }
        for manager, operation, time in [
            ("b", "Update", NOW),
            ("z", "Update", "2023-01-01T00:00:00Z"),
            ("a", "Update", NOW),
            ("y", "Apply", LATER),
        ]
    ]
    made = updated(None, thing({"replicas": 1}))
    after = updated(made, made | {"metadata": made["metadata"] | {"managedFields": sent}})
    assert [managed_field["manager"] for managed_field in after["metadata"]["managedFields"]] == [
        "y",
        "z",
        "a",
        "b",
    ]


def test_the_oldest_of_many_updaters_are_thrown_together():
    """Ten may stay."""
    obj = updated(None, thing({"labels": {}}))
    for number in range(12):
        spec = {"labels": {f"l{item}": "1" for item in range(number + 1)}}
        obj = updated(obj, obj | {"spec": spec}, f"m{number:02}", now=f"2024-01-01T00:00:{number:02}Z")
    names = [managed_field["manager"] for managed_field in obj["metadata"]["managedFields"]]
    assert names == ["ancient-changes", *(f"m{number:02}" for number in range(3, 12))]


def test_a_list_of_duplicates_is_owned_as_one_item():
    """Items with the same key are indistinguishable."""
    made = updated(None, thing({"tags": ["a", "a", "b"]}))
    assert owners(made)[OURS]["f:spec"]["f:tags"] == {".": {}, 'v:"a"': {}, 'v:"b"': {}}
