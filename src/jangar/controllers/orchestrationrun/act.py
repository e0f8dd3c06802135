"""From an action to the calls that do it. What is learned on the way goes into the run's memory.

Children are told side by side: a hundred of them must hear of a cancel within a second.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, assert_never

from jangar.api.meta import JsonObject
from jangar.api.reasons import Reason
from jangar.controllers.object_writes import ObjectWrites
from jangar.controllers.orchestrationrun.children import (
    child_manifest,
    child_seen,
    hash_of,
    stop_patch,
)
from jangar.controllers.orchestrationrun.definitions import Definitions, Found
from jangar.controllers.orchestrationrun.memory import Pinned, RunMemory
from jangar.controllers.resources import RUN_UID, STEP, is_controlled_by, owner_reference
from jangar.domain.job_execution.finalizers import CLEANUP_FINALIZER
from jangar.domain.orchestration.planning.actions import (
    Action,
    ConfirmChild,
    PinDefinition,
    ReadChildren,
    RemoveRunFinalizer,
    StartChild,
    StopChild,
    SuspendChild,
)
from jangar.domain.orchestration.planning.observation import (
    Child,
    ChildGone,
    ChildRefused,
    ChildrenRead,
    SnapshotConflict,
)
from jangar.domain.orchestration.state import RunRecord
from jangar.kinds.registry import step_adapter
from jangar.kinds.step_adapter import StepAdapter
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.errors import AlreadyExists, BadRequest, Invalid, NotFound
from kubekit.events.event_recorder import EventRecorder, ObjectReference

SIDE_BY_SIDE: Final = 32
"""Calls about children of one run at once."""

ChildAction = StartChild | ConfirmChild | StopChild | SuspendChild


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDependencies:
    """What actions are done with."""

    client: Client
    writes: ObjectWrites
    runs: Informer
    children: Mapping[str, Informer]
    """Informers of the kinds of children that this controller runs, by the name of the kind."""
    definitions: Definitions
    recorder: EventRecorder
    request_timeout: timedelta
    inherited_labels: tuple[str, ...]
    """Labels that policy requires of every run: children have them from their run."""
    now: Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The run that actions are for."""

    seen: Cached
    reference: ObjectReference
    memory: RunMemory
    record: RunRecord
    lineage: tuple[str, ...]
    found: Found | None


async def act(deps: ActionDependencies, subject: RunContext, actions: Sequence[Action]) -> bool:
    """Do them; whether something was learned that makes the next plan differ at once."""
    learned = False
    asked: list[ChildAction] = []
    for action in actions:
        match action:
            case StartChild() | ConfirmChild() | StopChild() | SuspendChild():
                asked.append(action)
            case PinDefinition():
                learned |= await _pin(deps, subject)
            case ReadChildren():
                await _read_children(deps, subject)
                learned = True
            case RemoveRunFinalizer(left=left):
                await _release(deps, subject, left)
            case _:
                assert_never(action)
    return await _ask_children(deps, subject, asked) or learned


async def _pin(deps: ActionDependencies, subject: RunContext) -> bool:
    """Nothing of a run is stored or started before it is held: a deletion in between would leave work behind."""
    seen, memory = subject.seen, subject.memory
    if CLEANUP_FINALIZER not in seen.finalizers:
        if not seen.is_being_deleted:
            await deps.writes.hold(deps.runs, seen, CLEANUP_FINALIZER)
        return not seen.is_being_deleted
    if subject.found is None:
        return False
    match await deps.definitions.store(seen, subject.found):
        case Pinned() as pinned:
            memory.pinned = pinned
        case SnapshotConflict(message=message):
            memory.conflict = message
    return True


async def _read_children(deps: ActionDependencies, subject: RunContext) -> None:
    """What the API server itself has of this run's children; recorded names that it lacks are gone."""
    seen, memory, cancel = subject.seen, subject.memory, subject.record.cancel
    began = deps.now()
    there: dict[str, Child] = {}
    for informer in deps.children.values():
        for obj in await deps.client.list(informer.resource, seen.namespace, labels=f"{RUN_UID}={seen.uid}"):
            cached = informer.cache.record_write(obj)
            if _is_ours(subject, obj):
                there[cached.name] = child_seen(cached, memory.adapter_of(subject.record, cached))
    gone = {
        state.child: ChildGone(name=state.child)
        for state in subject.record.steps
        if state.child and state.child not in there
    }
    memory.learn({**there, **gone})
    late = cancel is not None and began >= cancel.requested_at + deps.request_timeout
    memory.children_read = ChildrenRead.AFTER_REQUEST_TIMEOUT if late else ChildrenRead.AFTER_CANCEL


async def _release(deps: ActionDependencies, subject: RunContext, left: tuple[str, ...]) -> None:
    if left:
        deps.recorder.record(
            subject.reference,
            type="Warning",
            reason=Reason.CANCEL_TIMED_OUT,
            message=f"deleted while work may still run: {', '.join(left)}",
        )
    await deps.writes.let_go(deps.runs, subject.seen, CLEANUP_FINALIZER)


