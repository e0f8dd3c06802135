"""What an object says about a cancel that changed nothing. Knows decisions and phases; writes no status."""

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.machine import Accepted, Decision, Ignored, already_ended_reason
from jangar.domain.conditions import Claim, ConditionStatus, ConditionType
from jangar.domain.status_contract import Lifecycle


def ignored_claims(decision: Decision, phase: Phase, old: Lifecycle) -> list[Claim]:
    """A cancel that changed nothing says so: it came too late, cut nothing, or is switched off.

    A finished run keeps the reason that it gave first: nothing about it changes any more.
    """
    match decision:
        case Ignored(reason=reason) | Accepted(ignored=Reason() as reason):
            pass
        case Accepted() if phase in TERMINAL and phase is not Phase.CANCELLED and not old.is_terminal:
            reason = already_ended_reason(phase)
        case _:
            return []
    recorded_reasons = [
        condition.reason
        for condition in old.conditions
        if condition.type == ConditionType.CANCEL_IGNORED and condition.status is ConditionStatus.TRUE
    ]
    shown_reason = recorded_reasons[0] if recorded_reasons and old.is_terminal else reason
    return [Claim(type=ConditionType.CANCEL_IGNORED, status=ConditionStatus.TRUE, reason=shown_reason)]
