"""Bounds and refusals of the patch types, and what a caller may rely on."""

import pytest

from picokube.apiserver.apply.fieldset import MalformedFields, in_order, parsed
from picokube.apiserver.apply.json_patch import (
    MAX_COPIED_BYTES,
    JsonPatchError,
    MalformedPatch,
    TooManyOperations,
    json_patch,
    merge_patch,
)
from picokube.apiserver.apply.strategic import StrategicPatchError, strategic_merge

MERGING = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        }
    },
}


def test_a_json_patch_has_at_most_ten_thousand_operations():
    """Said in Kubernetes' words."""
    operation = {"op": "test", "path": "/a", "value": 1}
    assert json_patch({"a": 1}, [operation] * 10_000) == {"a": 1}
    with pytest.raises(
        TooManyOperations, match=r"^The allowed maximum operations in a JSON patch is 10000, got 10001$"
    ):
        json_patch({"a": 1}, [operation] * 10_001)


def test_copies_are_bounded():
    """A patch cannot double an object until memory ends."""
    with pytest.raises(JsonPatchError, match=str(MAX_COPIED_BYTES)):
        json_patch({"a": ["x" * 1000]}, [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40)


def test_an_operation_is_an_object():
    """Anything else is no patch."""
    with pytest.raises(MalformedPatch, match="cannot unmarshal string"):
        json_patch({}, ["add"])


def test_results_share_nothing_with_a_merge_patch():
    """The caller may apply it again after changing a result."""
    patch = {"a": [{"b": 1}], "c": {"d": [1]}}
    for target in ({}, {"a": {}, "c": {}}, {"a": [1], "c": 1}):
        result = merge_patch(target, patch)
        result["a"].append(2)
        result["c"]["d"].append(2)
    assert patch == {"a": [{"b": 1}], "c": {"d": [1]}}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param({"$retainKeys": "x"}, 400, "invalid patch format of retainKeys", id="retain-keys"),
        pytest.param(
            {"$deleteFromPrimitiveList": []}, 400, "primitive list", id="delete-list-without-a-name"
        ),
        pytest.param(
            {"items": [{"image": "x"}]}, 500, "does not contain declared merge key: name", id="no-key"
        ),
        pytest.param({"$patch": "nope"}, 500, "unknown patch type: nope in map", id="unknown-directive"),
        pytest.param({"items": [[1]]}, 500, "list element types are not identical", id="mixed-items"),
    ],
)
def test_strategic_patches_that_make_no_sense_are_refused(patch, code, message):
    """With the code of the answer."""
    with pytest.raises(StrategicPatchError, match=message.replace("$", r"\$")) as caught:
        strategic_merge({"items": [{"name": "a"}]}, patch, MERGING)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"f:a": {".": {}}}, {"f:a": {}}, id="a-lone-dot-is-a-leaf"),
        pytest.param({"q:a": {}, "f:b": {}}, {"f:b": {}}, id="unknown-kinds-are-dropped"),
        pytest.param({'k:{"b":1,"a":2.0}': {}}, {'k:{"a":2,"b":1}': {}}, id="keys-are-sorted"),
        pytest.param({'v:"<"': {}}, {'v:"\\u003c"': {}}, id="escaped-as-go-does"),
    ],
)
def test_field_sets_are_read_in_one_spelling(fields, expected):
    """Equal sets compare equal, regardless of their writer."""
    assert parsed(fields) == expected


@pytest.mark.parametrize("fields", [[], {"f": {}}, {"k:[1]": {}}, {"i:x": {}}, {"v:": {}}, {"f:a": 1}])
def test_unreadable_field_sets_are_refused(fields):
    """By an error of their own."""
    with pytest.raises(MalformedFields):
        parsed(fields)


def test_field_sets_are_written_in_order():
    """Fields, keys, values, indexes; numbers by value, and a prefix before what it begins."""
    fields = ["i:2", "v:10", "v:9", 'v:"a"', 'k:{"name":"a b"}', 'k:{"name":"a"}', "f:b", "f:a", "."]
    assert list(in_order({field: {} for field in fields})) == [
        ".", "f:a", "f:b", 'k:{"name":"a"}', 'k:{"name":"a b"}', "v:9", "v:10", 'v:"a"', "i:2",
    ]  # fmt: skip
