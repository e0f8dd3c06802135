"""What a run that cannot begin yet is: waiting for its definition, refused for it, or ended before it came."""

from collections.abc import Sequence
from typing import assert_never

from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.cancellation import while_waiting
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.observation import DefinitionMissing, DefinitionRejected, SnapshotConflict
from jangar.domain.orchestration.outcome import Verdict


def verdict_without_definition(
    definition: Definition | DefinitionMissing | DefinitionRejected | SnapshotConflict,
    *,
    cancelled: bool,
    timed_out: bool,
) -> Verdict:
    """A missing definition may still appear; a bad one never becomes good for this run."""
    match definition:
        case DefinitionRejected(problems=problems):
            return Verdict(phase=Phase.FAILED, reason=Reason.INVALID_SPEC, message=all_problems(problems))
        case SnapshotConflict(message=message):
            return Verdict(phase=Phase.FAILED, reason=Reason.SNAPSHOT_CONFLICT, message=message)
        case _ if cancelled:
            return Verdict(
                phase=Phase.CANCELLED, reason=Reason.CANCELLED, message="cancelled before it started"
            )
        case _ if timed_out:
            missing = definition.message if isinstance(definition, DefinitionMissing) else None
            message = while_waiting(
                "the run reached its time limit",
                reason=Reason.REFERENCE_NOT_FOUND if missing else None,
                message=missing,
            )
            return Verdict(phase=Phase.FAILED, reason=Reason.RUN_TIMED_OUT, message=message)
        case DefinitionMissing(message=message):
            return Verdict(
                phase=Phase.PENDING, reason=Reason.REFERENCE_NOT_FOUND, message=message, blocked=True
            )
        case Definition():
            return Verdict(phase=Phase.PENDING, reason=Reason.PENDING)
        case _:
            assert_never(definition)


def all_problems(problems: Sequence[Problem]) -> str:
    """Every problem in one message, as conditions show them."""
    return "; ".join(str(problem) for problem in problems)
