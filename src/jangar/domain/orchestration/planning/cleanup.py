"""Cleanup of work that outlived its run or its stop; repeated until nothing is left (CAN-6, GC-9)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from jangar.api.phases import TERMINAL
from jangar.api.reasons import Reason
from jangar.domain.cancellation import LeftBehind
from jangar.domain.orchestration.planning.actions import Action, ReadChildren, RemoveRunFinalizer, StopChild
from jangar.domain.orchestration.planning.observation import (
    Child,
    ChildGone,
    ChildrenRead,
    ChildSeen,
    Observation,
)
from jangar.domain.orchestration.state import RunRecord
from jangar.kinds.registry import step_adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupPlan:
    """Actions in addition to the steps' own."""

    actions: tuple[Action, ...] = ()
    look_again_at: datetime | None = None


def refresh_left_behind(
    left_behind: tuple[LeftBehind, ...], children: Mapping[str, Child], now: datetime
) -> tuple[LeftBehind, ...]:
    """The list with the ends observed since. Entries stay: their work may have ended after the run."""
    return tuple(_with_end(item, children.get(item.name), now) for item in left_behind)


def late_children(record: RunRecord, children: Mapping[str, Child]) -> tuple[LeftBehind, ...]:
    """Children whose create was in flight when the run ended; nothing waited for them."""
    known = {item.name for item in record.left_behind}
    return tuple(
        LeftBehind(kind=step_adapter(state.kind).child_name, name=child.name, uid=child.uid)
        for state in record.steps
        if state.child is not None and state.child_uid is None and state.child not in known
        if isinstance(child := children.get(state.child), ChildSeen)
    )


def cleanup_plan(observation: Observation, record: RunRecord, now: datetime) -> CleanupPlan:
    """Stop what is still running, look for late children, and remove the finalizer of a deleted run."""
    still_running = [item for item in record.left_behind if item.ended_at is None]
    actions: list[Action] = [
        _stop(left.name, record, now)
        for left in still_running
        if not _has_acknowledged_stop(observation.children.get(left.name))
    ]
    times: list[datetime] = [now + observation.limits.cleanup_interval] if still_running else []
    if record.lifecycle.is_terminal:
        unrecorded = _unrecorded_children(observation, {item.name for item in record.left_behind})
        actions += [
            _stop(name, record, now)
            for name in unrecorded
            if not _has_acknowledged_stop(observation.children[name])
        ]
        times += _second_look(observation, record, actions, now)
        times += _release(observation, [*(left.name for left in still_running), *unrecorded], actions, now)
    return CleanupPlan(actions=tuple(actions), look_again_at=min(times, default=None))


def _with_end(left: LeftBehind, child: Child | None, now: datetime) -> LeftBehind:
    ended = isinstance(child, ChildGone) or (
        isinstance(child, ChildSeen) and child.phase in TERMINAL and not child.left_behind
    )
    return replace(left, ended_at=now) if ended and left.ended_at is None else left


def _has_acknowledged_stop(child: Child | None) -> bool:
    return isinstance(child, ChildSeen) and (child.stop_requested or child.phase in TERMINAL)


def _stop(name: str, record: RunRecord, now: datetime) -> StopChild:
    deadline = record.cancel.deadline if record.cancel else record.lifecycle.finished_at
    return StopChild(child=name, reason=Reason.CANCELLED, deadline=deadline or now)


def _unrecorded_children(observation: Observation, known: set[str]) -> list[str]:
    """Children that run after the run's end and are not recorded: their create was in flight."""
    return sorted(
        name
        for name, child in observation.children.items()
        if isinstance(child, ChildSeen) and child.phase not in TERMINAL and name not in known
    )


def _second_look(
    observation: Observation, record: RunRecord, actions: list[Action], now: datetime
) -> list[datetime]:
    """A create whose answer was never seen may still arrive until the request times out (CAN-2)."""
    if record.cancel is None or not any(state.attempt and state.child_uid is None for state in record.steps):
        return []
    if observation.children_read is ChildrenRead.AFTER_REQUEST_TIMEOUT:
        return []
    due = record.cancel.requested_at + observation.limits.request_timeout
    if now < due:
        return [due]
    actions.append(ReadChildren())
    return []


def _release(
    observation: Observation, running: list[str], actions: list[Action], now: datetime
) -> list[datetime]:
    """Keep the finalizer of a deleted run until its work stops and history is stored, or until the cancel timeout."""
    deleted_at = observation.run.deleted_at
    if deleted_at is None:
        return []
    bound = deleted_at + observation.limits.cancel_timeout
    if (running or observation.history_pending) and now < bound:
        return [bound]
    actions.append(RemoveRunFinalizer(left=tuple(sorted(running))))
    return []
