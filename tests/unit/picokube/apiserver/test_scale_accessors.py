"""The scale of a custom resource: what it reads and sets, and who owns its replicas."""

import pytest

from picokube.apiserver.handlers.scale import to_parent, to_scale
from picokube.apiserver.kinds.scaling import (
    ScalePaths,
    WrongValue,
    scale_of,
    spec_problems,
    status_problems,
    with_replicas,
)

PATHS = ScalePaths(spec=".spec.size.replicas", status=".status.replicas", selector=".status.selector")
VERSION, TIME = "example.com/v1", "2024-01-01T00:00:00Z"
MAPPINGS = {VERSION: ".spec.replicas", "example.com/v2": None}


def entry(manager, fields, *, version=VERSION, subresource="", operation="Update", time=TIME):
    """An entry of managedFields."""
    found = {"manager": manager, "operation": operation, "apiVersion": version}
    found |= ({"time": time} if time else {}) | {"fieldsType": "FieldsV1", "fieldsV1": fields}
    return found | ({"subresource": subresource} if subresource else {})


def owned(*names):
    """Fields of a spec."""
    return {"f:spec": {f"f:{name}": {} for name in names}}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2.0, "2 is of the type float64, expected int64"),
        ("many", "many is of the type string, expected int64"),
        (True, "true is of the type bool, expected int64"),
        (None, "<nil> is of the type <nil>, expected int64"),
        ([1, "a"], "[1 a] is of the type []interface {}, expected int64"),
        ({"b": 1, "a": 0.5}, "map[a:0.5 b:1] is of the type map[string]interface {}, expected int64"),
    ],
)
def test_replicas_of_another_type_are_refused_in_the_words_of_go(value, shown):
    """With the path at which they are."""
    problems = status_problems(PATHS, {"status": {"replicas": value}})

    assert [problem.message for problem in problems] == [
        f".status.replicas: Invalid value: 0: .status.replicas accessor error: {shown}"
    ]


def test_a_path_through_a_scalar_is_refused():
    """It names how far one comes."""
    problems = spec_problems(PATHS, {"spec": {"size": 3}})

    assert "3 is of the type int64, expected map[string]interface{}" in problems[0].message


@pytest.mark.parametrize(("replicas", "count"), [(0, 0), (2**31 - 1, 0), (-1, 1), (2**31, 1)])
def test_replicas_are_bounded(replicas, count):
    """By what a Scale can hold."""
    assert len(spec_problems(PATHS, {"spec": {"size": {"replicas": replicas}}})) == count


def test_a_selector_must_be_a_text():
    """If there is one."""
    assert status_problems(PATHS, {"status": {}}) == []
    assert "expected string" in status_problems(PATHS, {"status": {"selector": 5}})[0].message


def test_a_scale_shows_replicas_and_leaves_empty_ones_out():
    """As Go writes it; absent replicas differ from zero."""
    meta = {"name": "a", "uid": "u", "labels": {"a": "b"}}

    stated = scale_of(PATHS, {"metadata": meta, "spec": {"size": {"replicas": 3}}, "status": {"replicas": 1}})
    silent = scale_of(PATHS, {"metadata": meta, "spec": {}})

    head = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "uid": "u"}}
    assert stated == (head | {"spec": {"replicas": 3}, "status": {"replicas": 1}}, True)
    assert silent == (head | {"spec": {}, "status": {"replicas": 0}}, False)


def test_replicas_are_set_where_there_was_nothing():
    """Objects on the way are made, scalars are not overwritten."""
    assert with_replicas(PATHS, {}, 4) == {"spec": {"size": {"replicas": 4}}}
    with pytest.raises(WrongValue):
        with_replicas(PATHS, {"spec": {"size": "big"}}, 4)


def test_a_scale_knows_only_who_owns_replicas():
    """Under the path that a Scale has."""
    entries = [entry("one", owned("replicas", "color")), entry("two", owned("color"))]

    assert to_scale(entries, MAPPINGS) == [entry("one", owned("replicas"), version="autoscaling/v1")]


def test_replicas_taken_through_the_scale_are_taken_from_their_owners():
    """The taker has no time, as in a real server."""
    entries = [entry("one", owned("replicas", "color")), entry("two", owned("replicas"))]
    taken = [entry("three", owned("replicas"), version="autoscaling/v1", subresource="scale")]

    found = to_parent(entries, taken, MAPPINGS, VERSION)

    assert found == [
        entry("three", owned("replicas"), subresource="scale", time=""),
        entry("one", owned("color")),
    ]


def test_a_scale_that_changes_nothing_leaves_owners_alone():
    """Entries of versions without a scale, too; those of unknown versions are dropped."""
    entries = [
        entry("app", owned("replicas"), operation="Apply"),
        entry("one", owned("replicas", "color")),
        entry("two", owned("size"), version="example.com/v2"),
    ]
    unknown = entry("old", owned("size"), version="example.com/v0")

    assert to_parent([*entries, unknown], to_scale(entries, MAPPINGS), MAPPINGS, VERSION) == entries
