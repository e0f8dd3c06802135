"""Invalid metadata, and how often it is reported."""

from collections import Counter

import pytest

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.kinds.object_meta import changed_metadata_errors, metadata_errors, with_empty_texts
from picokube.apiserver.strategies.crds.custom import resource_types_of

TYPES = {built_in_type.qualified: built_in_type for built_in_type in built_in_types()}
[TYPES["things.example.com"]] = resource_types_of(
    {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
)
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}


def reported(errors):
    return Counter(error.field for error in errors)


@pytest.mark.parametrize(
    ("resource", "subresource", "labels", "finalizers"),
    [
        pytest.param("configmaps", "", 4, 2, id="as-new-and-as-changed"),
        pytest.param("services", "", 3, 1, id="as-changed"),
        pytest.param("pods", "status", 3, 1, id="status-as-changed"),
        pytest.param("events", "", 2, 1, id="by-the-server-alone"),
        pytest.param("things.example.com", "", 3, 0, id="custom"),
    ],
)
def test_a_changed_object_is_checked_as_often_as_the_real_server_checks_it(
    resource, subresource, labels, finalizers
):
    """The server looks at the new object and at the change; so do most kinds."""
    meta = {"name": "a", "labels": {"a~b": "1"}, "finalizers": ["a~b/c"]}
    found = reported(changed_metadata_errors(TYPES[resource], meta, {}, subresource))
    assert found["metadata.labels"] == labels
    assert found["metadata.finalizers"] == finalizers


def test_a_new_object_is_checked_once():
    """Names of finalizers as a whole; whether they are qualified, one by one."""
    meta = {"name": "a", "labels": {"a~b": "1"}, "finalizers": ["plain", "a~b/c"]}
    assert reported(metadata_errors(TYPES["configmaps"], meta)) == {
        "metadata.labels": 1,
        "metadata.finalizers": 1,
        "metadata.finalizers[0]": 1,
    }


def test_definitions_of_kinds_may_have_unqualified_finalizers():
    """The one that the server gives them is."""
    meta = {"name": "a.b", "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]}
    assert not metadata_errors(TYPES["customresourcedefinitions.apiextensions.k8s.io"], meta)


def test_owners_are_shown_in_the_order_of_their_struct():
    """Not by the alphabet."""
    meta = {"name": "a", "ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "controller": True}]}
    [error] = metadata_errors(TYPES["configmaps"], meta)
    one = '{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1","controller":true}'
    assert error.body.startswith(f"Invalid value: [{one},{one}]: Only one reference")


def test_null_labels_and_annotations_are_empty():
    """As Go reads them; the object itself stays as it was."""
    applied = {"metadata": {"labels": {"a": None, "b": "c"}, "annotations": {"a": None}}, "spec": {"a": None}}
    assert with_empty_texts(applied) == {
        "metadata": {"labels": {"a": "", "b": "c"}, "annotations": {"a": ""}},
        "spec": {"a": None},
    }
    assert applied["metadata"]["labels"]["a"] is None


def test_what_is_as_it_was_stored_is_not_looked_at_again():
    """It was, when it was stored; one that changes is looked at with the others."""
    stored = {"name": "a", "labels": {"a": "1"}, "annotations": {"a~b": "1"}}
    assert not changed_metadata_errors(TYPES["configmaps"], {**stored}, stored, "")
    changed = {**stored, "labels": {"a": "2"}}
    assert reported(changed_metadata_errors(TYPES["configmaps"], changed, stored, "")) == {
        "metadata.annotations": 4
    }
