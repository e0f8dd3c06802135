"""The decision about a run: its verdict, how `status.admission` records it, and what it means for the run.

Positions are rounded up to 1, 2, 5, 10, 20, 50 and so on: when the first of a thousand leaves, ten statuses change and
not a thousand. For the same reason the limit of a run behind position FRONT is updated only with its position.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never

from jangar.api.meta import JsonObject
from jangar.api.phases import AdmissionPhase
from jangar.api.reasons import Reason
from jangar.domain.job_execution.observation import WorkHeld, WorkRejected
from jangar.domain.status_contract import time_from, time_to
from kubekit.times import whole_millisecond


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """It may start."""

    reason: Reason = Reason.WITHIN_LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    """It never starts: the message says why and what to do."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """It waits."""

    reason: Reason
    message: str
    position: int | None = None
    """Its place among those of its namespace that wait, from 1; None for one that has no place in the queue."""
    look_again_at: datetime | None = None
    """When time alone may change that; None where something must end or appear first."""


Verdict: TypeAlias = Allow | Deny | Hold


FRONT: Final = 10
"""Up to this position every change of the reason is recorded."""
_LIMITS = frozenset({Reason.CONCURRENCY_LIMIT, Reason.RATE_LIMIT, Reason.QUEUE_LIMIT})
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """`status.admission`, as far as it is understood."""

    phase: AdmissionPhase
    reason: str = ""
    message: str = ""
    position: int | None = None
    admitted_at: datetime | None = None


def recorded_from(doc: Mapping[str, Any] | None) -> Recorded | None:
    """Read from a status; None where nothing, or nothing that this version understands, was written."""
    if not doc or doc.get("phase") not in frozenset(AdmissionPhase):
        return None
    try:
        admitted_at = time_from(doc, "admittedAt")
    except ValueError:
        admitted_at = None
    return Recorded(
        phase=AdmissionPhase(doc["phase"]),
        reason=doc.get("reason") or "",
        message=doc.get("message") or "",
        position=doc.get("position"),
        admitted_at=admitted_at,
    )


def recorded_to(record: Recorded) -> JsonObject:
    """Written into a status; what is not set is left out."""
    doc = {
        "phase": str(record.phase),
        "reason": record.reason or None,
        "message": record.message or None,
        "position": record.position,
        "admittedAt": time_to(record.admitted_at),
    }
    return {name: value for name, value in doc.items() if value is not None}


def record(old: Recorded | None, verdict: Verdict, now: datetime) -> Recorded:
    """What to write; `old` itself where nothing is worth a write. What was admitted or denied stays so."""
    if old is not None and old.phase is not AdmissionPhase.HELD:
        return old
    match verdict:
        case Allow(reason=reason):
            # One that had started before was not admitted at any time that a rate could count.
            at = None if reason is Reason.ALREADY_STARTED else whole_millisecond(now)
            return Recorded(phase=AdmissionPhase.ADMITTED, reason=reason, admitted_at=at)
        case Deny(reason=reason, message=message):
            return Recorded(phase=AdmissionPhase.DENIED, reason=reason, message=message)
        case Hold():
            return _held(old, verdict)
        case _:
            assert_never(verdict)


def _held(old: Recorded | None, hold: Hold) -> Recorded:
    new = Recorded(
        phase=AdmissionPhase.HELD,
        reason=hold.reason,
        message=hold.message,
        position=None if hold.position is None else displayed_position(hold.position),
    )
    if old is None or old.position != new.position:
        return new
    both_limits = old.reason in _LIMITS and new.reason in _LIMITS
    is_back = new.position is None or new.position > FRONT
    return old if both_limits and is_back else new


def displayed_position(position: int) -> int:
    """The position rounded up to 1, 2 or 5 times a power of ten."""
    scale = 1
    while True:
        for step in _STEPS:
            if position <= step * scale:
                return step * scale
        scale *= 10


def place_in_queue(position: int | None) -> str:
    """To be added to a sentence about a run that waits; empty for one that has no place."""
    return f", at position {position} or earlier in its namespace's queue" if position else ""


def explain_admission(admission: Mapping[str, Any] | None) -> str | None:
    """What there is to say about `status.admission`; None for a run that may start, or where there is no admission."""
    if not admission:
        return None
    because = f"{admission.get('message') or 'no message'} ({admission.get('reason') or 'no reason'})"
    match admission.get("phase"):
        case AdmissionPhase.DENIED:
            return f"Denied by policy; it never starts: {because}."
        case AdmissionPhase.HELD:
            return f"Waiting for admission{place_in_queue(admission.get('position'))}: {because}."
        case _:
            return None


def admission_blocker(admission: Mapping[str, Any] | None) -> WorkHeld | WorkRejected | None:
    """None once the run is admitted."""
    recorded = admission or {}
    reason, message = recorded.get("reason"), recorded.get("message") or ""
    match recorded.get("phase"):
        case AdmissionPhase.ADMITTED:
            return None
        case AdmissionPhase.DENIED:
            return WorkRejected(reason=reason or Reason.POLICY_DENIED, message=message)
        case AdmissionPhase.HELD:
            place = place_in_queue(recorded.get("position"))
            return WorkHeld(reason=reason or Reason.BLOCKED, message=f"{message}{place}")
        case _:
            return WorkHeld(reason=Reason.PENDING, message="waiting for admission", by_policy=False)