async def _ask_children(
    deps: ActionDependencies, subject: RunContext, actions: Sequence[ChildAction]
) -> bool:
    places = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(call: Awaitable[bool]) -> bool:
        async with places:
            return await call

    calls = [_ask_child(deps, subject, action) for action in actions]
    if len(calls) == 1:
        return await calls[0]
    answers = await asyncio.gather(*(one(call) for call in calls), return_exceptions=True)
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    if failures:
        raise failures[0]
    return any(answers)


async def _ask_child(deps: ActionDependencies, subject: RunContext, action: ChildAction) -> bool:
    match action:
        case StartChild():
            return await _start(deps, subject, action)
        case ConfirmChild(child=name):
            return await _confirm(deps, subject, name)
        case StopChild(child=name):
            return await _patch(deps, subject, name, partial(stop_patch, action))
        case SuspendChild(child=name, suspend=suspend):
            return await _patch(deps, subject, name, partial(_suspend_patch, suspend))
        case _:
            assert_never(action)


async def _start(deps: ActionDependencies, subject: RunContext, action: StartChild) -> bool:
    """Created, or ours already: the name is a function of the run's uid, the step and the attempt."""
    memory, seen = subject.memory, subject.seen
    if memory.pinned is None or action.step in memory.pinned.unstartable:
        return True
    informer = deps.children[step_adapter(action.kind).child_name]
    manifest = child_manifest(
        action,
        memory.pinned.steps[action.step],
        run=seen,
        owner=owner_reference(deps.runs.resource, seen),
        lineage=subject.lineage,
        inherited=deps.inherited_labels,
    )
    try:
        obj = await deps.client.create(informer.resource, manifest)
    except AlreadyExists:
        return await _adopt(deps, subject, action, informer, manifest)
    except (Invalid, BadRequest) as error:
        refused = ChildRefused(name=action.child, reason=error.reason, message=error.message)
        memory.learn({action.child: refused})
        return True
    memory.made[action.child] = obj["metadata"]["uid"]
    informer.cache.record_write(obj)
    return False


async def _adopt(
    deps: ActionDependencies,
    subject: RunContext,
    action: StartChild,
    informer: Informer,
    manifest: Mapping[str, Any],
) -> bool:
    """What has the child's name already: ours if it is what the step makes, whatever became of it since."""
    memory, seen = subject.memory, subject.seen
    obj = await deps.client.get(informer.resource, action.child, seen.namespace)
    wanted, found = hash_of(manifest, action.kind), hash_of(obj, action.kind)
    if is_controlled_by(obj, seen.uid) and found is not None and found == wanted:
        cached = informer.cache.record_write(obj)
        memory.learn({action.child: child_seen(cached, step_adapter(action.kind))})
        return True
    kind, uid = informer.resource.kind, obj["metadata"]["uid"]
    message = (
        f"{kind} {action.child} (uid {uid}) exists and is not what this step makes, so it was not adopted: "
        f"find out who created it and delete it, then retry the run"
    )
    conflict = ChildRefused(name=action.child, reason="", message=message, failure=Reason.CHILD_NAME_CONFLICT)
    memory.learn({action.child: conflict})
    return True


def _is_ours(subject: RunContext, obj: dict[str, Any]) -> bool:
    """Whether an object that was just read is a child that the run made."""
    memory, record = subject.memory, subject.record
    cached = Cached.of(obj)
    if memory.is_ours(record, cached):
        return True
    # A version before hashes recorded the name alone; what is asked of such a child is to stop.
    state = memory.state_of(record, cached.labels.get(STEP, ""), cached.name)
    is_old = state is not None and state.child_uid is None and state.child_hash is None
    return is_old and is_controlled_by(obj, subject.seen.uid)


async def _confirm(deps: ActionDependencies, subject: RunContext, name: str) -> bool:
    """A live read alone says that a child is gone."""
    for informer in _informers_of(deps, subject, name):
        try:
            obj = await deps.client.get(informer.resource, name, subject.seen.namespace)
        except NotFound:
            continue
        if _is_ours(subject, obj):
            cached = informer.cache.record_write(obj)
            adapter = subject.memory.adapter_of(subject.record, cached)
            subject.memory.learn({name: child_seen(cached, adapter)})
            return True
    subject.memory.learn({name: ChildGone(name=name)})
    return True


async def _patch(
    deps: ActionDependencies, subject: RunContext, name: str, body: Callable[[StepAdapter], JsonObject]
) -> bool:
    """Patch the child; confirm whether one that is not in the cache is gone."""
    for informer in _informers_of(deps, subject, name):
        cached = informer.cache.get(subject.seen.namespace, name)
        if cached is not None and subject.memory.is_ours(subject.record, cached):
            adapter = subject.memory.adapter_of(subject.record, cached)
            await deps.writes.merge(informer, name, cached.namespace, cached.uid, body(adapter))
            return False
    return await _confirm(deps, subject, name)


def _suspend_patch(suspend: bool, adapter: StepAdapter) -> JsonObject:
    if adapter.suspend is None:
        raise AssertionError(f"a step of kind {adapter.name} cannot be suspended")
    return adapter.suspend(suspend)


def _informers_of(deps: ActionDependencies, subject: RunContext, name: str) -> list[Informer]:
    """Informers of the kinds that a child of this name has, or could have."""
    kinds = {step_adapter(state.kind).child_name for state in subject.record.steps if state.child == name}
    return [deps.children[kind] for kind in kinds & deps.children.keys()] or list(deps.children.values())
