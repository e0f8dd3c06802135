"""Builds the planner's observation from caches, memory and stored definitions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jangar.api.orchestration import OrchestrationRunSpec
from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.controllers.orchestrationrun.definitions import Definitions, Found
from jangar.controllers.orchestrationrun.memory import RunMemory
from jangar.controllers.orchestrationrun.record import RunRecords
from jangar.controllers.resources import LINEAGE, stop_deadline
from jangar.domain.cancellation import requesters
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.planning.observation import (
    Child,
    ChildGone,
    ChildrenRead,
    ChildSeen,
    DefinitionMissing,
    DefinitionRejected,
    Limits,
    Observation,
    RunFacts,
    SnapshotConflict,
)
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.kinds.registry import step_adapter
from kubekit.cache.object_cache import Cached
from kubekit.times import parse_rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """One run as one pass observes it."""

    observation: Observation
    spec: OrchestrationRunSpec
    status: Mapping[str, Any]
    found: Found | None = None
    """The definition that would be pinned."""


async def observe(
    seen: Cached, memory: RunMemory, records: RunRecords, definitions: Definitions, limits: Limits
) -> RunSnapshot:
    """Everything that the planner needs about one run."""
    obj = seen.view
    spec = OrchestrationRunSpec.model_validate(obj.get("spec") or {})
    status = obj.get("status") or {}
    recorded = await records.read(seen, status, memory)
    if recorded.cancel is None:
        memory.children_read = ChildrenRead.NOT_YET
    if memory.pinned is None and status.get("snapshotRef"):
        memory.pinned = await definitions.stored(seen, status["snapshotRef"])
    memory.take_news(recorded)
    definition, found = await _definition(seen, spec, recorded, memory, definitions)
    observation = Observation(
        run=_facts(obj, spec),
        definition=definition,
        recorded=recorded,
        children=_with_unstartable(recorded, memory),
        pinned=memory.pinned is not None,
        children_read=memory.children_read,
        reused=found.reused if found else {},
        limits=limits,
    )
    return RunSnapshot(observation=observation, spec=spec, status=status, found=found)


async def _definition(
    seen: Cached,
    spec: OrchestrationRunSpec,
    recorded: RunRecord,
    memory: RunMemory,
    definitions: Definitions,
) -> tuple[Definition | DefinitionMissing | DefinitionRejected | SnapshotConflict, Found | None]:
    """The definition that the run executes; before it starts, the one it would start with."""
    pinned = memory.pinned
    if recorded.lifecycle.is_terminal or recorded.steps:
        missing = DefinitionMissing(message="the stored definition of this run is gone or was replaced")
        return (pinned.definition if pinned else missing), None
    if memory.conflict:
        return SnapshotConflict(message=memory.conflict), None
    if pinned is not None and spec.retry_of is None:
        return pinned.definition, None
    resolved = await definitions.current(seen, spec)
    if not isinstance(resolved, Found):
        return resolved, None
    return (pinned.definition if pinned else resolved.definition), resolved


def _facts(obj: Mapping[str, Any], spec: OrchestrationRunSpec) -> RunFacts:
    meta = obj["metadata"]
    annotations = meta.get("annotations") or {}
    deadline = stop_deadline(annotations)
    deleted = meta.get("deletionTimestamp")
    own = spec.orchestration_ref.name if spec.orchestration_ref else ""
    above = annotations.get(LINEAGE) or ""
    return RunFacts(
        name=meta["name"],
        uid=meta["uid"],
        generation=meta.get("generation") or 0,
        created_at=parse_rfc3339(meta["creationTimestamp"]),
        requested_by=requesters(spec, deleting=bool(deleted), owner_stops=deadline is not None),
        deleted_at=parse_rfc3339(deleted) if deleted else None,
        suspend=bool(spec.suspend),
        parameters=spec.parameters or {},
        policies=spec.policies,
        lineage=tuple(name for name in (*above.split(","), own) if name),
        stop_deadline=deadline,
    )


def _with_unstartable(recorded: RunRecord, memory: RunMemory) -> Mapping[str, Child]:
    """The children, with a waiting one for each step whose child this controller does not run."""
    if memory.pinned is None or not memory.pinned.unstartable:
        return memory.children
    waiting = {
        state.child: _waits(state)
        for state in recorded.steps
        if state.name in memory.pinned.unstartable and state.is_live and state.child
    }
    return {**memory.children, **waiting}


def _waits(state: StepState) -> Child:
    name = state.child or ""
    if state.stop is not None:
        return ChildGone(name=name)
    return ChildSeen(
        name=name,
        uid="",
        phase=Phase.PENDING,
        created_at=state.attempt_started_at or state.started_at or parse_rfc3339("1970-01-01T00:00:00Z"),
        reason=Reason.BLOCKED,
        message=step_adapter(state.kind).not_run_here,
    )
