"""From one document to another by the operations of a JSON patch."""

import json

from hypothesis import given
from hypothesis import strategies as st

from jangar.controllers.status_writer import difference

scalars = st.one_of(st.none(), st.booleans(), st.integers(2, 9), st.text("ab~/", max_size=3))
documents = st.recursive(
    scalars,
    lambda item: st.one_of(
        st.lists(item, max_size=3), st.dictionaries(st.text("ab~/01", max_size=3), item, max_size=3)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.text("ab~/01", max_size=3), documents, max_size=4)


def applied(document, operations):
    """A reading of RFC 6902 that shares nothing with the code under test."""
    root = {"root": json.loads(json.dumps(document))}
    for operation in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        place, last = root, "root"
        for step in steps:
            place = place[last]
            last = int(step) if isinstance(place, list) else step
        if operation["op"] == "remove":
            del place[last]
        else:
            assert operation["op"] == "add" or isinstance(place, list) or last in place
            place[last] = operation["value"]
    return root["root"]


@given(documents, documents)
def test_the_operations_turn_the_old_into_the_new(old, new):
    """Whatever the two documents are."""
    assert applied(old, difference(old, new)) == new


@given(objects, documents, st.text("ab~/", min_size=1, max_size=3))
def test_only_what_changed_is_sent(old, value, name):
    """One member more or other is one operation at most where the value is a scalar; equal documents give none."""
    assert list(difference(old, old)) == []
    changed = old | {name: value}
    for item in difference(old, changed):
        assert item["path"].startswith("/" + name.replace("~", "~0").replace("/", "~1"))


def test_a_list_of_steps_is_changed_step_by_step():
    """A run with hundreds of steps sends only the changed one."""
    old = {"steps": [{"name": "a", "phase": "Running"}, {"name": "b", "phase": "Pending"}]}
    new = {"steps": [{"name": "a", "phase": "Running"}, {"name": "b", "phase": "Running", "attempt": 1}]}
    assert list(difference(old, new, "/status")) == [
        {"op": "replace", "path": "/status/steps/1/phase", "value": "Running"},
        {"op": "add", "path": "/status/steps/1/attempt", "value": 1},
    ]
