"""Executes the planner's actions against the API. What a call reveals goes into the run's memory.

Calls about children run concurrently: a cancel must reach a hundred of them within a second.
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
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
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

MAX_CONCURRENT_CALLS: Final = 32
"""Concurrent calls about the children of one run."""

ChildAction = StartChild | ConfirmChild | StopChild | SuspendChild


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDependencies:
    """What the actions need."""

    client: Client
    writes: ObjectWrites
    runs: Informer
    children: Mapping[str, Informer]
    """Informers of the kinds of children that this controller runs, by the name of the kind."""
    definitions: Definitions
    recorder: EventRecorder
    request_timeout: timedelta
    inherited_labels: tuple[str, ...]
    """Labels that policy requires of every run; children get them from their run."""
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


async def act(deps: ActionDependencies, run: RunContext, actions: Sequence[Action]) -> bool:
    """Execute the actions. True if a call revealed something that changes the plan."""
    learned = False
    child_actions: list[ChildAction] = []
    for action in actions:
        match action:
            case StartChild() | ConfirmChild() | StopChild() | SuspendChild():
                child_actions.append(action)
            case PinDefinition():
                learned |= await _pin(deps, run)
            case ReadChildren():
                await _read_children(deps, run)
                learned = True
            case RemoveRunFinalizer(left=left):
                await _release(deps, run, left)
            case _:
                assert_never(action)
    return await _act_on_children(deps, run, child_actions) or learned


async def _pin(deps: ActionDependencies, run: RunContext) -> bool:
    """Store the definition, after the finalizer is set: a deletion in between would leave work behind."""
    seen, memory = run.seen, run.memory
    if CLEANUP_FINALIZER not in seen.finalizers:
        if not seen.is_being_deleted:
            await deps.writes.hold(deps.runs, seen, CLEANUP_FINALIZER)
        return not seen.is_being_deleted
    if run.found is None:
        return False
    match await deps.definitions.store(seen, run.found):
        case Pinned() as pinned:
            memory.pinned = pinned
        case SnapshotConflict(message=message):
            memory.conflict = message
    return True


async def _read_children(deps: ActionDependencies, run: RunContext) -> None:
    """Read the children of this run uncached; recorded children that the API server lacks are gone."""
    seen, memory, cancel = run.seen, run.memory, run.record.cancel
    began = deps.now()
    existing: dict[str, Child] = {}
    for informer in deps.children.values():
        for obj in await deps.client.list(informer.resource, seen.namespace, labels=f"{RUN_UID}={seen.uid}"):
            cached = informer.cache.record_write(obj)
            if _is_ours(run, obj):
                existing[cached.name] = child_seen(cached, memory.adapter_of(run.record, cached))
    gone = {
        state.child: ChildGone(name=state.child)
        for state in run.record.steps
        if state.child and state.child not in existing
    }
    memory.learn({**existing, **gone})
    late = cancel is not None and began >= cancel.requested_at + deps.request_timeout
    memory.children_read = ChildrenRead.AFTER_REQUEST_TIMEOUT if late else ChildrenRead.AFTER_CANCEL


async def _release(deps: ActionDependencies, run: RunContext, left: tuple[str, ...]) -> None:
    if left:
        deps.recorder.record(
            run.reference,
            type="Warning",
            reason=Reason.CANCEL_TIMED_OUT,
            message=f"deleted while work may still run: {', '.join(left)}",
        )
    await deps.writes.let_go(deps.runs, run.seen, CLEANUP_FINALIZER)


async def _act_on_children(deps: ActionDependencies, run: RunContext, actions: Sequence[ChildAction]) -> bool:
    slots = asyncio.Semaphore(MAX_CONCURRENT_CALLS)

    async def limited(call: Awaitable[bool]) -> bool:
        async with slots:
            return await call

    calls = [_act_on_child(deps, run, action) for action in actions]
    if len(calls) == 1:
        return await calls[0]
    answers = await asyncio.gather(*(limited(call) for call in calls), return_exceptions=True)
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    if failures:
        raise failures[0]
    return any(answers)


async def _act_on_child(deps: ActionDependencies, run: RunContext, action: ChildAction) -> bool:
    match action:
        case StartChild():
            return await _start(deps, run, action)
        case ConfirmChild(child=name):
            return await _confirm(deps, run, name)
        case StopChild(child=name):
            return await _patch(deps, run, name, partial(stop_patch, action))
        case SuspendChild(child=name, suspend=suspend):
            return await _patch(deps, run, name, partial(_suspend_patch, suspend))
        case _:
            assert_never(action)


async def _start(deps: ActionDependencies, run: RunContext, action: StartChild) -> bool:
    """Create the child, or adopt it: its name is a function of the run's uid, the step and the attempt."""
    memory, seen = run.memory, run.seen
    if memory.pinned is None or action.step in memory.pinned.unstartable:
        return True
    informer = deps.children[step_adapter(action.kind).child_name]
    manifest = child_manifest(
        action,
        memory.pinned.steps[action.step],
        run=seen,
        owner=owner_reference(deps.runs.resource, seen),
        lineage=run.lineage,
        inherited=deps.inherited_labels,
    )
    try:
        obj = await deps.client.create(informer.resource, manifest)
    except AlreadyExists:
        return await _adopt(deps, run, action, informer, manifest)
    except (Invalid, BadRequest) as error:
        refused = ChildRefused(name=action.child, reason=error.reason, message=error.message)
        memory.learn({action.child: refused})
        return True
    memory.made[action.child] = obj["metadata"]["uid"]
    informer.cache.record_write(obj)
    return False


