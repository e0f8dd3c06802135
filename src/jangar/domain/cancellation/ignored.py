"""What an object says about a cancel that changed nothing. Knows decisions and phases; writes no status."""

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.machine import Accepted, Decision, Ignored, too_late
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
            reason = too_late(phase)
        case _:
            return []
    said = [
        each.reason
        for each in old.conditions
        if each.type == ConditionType.CANCEL_IGNORED and each.status is ConditionStatus.TRUE
    ]
    first = said[0] if said and old.is_terminal else reason
    return [Claim(type=ConditionType.CANCEL_IGNORED, status=ConditionStatus.TRUE, reason=first)]
