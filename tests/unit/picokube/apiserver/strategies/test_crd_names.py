"""Names of definitions: what is free, what is taken, and what is said about it."""

import pytest

from picokube.apiserver.strategies.crds.status import (
    TakenNames,
    expected_status,
    has_requested_names,
    is_served,
)

NOW, EARLIER = "2026-01-02T03:04:05Z", "2025-01-01T00:00:00Z"


def a_definition(status=None, **names):
    names_given = {"plural": "parts", "singular": "part", "kind": "Part", "listKind": "PartList", **names}
    return {"spec": {"group": "example.com", "names": names_given}, "status": status or {}}


def settled(definition, *others):
    return {**definition, "status": expected_status(definition, TakenNames.by([*others, definition]), NOW)}


def conditions(definition):
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in definition["status"]["conditions"]
    }


def test_free_names_are_given():
    found = settled(a_definition(shortNames=["pp"], categories=["all"]))
    assert has_requested_names(found)
    assert is_served(found)
    assert [condition["lastTransitionTime"] for condition in found["status"]["conditions"]] == [NOW, NOW]


def test_what_is_settled_stays_as_it_is():
    """No write follows."""
    first = settled(a_definition())
    assert settled(first)["status"] is first["status"]
    refused = settled(a_definition(plural="things"), first)
    assert settled(refused, first)["status"] is refused["status"]


@pytest.mark.parametrize(
    ("names_given", "reason", "message"),
    [
        ({"plural": "part"}, "PluralConflict", '"part" is already in use'),
        ({"singular": "parts"}, "SingularConflict", '"parts" is already in use'),
        ({"shortNames": ["pp", "free"]}, "ShortNamesConflict", '"pp" is already in use'),
        (
            {"shortNames": ["pp", "part"]},
            "ShortNamesConflict",
            '["pp" is already in use, "part" is already in use]',
        ),
        ({"kind": "PartList"}, "KindConflict", '"PartList" is already in use'),
        ({"listKind": "Part"}, "ListKindConflict", '"Part" is already in use'),
        ({"plural": "parts", "kind": "Part"}, "KindConflict", '"Part" is already in use'),
    ],
)
def test_one_taken_name_is_enough_to_wait(names_given, reason, message):
    """The last conflict is reported."""
    first = settled(a_definition(shortNames=["pp"]))
    free = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    found = settled(a_definition(**{**free, **names_given}), first)
    assert not is_served(found)
    assert conditions(found) == {
        "NamesAccepted": ("False", reason, message),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }


def test_names_that_are_free_are_given_even_where_others_are_not():
    first = settled(a_definition())
    found = settled(a_definition(plural="things", singular="thing"), first)
    assert found["status"]["acceptedNames"] == {"plural": "things", "singular": "thing"}


def test_who_is_established_stays_so():
    """Another name that it asks for later may be taken."""
    first = settled(a_definition())
    second = settled(
        a_definition(plural="things", singular="thing", kind="Thing", listKind="ThingList"), first
    )
    second["spec"]["names"]["singular"] = "part"
    found = settled(second, first)
    assert conditions(found)["NamesAccepted"][:2] == ("False", "SingularConflict")
    assert conditions(found)["Established"][:2] == ("True", "InitialNamesAccepted")
    assert found["status"]["acceptedNames"]["singular"] == "thing"


def test_the_time_of_a_condition_is_that_of_its_last_turn():
    first = settled(a_definition())
    waiting = settled(a_definition(plural="things", singular="thing"), first)
    for condition in waiting["status"]["conditions"]:
        condition["lastTransitionTime"] = EARLIER
    waiting["spec"]["names"]["shortNames"] = ["part"]
    again = settled(waiting, first)
    assert {condition["lastTransitionTime"] for condition in again["status"]["conditions"]} == {EARLIER}
    waiting["spec"]["names"] |= {"kind": "Thing", "listKind": "ThingList", "shortNames": []}
    found = settled(waiting, first)
    assert {condition["lastTransitionTime"] for condition in found["status"]["conditions"]} == {NOW}
