"""What a run that cannot begin yet is (DAG-2, DAG-3)."""

from dataclasses import replace

import pytest

from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.planning.observation import DefinitionMissing, DefinitionRejected
from jangar.domain.orchestration.planning.outcome import Verdict, all_problems, verdict_without_definition
from support.builders import a_definition, a_step

PROBLEMS = (
    Problem(
        reason=Reason.DUPLICATE_STEP, path=("spec", "steps", 1, "name"), message="twice", fix="rename it"
    ),
    Problem(reason=Reason.ENTRYPOINT_MISSING, path=("spec", "entrypoint"), message="no such step"),
)
MISSING = DefinitionMissing(message='Orchestration "nightly" does not exist')
REJECTED = DefinitionRejected(problems=PROBLEMS)
DEFINED = a_definition(a_step("a"))

WAITS = Verdict(phase=Phase.PENDING, reason="ReferenceNotFound", message=MISSING.message, blocked=True)
PENDING = Verdict(phase=Phase.PENDING, reason="Pending")
REFUSED = Verdict(
    phase=Phase.FAILED,
    reason="InvalidSpec",
    message="spec.steps[1].name: twice (rename it); spec.entrypoint: no such step",
)
CANCELLED = Verdict(phase=Phase.CANCELLED, reason="Cancelled", message="cancelled before it started")
TOO_LATE = Verdict(phase=Phase.FAILED, reason="RunTimedOut", message="the run reached its time limit")
NEVER_CAME = replace(
    TOO_LATE,
    message=f"the run reached its time limit while waiting for: ReferenceNotFound: {MISSING.message}",
)


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    ("definition", "cancelled", "timed_out", "expected"),
    [
        pytest.param(MISSING, False, False, WAITS, id="missing-waits"),
        pytest.param(MISSING, True, False, CANCELLED, id="missing-and-cancelled"),
        pytest.param(MISSING, False, True, NEVER_CAME, id="missing-and-timed-out"),
        pytest.param(MISSING, True, True, CANCELLED, id="missing-cancelled-wins-over-time"),
        pytest.param(REJECTED, False, False, REFUSED, id="rejected-fails"),
        pytest.param(REJECTED, True, False, REFUSED, id="rejected-fails-though-cancelled"),
        pytest.param(REJECTED, False, True, REFUSED, id="rejected-fails-though-late"),
        pytest.param(DEFINED, False, False, PENDING, id="not-stored-yet-is-pending"),
        pytest.param(DEFINED, True, False, CANCELLED, id="not-stored-yet-and-cancelled"),
        pytest.param(DEFINED, False, True, TOO_LATE, id="not-stored-yet-and-timed-out"),
    ],
)
def test_a_missing_definition_may_still_come_and_a_bad_one_never_gets_good(
    definition, cancelled, timed_out, expected
):
    """DAG-2: ReferenceNotFound waits; InvalidSpec fails at once with all problems."""
    assert verdict_without_definition(definition, cancelled=cancelled, timed_out=timed_out) == expected


@pytest.mark.rule("DAG-2")
def test_all_problems_are_reported_at_once():
    """DAG-2: in their order, each with its field."""
    assert all_problems(PROBLEMS[:1]) == "spec.steps[1].name: twice (rename it)"
    assert all_problems(PROBLEMS) == "spec.steps[1].name: twice (rename it); spec.entrypoint: no such step"
