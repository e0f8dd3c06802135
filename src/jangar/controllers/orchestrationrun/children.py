"""Children of a run: how one is read from its object, how it is recognized, and how one is written. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import DefinitionPhase, Phase, StepKind
from jangar.api.tools import TOOL_RUN
from jangar.controllers.resources import (
    ATTEMPT,
    LINEAGE,
    MANAGED_BY,
    RUN_UID,
    STEP,
    STOP,
    is_controlled_by,
    resource_of,
    stop_annotation,
)
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.domain.orchestration.actions import StartChild, StopChild
from jangar.domain.orchestration.child_identity import child_hash, child_spec
from jangar.domain.orchestration.child_names import label_value
from jangar.domain.orchestration.definition import StepDefinition
from jangar.domain.orchestration.observation import ChildSeen
from jangar.domain.orchestration.state import StepState
from jangar.domain.times import parse_rfc3339
from kubekit.cache.object_cache import Cached

KINDS: Mapping[StepKind, Kind] = {
    StepKind.TOOL_RUN: TOOL_RUN,
    StepKind.AGENT_RUN: AGENT_RUN,
    StepKind.SUB_ORCHESTRATION: ORCHESTRATION_RUN,
}
"""Kinds of steps whose children are started here, and the kind of object that each creates."""

TEMPLATE: Final = "agents.proompteng.ai/template"
"""Annotation of an AgentRun that is only copied and never starts; no step makes one."""


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
        stop_requested=spec.get("cancel") is True and _reported_to_stop(obj),
        left_behind=any(not item.get("endedAt") for item in left),
    )


def _phase(word: str | None) -> Phase:
    """The legacy system sets Ready on ToolRuns that have not started."""
    return Phase.PENDING if not word or word == DefinitionPhase.READY else Phase(word)


def _reported_to_stop(obj: Mapping[str, Any]) -> bool:
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
    inherited: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The object of an attempt, ready to be created. `inherited` are keys of labels that it has from its run."""
    kind = KINDS[action.kind]
    resource = resource_of(kind)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": action.child,
            "namespace": run.namespace,
            "labels": {
                **{key: run.labels[key] for key in inherited if key in run.labels},
                **MANAGED_BY,
                RUN_UID: run.uid,
                STEP: label_value(action.step),
                ATTEMPT: str(action.attempt),
            },
            **({"annotations": {LINEAGE: ",".join(lineage)}} if kind is ORCHESTRATION_RUN else {}),
            "finalizers": [CLEANUP_FINALIZER],
            "ownerReferences": [dict(owner)],
        },
        "spec": child_spec(action.kind, step, action.parameters),
    }


def hash_of(obj: Mapping[str, Any], kind: StepKind) -> str | None:
    """The hash that the run must have recorded if the object is a child of its step."""
    meta = obj["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    if annotations.get(TEMPLATE) == "true":
        return None
    return child_hash(
        kind,
        obj.get("spec") or {},
        run_uid=labels.get(RUN_UID) or "",
        step=labels.get(STEP) or "",
        attempt=labels.get(ATTEMPT) or "",
        lineage=annotations.get(LINEAGE) or "",
    )


def is_recorded(state: StepState, obj: Mapping[str, Any], run_uid: str) -> bool:
    """Whether the object is the child that the run recorded for the step's current attempt.

    The uid decides where it is recorded, else the hash of what the step makes. A name and an owner reference alone
    prove nothing.
    """
    meta = obj["metadata"]
    if meta["name"] != state.child or not is_controlled_by(obj, run_uid):
        return False
    if state.child_uid is not None:
        return bool(meta["uid"] == state.child_uid)
    return state.child_hash is not None and hash_of(obj, state.kind) == state.child_hash


def stop_patch(action: StopChild) -> dict[str, Any]:
    """What tells a child to stop: the request that users see, and why and until when."""
    order = stop_annotation(reason=str(action.reason), deadline=action.deadline)
    return {"metadata": {"annotations": order}, "spec": {"cancel": True}}
