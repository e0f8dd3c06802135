"""Which conditions a phase means, and how they change over time. Knows the table of the contract (ST-5).

A `Claim` is what one pass says; a `Condition` is what the object remembers. Knows not how a phase is decided.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from kubekit.times import whole_second

MESSAGE_LIMIT = 32768
"""Characters that the API server takes in a condition's message."""


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(StrEnum):
    """The conditions that Jangar writes."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    SUSPENDED = "Suspended"
    CANCEL_IGNORED = "CancelIgnored"
    WORKFLOW_JOB_MISSING = "WorkflowJobMissing"
    BLOCKED = "Blocked"


OPTIONAL = frozenset(
    {
        ConditionType.SUSPENDED,
        ConditionType.CANCEL_IGNORED,
        ConditionType.WORKFLOW_JOB_MISSING,
        ConditionType.BLOCKED,
    }
)
"""Conditions that an object has only once they applied to it."""

PHASE_BOUND = frozenset(ConditionType) - OPTIONAL
"""Conditions that follow from the phase: the columns of the table."""

_NO_LONGER: Mapping[ConditionType, Reason] = {
    ConditionType.SUSPENDED: Reason.NOT_SUSPENDED,
    ConditionType.CANCEL_IGNORED: Reason.CANCELLING,
    ConditionType.WORKFLOW_JOB_MISSING: Reason.JOB_FOUND,
    ConditionType.BLOCKED: Reason.RESUMED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition as an object carries it; `type` is a plain string because others write conditions too."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one pass says about one condition."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the conditions of a run or child depend on in addition to its phase."""

    reason: str
    """Why it is in this phase; for a failure the reason of the failure."""
    message: str = ""
    blocked: bool = False
    """It cannot start, and `reason` says why, such as ReferenceNotFound."""
    suspended: bool = False
    unforgiven_failure: bool = False
    """A step has failed that nothing forgives, while others still run."""
    cancel_timed_out: bool = False
    """The stop reached its bound before everything had ended."""


_Cell = tuple[ConditionStatus, Reason | None]
"""A field of the table; without a reason of its own the condition carries the phase's reason and message."""

_TRUE: _Cell = (ConditionStatus.TRUE, None)
_FALSE: _Cell = (ConditionStatus.FALSE, None)
_UNKNOWN: _Cell = (ConditionStatus.UNKNOWN, None)
_STEP_FAILED: _Cell = (ConditionStatus.TRUE, Reason.STEP_FAILED)
_NOT_MOVING: _Cell = (ConditionStatus.FALSE, Reason.SUSPENDED)
_FINISHED: _Cell = (ConditionStatus.FALSE, Reason.FINISHED)
_HEALTHY: _Cell = (ConditionStatus.FALSE, Reason.NOT_DEGRADED)
_NOT_DONE: _Cell = (ConditionStatus.FALSE, Reason.NOT_FINISHED)
_NOT_FAILED: _Cell = (ConditionStatus.FALSE, Reason.NOT_FAILED)
_NOT_CANCELLED: _Cell = (ConditionStatus.FALSE, Reason.NOT_CANCELLED)

_COLUMNS = (
    ConditionType.READY,
    ConditionType.PROGRESSING,
    ConditionType.DEGRADED,
    ConditionType.SUCCEEDED,
    ConditionType.FAILED,
    ConditionType.CANCELLED,
)
_TABLE: Mapping[Phase, tuple[_Cell, ...]] = {
    Phase.PENDING: (_UNKNOWN, _TRUE, _HEALTHY, _NOT_DONE, _NOT_FAILED, _NOT_CANCELLED),
    Phase.RUNNING: (_UNKNOWN, _TRUE, _HEALTHY, _NOT_DONE, _NOT_FAILED, _NOT_CANCELLED),
    Phase.CANCELLING: (_FALSE, _TRUE, _HEALTHY, _NOT_DONE, _NOT_FAILED, _FALSE),
    Phase.SUCCEEDED: (_TRUE, _FINISHED, _HEALTHY, _TRUE, _NOT_FAILED, _NOT_CANCELLED),
    Phase.FAILED: (_FALSE, _FINISHED, _TRUE, _FALSE, _TRUE, _NOT_CANCELLED),
    Phase.CANCELLED: (_FALSE, _FINISHED, _HEALTHY, _FALSE, _NOT_FAILED, _TRUE),
}


def execution_claims(phase: Phase, facts: Facts) -> tuple[Claim, ...]:
    """The row of the table for this phase, in the table's order: six conditions, every time."""
    cells = dict(zip(_COLUMNS, _TABLE[phase], strict=True)) | _exceptions(phase, facts)
    return _row(cells, _phase_reason(phase, facts), facts.message)


