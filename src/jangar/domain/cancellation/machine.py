"""What a cancel request leads to: accepted, ignored because it is too late, or disabled.

The same machine serves runs, AgentRuns and ToolRuns; it knows phases and time, nothing of steps or Jobs.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.request import BY_USER, Requester


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """An accepted request. It is never withdrawn; its deadline may come nearer, when a parent gives an earlier one."""

    requested_at: datetime
    deadline: datetime
    requested_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRequested:
    """No cancel is requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A request that changes nothing, and why."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The request is in force, now or since earlier."""

    cancel: Cancel
    ignored: Reason | None = None
    """Set if a cancel was requested again after the end."""


Decision = NotRequested | Ignored | Accepted

_ALREADY_ENDED = {
    Phase.SUCCEEDED: Reason.ALREADY_SUCCEEDED,
    Phase.FAILED: Reason.ALREADY_FAILED,
    Phase.CANCELLED: Reason.ALREADY_CANCELLED,
}


def already_ended_reason(phase: Phase) -> Reason:
    """Why a cancel of a finished run is ignored."""
    return _ALREADY_ENDED[phase]


def decide(
    recorded: Cancel | None,
    requested_by: frozenset[Requester],
    *,
    phase: Phase | None,
    enabled: bool,
    timeout: timedelta,
    now: datetime,
    deadline: datetime | None = None,
) -> Decision:
    """What the requests mean for a run in this phase. `deadline` is the parent's, if it gave one."""
    by_user = requested_by & BY_USER
    finished = phase if phase in TERMINAL else None
    if recorded is not None:
        new_requests = by_user - frozenset(recorded.requested_by)
        if finished is not None:
            return Accepted(cancel=recorded, ignored=already_ended_reason(finished) if new_requests else None)
        return Accepted(
            cancel=replace(
                recorded,
                deadline=min(recorded.deadline, deadline or recorded.deadline),
                requested_by=_names(requested_by | frozenset(recorded.requested_by)),
            )
        )
    if finished is not None:
        return Ignored(reason=already_ended_reason(finished)) if by_user else NotRequested()
    effective = requested_by if enabled else requested_by - BY_USER
    if effective:
        latest = now + timeout
        return Accepted(
            cancel=Cancel(
                requested_at=now,
                deadline=min(latest, deadline) if deadline is not None else latest,
                requested_by=_names(effective),
            )
        )
    return Ignored(reason=Reason.CANCEL_DISABLED) if by_user else NotRequested()


def _names(requesters: frozenset[Requester | str]) -> tuple[str, ...]:
    return tuple(sorted(str(requester) for requester in requesters))
