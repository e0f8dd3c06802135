"""What is left to do about work that outlived its run or its stop. Goes on until nothing is left (CAN-6, GC-9)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from jangar.api.phases import CHILD_OBJECTS, TERMINAL
from jangar.api.reasons import Reason
from jangar.domain.cancellation.stop import LeftBehind
from jangar.domain.orchestration.actions import Action, ReadChildren, ReleaseRun, StopChild
from jangar.domain.orchestration.observation import Child, ChildGone, ChildrenRead, ChildSeen, Observation
from jangar.domain.orchestration.state import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupPlan:
    """Actions beside the steps' own."""

    actions: tuple[Action, ...] = ()
    look_again_at: datetime | None = None


def brought_up_to_date(
    left_behind: tuple[LeftBehind, ...], children: Mapping[str, Child], now: datetime
) -> tuple[LeftBehind, ...]:
    """The list with the ends that were seen since. Entries stay: they say whose end may lie after the run's."""
    return tuple(_looked_at(each, children.get(each.name), now) for each in left_behind)


def arrived_late(record: RunRecord, children: Mapping[str, Child]) -> tuple[LeftBehind, ...]:
    """Children whose create was on the wire when the run ended: nothing waited for them, so the list names them."""
    known = {each.name for each in record.left_behind}
    return tuple(
        LeftBehind(kind=CHILD_OBJECTS.get(state.kind, str(state.kind)), name=child.name, uid=child.uid)
        for state in record.steps
        if state.child is not None and state.child_uid is None and state.child not in known
        if isinstance(child := children.get(state.child), ChildSeen)
    )


def aftermath(observation: Observation, record: RunRecord, now: datetime) -> CleanupPlan:
    """Stop again what did not stop, look again for what was on the wire, and let a deleted run go."""
    open_ones = [each for each in record.left_behind if each.ended_at is None]
    actions: list[Action] = [
        _stop(each.name, record, now) for each in open_ones if not _heard(observation.children.get(each.name))
    ]
    times: list[datetime] = [now + observation.limits.cleanup_interval] if open_ones else []
    if record.lifecycle.is_terminal:
        strays = _strays(observation, {each.name for each in record.left_behind})
        actions += [_stop(name, record, now) for name in strays if not _heard(observation.children[name])]
        times += _second_look(observation, record, actions, now)
        times += _release(observation, [*(each.name for each in open_ones), *strays], actions, now)
    return CleanupPlan(actions=tuple(actions), look_again_at=min(times, default=None))


def _looked_at(left: LeftBehind, child: Child | None, now: datetime) -> LeftBehind:
    ended = isinstance(child, ChildGone) or (
        isinstance(child, ChildSeen) and child.phase in TERMINAL and not child.left_behind
    )
    return replace(left, ended_at=now) if ended and left.ended_at is None else left


def _heard(child: Child | None) -> bool:
    return isinstance(child, ChildSeen) and (child.stop_requested or child.phase in TERMINAL)


def _stop(name: str, record: RunRecord, now: datetime) -> StopChild:
    deadline = record.cancel.deadline if record.cancel else record.lifecycle.finished_at
    return StopChild(child=name, reason=Reason.CANCELLED, deadline=deadline or now)


def _strays(observation: Observation, known: set[str]) -> list[str]:
    """Children that live on after the run's end without being recorded: their create was on the wire."""
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
    """A deleted run is held while its work stops and its end is stored, within the bound; then it goes, warned of."""
    deleted_at = observation.run.deleted_at
    if deleted_at is None:
        return []
    bound = deleted_at + observation.limits.cancel_timeout
    if (running or observation.history_pending) and now < bound:
        return [bound]
    actions.append(ReleaseRun(left=tuple(sorted(running))))
    return []
