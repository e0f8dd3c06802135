"""How the status of a definition may change."""

from datetime import UTC, datetime, timedelta

import pytest

from jangar.api.phases import DefinitionPhase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.conditions import definition_claims
from jangar.domain.status_contract import (
    DEFINITION_FIELDS,
    DefinitionStatus,
    advance_definition,
    definition_phase,
    definition_status_from,
    definition_status_to,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
LATER = NOON + timedelta(seconds=90)
CYCLE = Problem(reason=Reason.DEPENDENCY_CYCLE, path=("spec", "steps"), message="a -> b -> a")


def looked_at(old, problems=(), *, generation=1, now=NOON):
    return advance_definition(
        old,
        phase=definition_phase(problems),
        generation=generation,
        claims=definition_claims(problems),
        now=now + timedelta(microseconds=3),
    )


@pytest.mark.rule("ST-2", "ST-3")
def test_a_definition_is_written_once_and_then_costs_nothing():
    """ST-2, ST-3: the second look returns the same object."""
    first = looked_at(DefinitionStatus(), generation=2)
    assert (first.phase, first.observed_generation, first.updated_at) == (DefinitionPhase.READY, 2, NOON)
    assert [str(condition.type) for condition in first.conditions] == ["Ready", "Progressing", "Degraded"]
    assert looked_at(first, generation=2, now=LATER) is first
    assert looked_at(first, generation=1, now=LATER) is first


@pytest.mark.rule("ST-2")
def test_a_definition_carries_exactly_the_generation_given():
    """ST-2: also the generation 0 of an object that has none."""
    assert looked_at(DefinitionStatus(), generation=0).observed_generation == 0


@pytest.mark.rule("ST-2", "DAG-2")
def test_the_generation_advances_also_when_the_spec_is_invalid():
    """ST-2, DAG-2: and each condition carries it."""
    found = looked_at(looked_at(DefinitionStatus()), [CYCLE], generation=2, now=LATER)
    assert (found.phase, found.observed_generation, found.updated_at) == (DefinitionPhase.INVALID, 2, LATER)
    assert {condition.observed_generation for condition in found.conditions} == {2}
    assert [condition.last_transition_time for condition in found.conditions] == [LATER, NOON, LATER]


@pytest.mark.rule("ST-1")
def test_a_definition_status_is_read_back_as_it_was_written():
    """ST-1: the document form."""
    status = looked_at(DefinitionStatus(), [CYCLE])
    doc = definition_status_to(status)
    assert set(doc) == DEFINITION_FIELDS
    assert (doc["phase"], type(doc["phase"]), doc["updatedAt"]) == ("Invalid", str, "2026-02-07T12:00:00Z")
    assert definition_status_from(doc) == status
    assert definition_status_to(DefinitionStatus()) == {}
    assert definition_status_from({}) == DefinitionStatus()
