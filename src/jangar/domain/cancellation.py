"""Cancellation: who requested it, what it means for a run, how work is stopped, and how a status records it.

The machine knows phases and requests only; what a stop does to Jobs is decided in `domain/job_execution`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from jangar.api.lifecycle import Steerable
from jangar.api.meta import JsonObject
from jangar.api.phases import TERMINAL, DesiredState, Phase
from jangar.api.reasons import WAITING_CAUSES, Reason
from jangar.domain.conditions import Claim, ConditionStatus, ConditionType
from jangar.domain.status_contract import Lifecycle, time_from, time_to
from kubekit.times import whole_second


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """As `status.stop` says it, before anything is stopped."""

    requested_at: datetime
    reason: str
    deadline: datetime
    message: str = ""
    """What it was waiting for, where a time limit ends a wait."""

    def cut(self, ended_at: datetime | None) -> bool:
        """Whether work that ended then was stopped: in that second or later, or at an unknown time."""
        return not_before(ended_at, self.requested_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A child, Job or pod that outlived the deadline of its stop."""

    kind: str
    name: str
    uid: str | None = None
    ended_at: datetime | None = None


STOPPED_ON_REQUEST = "stopped on request"
IGNORED_TERM = "ignored SIGTERM"


def timeout_message(limit: timedelta | None, *, reason: str | None, message: str | None) -> str:
    """Why a time limit ended something: with the cause that it was waiting for, where there is one."""
    after = f"timed out after {limit.total_seconds():g} s" if limit else "timed out"
    return while_waiting(after, reason=reason, message=message)


def while_waiting(sentence: str, *, reason: str | None, message: str | None) -> str:
    """The sentence, with the cause of the wait that it ended."""
    if reason not in WAITING_CAUSES:
        return sentence
    return f"{sentence} while waiting for: " + ": ".join(item for item in (reason, message) if item)


def with_detail(message: str, child_message: str) -> str:
    """The message of a stop, with any detail that the stopped work added to "stopped on request"."""
    stopped, _, detail = child_message.partition("; ")
    return "; ".join(item for item in (message, detail if stopped == STOPPED_ON_REQUEST else "") if item)


def not_before(ended_at: datetime | None, moment: datetime) -> bool:
    """Compared at whole seconds, because that is all a container's times have; not known counts as after."""
    return ended_at is None or whole_second(ended_at) >= whole_second(moment)


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


def stop_document(stop: Stop) -> JsonObject:
    """As `status.stop`, and each step's."""
    return {
        "requestedAt": time_to(stop.requested_at),
        "reason": str(stop.reason),
        "deadline": time_to(stop.deadline),
        **({"message": stop.message} if stop.message else {}),
    }


def stop_from(document: Mapping[str, Any] | None) -> Stop | None:
    """Read back; None where nothing was announced."""
    if not document:
        return None
    requested_at = _moment(document, "requestedAt")
    return Stop(
        requested_at=requested_at,
        reason=document["reason"],
        deadline=time_from(document, "deadline") or requested_at,
        message=document.get("message") or "",
    )


def cancel_document(cancel: Cancel | None, left_behind: Sequence[LeftBehind]) -> JsonObject:
    """As `status.cancel`; empty where there is nothing to say."""
    requested = cancel and {
        "requestedAt": time_to(cancel.requested_at),
        "deadline": time_to(cancel.deadline),
        "requestedBy": list(cancel.requested_by),
    }
    left = [_left_document(item) for item in left_behind]
    return (requested or {}) | ({"leftBehind": left} if left else {})


def cancel_from(document: Mapping[str, Any]) -> Cancel | None:
    """Read back; None where no cancel was accepted."""
    if not document.get("requestedAt"):
        return None
    requested_at = _moment(document, "requestedAt")
    return Cancel(
        requested_at=requested_at,
        deadline=time_from(document, "deadline") or requested_at,
        requested_by=tuple(document.get("requestedBy") or ()),
    )


def left_behind_from(document: Mapping[str, Any]) -> tuple[LeftBehind, ...]:
    """What `status.cancel` lists."""
    return tuple(
        LeftBehind(
            kind=item["kind"], name=item["name"], uid=item.get("uid"), ended_at=time_from(item, "endedAt")
        )
        for item in document.get("leftBehind") or ()
    )


def _left_document(left: LeftBehind) -> JsonObject:
    document = {"kind": left.kind, "name": left.name, "uid": left.uid, "endedAt": time_to(left.ended_at)}
    return {name: value for name, value in document.items() if value is not None}


def _moment(document: Mapping[str, Any], field: str) -> datetime:
    moment = time_from(document, field)
    if moment is None:
        raise ValueError(f"{field}: is missing")
    return moment
