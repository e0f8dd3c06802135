"""One pass over a run: observe, plan, record, act; again at once when acting taught something."""

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
from jangar.domain.retention.decide import Delete
from jangar.domain.status_contract import lifecycle_to
from kubekit.cache.object_cache import Cached
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder

MAX_ROUNDS = 10
"""Plans that one pass may make before it lets others have a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReconciler:
    """Brings OrchestrationRuns forward."""

    hands: ActionDependencies
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
            seen = self.hands.runs.cache.get(key.namespace, key.name)
            if seen is None:
                return DONE
            memory = self.memories.of(seen.uid)
            sight = await observe(seen, memory, self.records, self.hands.definitions, self.limits)
            if seen.is_being_deleted and not self._is_stored(seen):
                sight = replace(sight, observation=replace(sight.observation, history_pending=True))
            observation, now, before = sight.observation, self.now(), memory.plan
            steps = max(len(observation.recorded.steps), len(memory.pinned.steps) if memory.pinned else 0)
            # With the plan before, only what has changed is planned anew.
            size = STEP_BYTES * steps if before is None else STEP_BYTES * steps // 10
            planned = await evaluated(partial(plan, observation, now, before), size=size)
            seen = await self._record(seen, memory, sight, planned)
            learned = await act(
                self.hands, self._subject(seen, memory, sight, planned.status), planned.actions
            )
            if not learned:
                if planned.status.lifecycle.is_terminal:
                    self.memories.note_ended(seen.uid)
                return await self._later(seen, sight, planned)
        return RequeueAfter(after=0.1)

    async def _record(self, seen: Cached, memory: RunMemory, sight: RunSnapshot, planned: Plan) -> Cached:
        record = planned.status
        more = self._beside(seen, memory, sight, planned)
        if record is not sight.observation.recorded or more != _shown_beside(sight.status):
            memory.plan = None
            seen = await self.records.write(seen, memory, record, more)
            self._tell(seen, sight.observation.recorded, record)
            self._count(sight.observation.recorded, record)
        memory.plan = planned
        return seen

    def _beside(
        self, seen: Cached, memory: RunMemory, sight: RunSnapshot, planned: Plan
    ) -> Mapping[str, Any]:
        """What a status has beside the record. A snapshot's name and hash are recorded before it is created."""
        retention = self._retention(seen, sight).document(planned.status)
        snapshot = memory.pinned.reference if memory.pinned else None
        if snapshot is None and sight.found is not None and PinDefinition() in planned.actions:
            snapshot = sight.found.reference(seen)
        return {
            **({"snapshotRef": snapshot} if snapshot else {}),
            **({"retention": retention} if retention else {}),
        } or _shown_beside(sight.status)

    def _retention(self, seen: Cached, sight: RunSnapshot) -> RunRetention:
        owner = seen.controller
        is_root = owner is None or owner.kind != self.hands.runs.resource.kind
        return RunRetention(keeping=self.keeping, is_root=is_root, ttl=sight.spec.ttl_seconds_after_finished)

    def _is_stored(self, seen: Cached) -> bool:
        return self.history is None or not self.history.is_pending(seen)

    def _subject(self, seen: Cached, memory: RunMemory, sight: RunSnapshot, record: RunRecord) -> RunContext:
        return RunContext(
            seen=seen,
            reference=reference_to(self.hands.runs.resource, seen),
            memory=memory,
            record=record,
            lineage=sight.observation.run.lineage,
            found=sight.found,
        )

    def _tell(self, seen: Cached, before: RunRecord, after: RunRecord) -> None:
        """An Event for each transition of the run and of its steps."""
        about = reference_to(self.hands.runs.resource, seen)
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

    async def _later(self, seen: Cached, sight: RunSnapshot, planned: Plan) -> Result:
        """When to look again; a finished run whose time is over goes."""
        times = [planned.look_again_at]
        if planned.status.lifecycle.is_terminal and not seen.is_being_deleted:
            verdict = self._retention(seen, sight).verdict(
                planned.status, is_stored=lambda: self._is_stored(seen), now=self.now()
            )
            if isinstance(verdict, Delete):
                await self.hands.writes.delete(self.hands.runs, seen.name, seen.namespace, seen.uid)
                self.observers.expired(self.hands.runs.resource.kind)
                return DONE
            times.append(verdict.look_again_at)
        nearest = min((time for time in times if time is not None), default=None)
        if nearest is None:
            return DONE
        return RequeueAfter(after=max(0.0, (nearest - self.now()).total_seconds()))


def _shown_beside(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: status[name] for name in ("snapshotRef", "retention") if status.get(name)}
