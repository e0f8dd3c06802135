"""What another version wrote into a status outlives the writes of this one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.api.meta import ApiModel
from jangar.api.orchestration.run_status import OrchestrationRunStatus
from jangar.api.tools import ToolRunStatus
from jangar.controllers.status_writer import keep_unknown, shape_of

TOOL_RUN = shape_of(ToolRunStatus)
RUN = shape_of(OrchestrationRunStatus)


def _kept(old, new, shape=TOOL_RUN):
    return keep_unknown(old, new, known=shape.fields, shape=shape)


@pytest.mark.rule("ST-1")
def test_a_writer_keeps_the_fields_it_does_not_know():
    """ST-1: known fields that are gone are removed; a null says nothing."""
    old = {"phase": "Running", "reason": "x", "shard": 7, "future": {"a": 1}}
    new = {"phase": "Failed", "shard": None, "extra": 2}
    assert keep_unknown(old, new, known=frozenset({"phase", "reason"}), shape=TOOL_RUN) == {
        "phase": "Failed",
        "shard": 7,
        "future": {"a": 1},
        "extra": 2,
    }


@pytest.mark.rule("ST-1")
def test_unknown_fields_of_a_known_object_are_kept_at_any_depth():
    """ST-1: a known field that the new document lacks is removed."""
    old = {
        "job": {"name": "j", "attempt": 1, "since": "5", "node": "n1", "terms": {"retries": 1, "price": 3}}
    }
    new = {"job": {"name": "j", "attempt": 1, "uid": "u", "terms": {"retries": 2}}}
    assert _kept(old, new) == {
        "job": {"name": "j", "attempt": 1, "uid": "u", "node": "n1", "terms": {"retries": 2, "price": 3}}
    }


@pytest.mark.rule("ST-1")
def test_what_is_about_something_else_inherits_nothing():
    """ST-1: the next attempt has another Job."""
    old = {"job": {"name": "first", "attempt": 1, "node": "n1"}}
    new = {"job": {"name": "second", "attempt": 2}}
    assert _kept(old, new) == new


@pytest.mark.rule("ST-1")
def test_unknown_fields_of_items_follow_their_item():
    """ST-1: by name, whatever its place; with an item that is gone they go."""
    old = {
        "stepStatuses": [
            {"name": "a", "kind": "ToolRun", "score": 1, "resourceRef": {"name": "x", "zone": "z"}},
            {"name": "b", "kind": "ToolRun", "score": 2},
        ]
    }
    new = {
        "stepStatuses": [
            {"name": "c", "kind": "ToolRun"},
            {"name": "a", "kind": "ToolRun", "phase": "Failed", "resourceRef": {"name": "x", "uid": "u"}},
        ]
    }
    assert _kept(old, new, RUN)["stepStatuses"] == [
        {"name": "c", "kind": "ToolRun"},
        {
            "name": "a",
            "kind": "ToolRun",
            "phase": "Failed",
            "score": 1,
            "resourceRef": {"name": "x", "uid": "u", "zone": "z"},
        },
    ]


@pytest.mark.rule("ST-1")
def test_an_open_field_belongs_to_its_writer_as_a_whole():
    """ST-1: which of its fields are known is undecidable."""
    old = {"runtimeRef": {"type": "job", "name": "x", "more": 1}, "outputs": {"a": "1", "b": "2"}}
    new = {"runtimeRef": {"type": "job", "name": "x"}, "outputs": {"a": "1"}}
    assert _kept(old, new) == new


@pytest.mark.rule("ST-1")
def test_the_keys_of_a_map_are_its_writers():
    """ST-1: one that is gone is gone, also where the values have a type."""

    class Item(ApiModel):
        size: int

    class Holder(ApiModel):
        items: dict[str, Item] | None

    old, new = {"items": {"a": {"size": 1}, "b": {"size": 2}}}, {"items": {"a": {"size": 3}}}
    assert _kept(old, new, shape_of(Holder)) == new


STEPS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abcd"), "kind": st.just("ToolRun")},
        optional={
            "phase": st.sampled_from(["Running", "Failed"]),
            "future": st.integers(0, 3),
            "stop": st.fixed_dictionaries({"reason": st.just("x")}, optional={"future": st.integers(0, 3)}),
        },
    ),
    max_size=4,
    unique_by=lambda item: item["name"],
)


def _without_future(doc):
    if isinstance(doc, dict):
        return {name: _without_future(value) for name, value in doc.items() if name != "future"}
    return [_without_future(item) for item in doc] if isinstance(doc, list) else doc


@pytest.mark.rule("ST-1", "ST-3")
@given(old=STEPS, new=STEPS.map(_without_future))
def test_a_write_says_what_it_wants_and_a_second_one_changes_nothing(old, new):
    """ST-1, ST-3: aside from what is unknown the status is the new one; kept once, it is kept for good."""
    once = _kept({"stepStatuses": old}, {"stepStatuses": new}, RUN)
    assert _without_future(once) == {"stepStatuses": new}
    assert _kept(once, {"stepStatuses": new}, RUN) == once