async def _adopt(
    deps: ActionDependencies,
    run: RunContext,
    action: StartChild,
    informer: Informer,
    manifest: Mapping[str, Any],
) -> bool:
    """Adopt the object that has the child's name, if it is what the step creates."""
    memory, seen = run.memory, run.seen
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


def _is_ours(run: RunContext, obj: dict[str, Any]) -> bool:
    """Whether an object that was just read is a child that the run created."""
    memory, record = run.memory, run.record
    cached = Cached.of(obj)
    if memory.is_ours(record, cached):
        return True
    # An earlier version recorded the name alone; such children are only stopped.
    state = memory.state_of(record, cached.labels.get(STEP, ""), cached.name)
    is_old = state is not None and state.child_uid is None and state.child_hash is None
    return is_old and is_controlled_by(obj, run.seen.uid)


async def _confirm(deps: ActionDependencies, run: RunContext, name: str) -> bool:
    """Read a child uncached: only that proves that it is gone."""
    for informer in _informers_of(deps, run, name):
        try:
            obj = await deps.client.get(informer.resource, name, run.seen.namespace)
        except NotFound:
            continue
        if _is_ours(run, obj):
            cached = informer.cache.record_write(obj)
            adapter = run.memory.adapter_of(run.record, cached)
            run.memory.learn({name: child_seen(cached, adapter)})
            return True
    run.memory.learn({name: ChildGone(name=name)})
    return True


async def _patch(
    deps: ActionDependencies, run: RunContext, name: str, body: Callable[[StepAdapter], JsonObject]
) -> bool:
    """Patch the child; confirm whether one that is not in the cache is gone."""
    for informer in _informers_of(deps, run, name):
        cached = informer.cache.get(run.seen.namespace, name)
        if cached is not None and run.memory.is_ours(run.record, cached):
            adapter = run.memory.adapter_of(run.record, cached)
            await deps.writes.merge(informer, name, cached.namespace, cached.uid, body(adapter))
            return False
    return await _confirm(deps, run, name)


def _suspend_patch(suspend: bool, adapter: StepAdapter) -> JsonObject:
    if adapter.suspend is None:
        raise AssertionError(f"a step of kind {adapter.name} cannot be suspended")
    return adapter.suspend(suspend)


def _informers_of(deps: ActionDependencies, run: RunContext, name: str) -> list[Informer]:
    """Informers of the kinds that a child of this name has, or could have."""
    kinds = {step_adapter(state.kind).child_name for state in run.record.steps if state.child == name}
    return [deps.children[kind] for kind in kinds & deps.children.keys()] or list(deps.children.values())
