"""Children of a run: how one is read from its object, and how one is written. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import DefinitionPhase, Phase, StepKind
from jangar.api.tools import TOOL_RUN
from jangar.controllers.resources import ATTEMPT, LINEAGE, MANAGED_BY, RUN_UID, STEP, STOP, resource_of
from jangar.controllers.stop_order import written_order
from jangar.domain.orchestration.actions import StartChild, StopChild
from jangar.domain.orchestration.child_names import label_value
from jangar.domain.orchestration.definition import StepDefinition
from jangar.domain.orchestration.observation import ChildSeen
from jangar.domain.times import parse_rfc3339
from jangar.domain.work.releasing import CLEANUP_FINALIZER
from jangar.kube.cache import Cached

KINDS: Mapping[StepKind, Kind] = {
    StepKind.TOOL_RUN: TOOL_RUN,
    StepKind.AGENT_RUN: AGENT_RUN,
    StepKind.SUB_ORCHESTRATION: ORCHESTRATION_RUN,
}
"""Kinds of steps whose children are started here, and the kind of object that each creates."""


AGENT_FIELDS = (
    "implementationSpecRef",
    "implementation",
    "runtime",
    "workload",
    "workflow",
    "memoryRef",
    "secrets",
    "vcsRef",
    "vcsPolicy",
    "goal",
    "onJobMissing",
)
"""Fields that a step has in common with the AgentRun that it starts."""


def child_seen(cached: Cached) -> ChildSeen:
    """A child as the planner looks at it. One without a status was created and not looked at yet."""
    obj = cached.view
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    left = (status.get("cancel") or {}).get("leftBehind") or ()
    return ChildSeen(
        name=cached.name,
        uid=cached.uid,
        phase=_phase(status.get("phase")),
        created_at=parse_rfc3339(cached.creation_timestamp),
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        finished_at=_time(status.get("finishedAt")),
        exit_code=(status.get("outcome") or {}).get("exitCode"),
        outputs=status.get("outputs"),
        deleting=cached.is_being_deleted,
        suspended=bool(spec.get("suspend")),
        stop_requested=spec.get("cancel") is True and _told_to_stop(obj),
        left_behind=any(not each.get("endedAt") for each in left),
    )


def _phase(word: str | None) -> Phase:
    """The existing system stamps Ready on ToolRuns that nothing has happened to yet."""
    return Phase.PENDING if not word or word == DefinitionPhase.READY else Phase(word)


def _told_to_stop(obj: Mapping[str, Any]) -> bool:
    return STOP in (obj["metadata"].get("annotations") or {})


def _time(text: str | None) -> datetime | None:
    return parse_rfc3339(text) if text else None


def child_manifest(
    action: StartChild,
    step: StepDefinition,
    *,
    run: Cached,
    owner: Mapping[str, Any],
    lineage: tuple[str, ...],
) -> dict[str, Any]:
    """The object of an attempt, ready to be created."""
    kind = KINDS[action.kind]
    resource = resource_of(kind)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": action.child,
            "namespace": run.namespace,
            "labels": {
                **MANAGED_BY,
                RUN_UID: run.uid,
                STEP: label_value(action.step),
                ATTEMPT: str(action.attempt),
            },
            **({"annotations": {LINEAGE: ",".join(lineage)}} if kind is ORCHESTRATION_RUN else {}),
            "finalizers": [CLEANUP_FINALIZER],
            "ownerReferences": [dict(owner)],
        },
        "spec": _spec(action, step),
    }


def _spec(action: StartChild, step: StepDefinition) -> dict[str, Any]:
    parameters = {"parameters": dict(action.parameters)} if action.parameters else {}
    if action.kind is StepKind.SUB_ORCHESTRATION:
        return {"orchestrationRef": {"name": step.target}, **parameters}
    if action.kind is StepKind.AGENT_RUN:
        return _agentrun_spec(step) | parameters
    source = step.source
    missing = source.on_job_missing if source is not None else None
    return {
        "toolRef": {"name": step.target},
        **parameters,
        **({"onJobMissing": str(missing)} if missing else {}),
    }


def _agentrun_spec(step: StepDefinition) -> dict[str, Any]:
    """What the step says about its agent, as it is written there."""
    source = step.source
    written = source.model_dump(mode="json", by_alias=True, exclude_none=True) if source is not None else {}
    given = {name: written[name] for name in AGENT_FIELDS if name in written}
    return {"runtime": {"type": "job"}, **given, "agentRef": {"name": step.target}}


def stop_patch(action: StopChild) -> dict[str, Any]:
    """What tells a child to stop: the request that users see, and why and until when."""
    order = written_order(reason=str(action.reason), deadline=action.deadline)
    return {"metadata": {"annotations": order}, "spec": {"cancel": True}}
