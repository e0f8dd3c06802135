"""From a verdict to `status.admission`, and whether that is worth a write.

Positions are rounded up to 1, 2, 5, 10, 20, 50 and so on: when the first of a thousand leaves, ten statuses change and
not a thousand. For the same reason the limit of a run behind position FRONT is updated only with its position.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never

from jangar.api.meta import JsonObject
from jangar.api.phases import AdmissionPhase
from jangar.api.reasons import Reason
from jangar.domain.policies.verdicts import Allow, Deny, Hold, Verdict
from jangar.domain.status_contract import time_from, time_to
from jangar.domain.times import whole_millisecond

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