def _exceptions(phase: Phase, facts: Facts) -> dict[ConditionType, _Cell]:
    """What the table says in brackets."""
    if phase is Phase.PENDING and facts.blocked:
        return {ConditionType.READY: _FALSE, ConditionType.PROGRESSING: _FALSE}
    if phase is Phase.PENDING and facts.suspended:
        return {ConditionType.PROGRESSING: _NOT_MOVING}
    if phase is Phase.RUNNING and facts.unforgiven_failure:
        return {ConditionType.DEGRADED: _STEP_FAILED}
    return {}


def _phase_reason(phase: Phase, facts: Facts) -> str:
    if phase is Phase.CANCELLING:
        return Reason.CANCELLING
    if phase is Phase.CANCELLED:
        return Reason.CANCEL_TIMED_OUT if facts.cancel_timed_out else Reason.CANCELLED
    return facts.reason


def definition_claims(
    problems: Sequence[Problem] = (), *, missing: Sequence[Problem] = ()
) -> tuple[Claim, ...]:
    """Conditions of an object that only declares something.

    Problems make it invalid. Objects that it names and that do not exist yet are no mistake: it is then not
    ready, and not degraded either.
    """
    found = problems or missing
    cells = {
        ConditionType.READY: _FALSE if found else _TRUE,
        ConditionType.PROGRESSING: _FINISHED,
        ConditionType.DEGRADED: _TRUE if problems else _HEALTHY,
    }
    reason = found[0].reason if found else Reason.VALID_SPEC
    return _row(cells, reason, "; ".join(str(item) for item in found))


def _row(cells: Mapping[ConditionType, _Cell], phase_reason: str, message: str) -> tuple[Claim, ...]:
    """Claims of one row; a condition that only says what is not the case has no message."""
    return tuple(
        Claim(
            type=kind,
            status=status,
            reason=reason or phase_reason,
            message=message if reason is None or status is ConditionStatus.TRUE else "",
        )
        for kind, (status, reason) in cells.items()
    )


def suspended_claims(*, suspended: bool) -> list[Claim]:
    """What a run or child says while `spec.suspend` holds it."""
    if not suspended:
        return []
    return [
        Claim(
            type=ConditionType.SUSPENDED,
            status=ConditionStatus.TRUE,
            reason=Reason.SUSPENDED,
            message="nothing new starts until spec.suspend is false",
        )
    ]


def optional_claims(
    old: Iterable[Condition], *holding: Claim, decided: frozenset[ConditionType] = OPTIONAL
) -> tuple[Claim, ...]:
    """Claims for the optional conditions that this pass decides about: those that hold, and False for those
    that held once and are not among them. One that never held is not mentioned, and one that is not
    `decided` here is left alone.
    """
    known = {item.type: item for item in old}
    claimed = {item.type for item in holding}
    ended = [
        _no_longer(known[kind], kind)
        for kind in ConditionType
        if kind in decided and kind in known and kind not in claimed
    ]
    return (*holding, *ended)


def _no_longer(condition: Condition, kind: ConditionType) -> Claim:
    """False; repeated unchanged if it is False already, to update its observedGeneration."""
    if condition.status is ConditionStatus.FALSE:
        return Claim(type=kind, status=condition.status, reason=condition.reason, message=condition.message)
    return Claim(type=kind, status=ConditionStatus.FALSE, reason=_NO_LONGER[kind])


def merge(
    old: Sequence[Condition], claims: Iterable[Claim], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """What is remembered after these claims, the last one counting where two are about the same condition.

    Conditions without a claim stay unchanged and in place: other writers have conditions too. New ones come last.
    """
    merged = {item.type: item for item in old}
    for kind, claim in {item.type: item for item in claims}.items():
        merged[kind] = _claimed(merged.get(kind), claim, generation=generation, moment=whole_second(now))
    return tuple(merged.values())


def _claimed(old: Condition | None, claim: Claim, *, generation: int, moment: datetime) -> Condition:
    """The time moves with the status only; the generation never goes back."""
    since = old.last_transition_time if old and old.status is claim.status else None
    seen = old.observed_generation if old else None
    return Condition(
        type=claim.type,
        status=claim.status,
        reason=claim.reason,
        message=truncate(claim.message),
        last_transition_time=since or moment,
        observed_generation=max(generation, seen or 0),
    )


def truncate(message: str) -> str:
    """The message, truncated to what the API server accepts: a long message must not block a status write."""
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"
