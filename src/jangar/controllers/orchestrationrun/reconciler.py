"""Reconciles a run: observe, plan, record, act; again at once if an action revealed something new."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.observers import NO_OBSERVERS, Observers
from jangar.controllers.orchestrationrun.act import ActionDependencies, RunContext, act
from jangar.controllers.orchestrationrun.definitions import STEP_BYTES
from jangar.controllers.orchestrationrun.memory import Memories, RunMemory
from jangar.controllers.orchestrationrun.observe import RunSnapshot, observe
from jangar.controllers.orchestrationrun.record import RunRecords
from jangar.controllers.orchestrationrun.retention import Keeping, RunRetention
from jangar.controllers.resources import reference_to
from jangar.controllers.transitions import phase_change, step_change
from jangar.domain.orchestration.planning.actions import PinDefinition
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.orchestration.planning.plan import Plan, plan
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.orchestration.status_document import step_document
from jangar.domain.retention import Delete
from jangar.domain.status_contract import lifecycle_to
from kubekit.cache.object_cache import Cached
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder

MAX_ROUNDS = 10
"""Plans that one pass makes before it requeues the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReconciler:
    """Reconciles OrchestrationRuns."""

    dependencies: ActionDependencies
    records: RunRecords
    memories: Memories
    recorder: EventRecorder
    limits: Limits
    keeping: Keeping
    now: Callable[[], datetime]
    history: HistoryKeeper | None = None
    observers: Observers = NO_OBSERVERS

    async def __call__(self, key: Key) -> Result:
        for _ in range(MAX_ROUNDS):
            seen = self.dependencies.runs.cache.get(key.namespace, key.name)
            if seen is None:
                return DONE
            memory = self.memories.of(seen.uid)
            snapshot = await observe(seen, memory, self.records, self.dependencies.definitions, self.limits)
            if seen.is_being_deleted and not self._is_stored(seen):
                snapshot = replace(snapshot, observation=replace(snapshot.observation, history_pending=True))
            observation, now, before = snapshot.observation, self.now(), memory.plan
            steps = max(len(observation.recorded.steps), len(memory.pinned.steps) if memory.pinned else 0)
            # With the previous plan, only what has changed is planned again.
            size = STEP_BYTES * steps if before is None else STEP_BYTES * steps // 10
            planned = await evaluated(partial(plan, observation, now, before), size=size)
            seen = await self._record(seen, memory, snapshot, planned)
            learned = await act(
                self.dependencies, self._context(seen, memory, snapshot, planned.status), planned.actions
            )
            if not learned:
                if planned.status.lifecycle.is_terminal:
                    self.memories.note_ended(seen.uid)
                return await self._next_pass(seen, snapshot, planned)
        return RequeueAfter(after=0.1)

    async def _record(self, seen: Cached, memory: RunMemory, snapshot: RunSnapshot, planned: Plan) -> Cached:
        record = planned.status
        more = self._extra_fields(seen, memory, snapshot, planned)
        if record is not snapshot.observation.recorded or more != _recorded_extra_fields(snapshot.status):
            memory.plan = None
            seen = await self.records.write(seen, memory, record, more)
            self._record_events(seen, snapshot.observation.recorded, record)
            self._count(snapshot.observation.recorded, record)
        memory.plan = planned
        return seen

    def _extra_fields(
        self, seen: Cached, memory: RunMemory, snapshot: RunSnapshot, planned: Plan
    ) -> Mapping[str, Any]:
        """Status fields outside the record. A snapshot's name and hash are recorded before it is created."""
        retention = self._retention(seen, snapshot).document(planned.status)
        reference = memory.pinned.reference if memory.pinned else None
        if reference is None and snapshot.found is not None and PinDefinition() in planned.actions:
            reference = snapshot.found.reference(seen)
        return {
            **({"snapshotRef": reference} if reference else {}),
            **({"retention": retention} if retention else {}),
        } or _recorded_extra_fields(snapshot.status)

    def _retention(self, seen: Cached, snapshot: RunSnapshot) -> RunRetention:
        owner = seen.controller
        is_root = owner is None or owner.kind != self.dependencies.runs.resource.kind
        return RunRetention(
            keeping=self.keeping, is_root=is_root, ttl=snapshot.spec.ttl_seconds_after_finished
        )

    def _is_stored(self, seen: Cached) -> bool:
        return self.history is None or not self.history.is_pending(seen)

    def _context(
        self, seen: Cached, memory: RunMemory, snapshot: RunSnapshot, record: RunRecord
    ) -> RunContext:
        return RunContext(
            seen=seen,
            reference=reference_to(self.dependencies.runs.resource, seen),
            memory=memory,
            record=record,
            lineage=snapshot.observation.run.lineage,
            found=snapshot.found,
        )

    def _record_events(self, seen: Cached, before: RunRecord, after: RunRecord) -> None:
        """An Event for each transition of the run and of its steps."""
        about = reference_to(self.dependencies.runs.resource, seen)
        for item in phase_change(lifecycle_to(before.lifecycle), lifecycle_to(after.lifecycle)):
            self.recorder.record(about, type=item.type, reason=item.reason, message=item.message)
        known = {state.name: state for state in before.steps}
        for state in after.steps:
            old = known.get(state.name)
            if old is state or (old is None and state.attempt == 0 and not state.is_terminal):
                continue
            reported = step_change(step_document(old) if old else None, step_document(state))
            if reported is not None:
                self.recorder.record(
                    about, type=reported.type, reason=reported.reason, message=reported.message
                )

    def _count(self, before: RunRecord, after: RunRecord) -> None:
        if after.cancel is not None and before.cancel is None:
            self.observers.cancel_accepted()
        if after.lifecycle.is_terminal and not before.lifecycle.is_terminal:
            self.observers.run_ended(str(after.lifecycle.phase))
        over = {state.name for state in before.steps if state.is_terminal}
        for state in after.steps:
            if state.is_terminal and state.name not in over and state.started_at and state.finished_at:
                took = (state.finished_at - state.started_at).total_seconds()
                self.observers.step_ended(str(state.kind), str(state.phase), took)

    async def _next_pass(self, seen: Cached, snapshot: RunSnapshot, planned: Plan) -> Result:
        """When to reconcile again; deletes a finished run after its retention."""
        times = [planned.look_again_at]
        if planned.status.lifecycle.is_terminal and not seen.is_being_deleted:
            verdict = self._retention(seen, snapshot).verdict(
                planned.status, is_stored=lambda: self._is_stored(seen), now=self.now()
            )
            if isinstance(verdict, Delete):
                await self.dependencies.writes.delete(
                    self.dependencies.runs, seen.name, seen.namespace, seen.uid
                )
                self.observers.expired(self.dependencies.runs.resource.kind)
                return DONE
            times.append(verdict.look_again_at)
        nearest = min((time for time in times if time is not None), default=None)
        if nearest is None:
            return DONE
        return RequeueAfter(after=max(0.0, (nearest - self.now()).total_seconds()))


def _recorded_extra_fields(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: status[name] for name in ("snapshotRef", "retention") if status.get(name)}
