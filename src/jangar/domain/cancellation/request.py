"""Who requests the stop of a run or child; `machine` decides what follows."""

from enum import StrEnum

from jangar.api.lifecycle import Steerable
from jangar.api.phases import DesiredState


class Requester(StrEnum):
    """What asked for the stop."""

    CANCEL = "cancel"
    DESIRED_STATE = "desiredState"
    DELETION = "deletion"
    OWNER = "owner"


BY_USER = frozenset({Requester.CANCEL, Requester.DESIRED_STATE})
"""Requests that `cancel.enabled: false` disables; deletion and the owner always count."""


def requesters(spec: Steerable, *, deleting: bool = False, owner_stops: bool = False) -> frozenset[Requester]:
    """Everything that asks for a stop now. `spec.cancel` and `desiredState: Cancelled` mean the same."""
    asking = {
        Requester.CANCEL: spec.cancel is True,
        Requester.DESIRED_STATE: spec.desired_state is DesiredState.CANCELLED,
        Requester.DELETION: deleting,
        Requester.OWNER: owner_stops,
    }
    return frozenset(requester for requester, asks in asking.items() if asks)
