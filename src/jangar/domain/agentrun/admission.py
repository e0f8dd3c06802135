"""What the word of admission means for a run that has not started. Decides nothing about who is admitted."""

from collections.abc import Mapping
from typing import Any

from jangar.api.phases import AdmissionPhase
from jangar.api.reasons import Reason
from jangar.domain.job_execution.observation import WorkHeld, WorkRejected
from jangar.domain.policies.wording import place_in_queue


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
