"""Children of a run: how one is read from its object, recognized, created and stopped. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from jangar.controllers.resources import (
    ATTEMPT,
    LINEAGE,
    MANAGED_BY,
    RUN_UID,
    STEP,
    is_controlled_by,
    resource_of,
    stop_annotation,
)
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.domain.orchestration.child_names import child_hash, label_value
from jangar.domain.orchestration.definition import StepDefinition
from jangar.domain.orchestration.planning.actions import StartChild, StopChild
from jangar.domain.orchestration.planning.observation import ChildSeen
from jangar.domain.orchestration.state import StepState
from jangar.kinds.registry import step_adapter
from jangar.kinds.step_adapter import StepAdapter
from kubekit.cache.object_cache import Cached
from kubekit.times import parse_rfc3339

TEMPLATE: Final = "agents.proompteng.ai/template"
"""Annotation of an AgentRun that is only copied and never starts; no step creates one."""


def child_seen(cached: Cached, adapter: StepAdapter) -> ChildSeen:
    """A child as the planner looks at it."""
    report = adapter.observe(cached.view)
    return ChildSeen(
        name=cached.name,
        uid=cached.uid,
        phase=report.phase,
        created_at=parse_rfc3339(cached.creation_timestamp),
        reason=report.reason,
        message=report.message,
        finished_at=parse_rfc3339(report.finished_at) if report.finished_at else None,
        exit_code=report.exit_code,
        outputs=adapter.outputs(cached.view),
        deleting=cached.is_being_deleted,
        suspended=report.suspended,
        stop_requested=report.stop_requested,
        left_behind=report.left_behind,
    )


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
    adapter = step_adapter(action.kind)
    if adapter.child is None:
        raise AssertionError(f"a step of kind {action.kind} creates no object")
    resource = resource_of(adapter.child)
    nests = adapter.called_orchestration is not None
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
            **({"annotations": {LINEAGE: ",".join(lineage)}} if nests else {}),
            "finalizers": [CLEANUP_FINALIZER],
            "ownerReferences": [dict(owner)],
        },
        "spec": adapter.start(step.source, step.target, action.parameters),
    }


def hash_of(obj: Mapping[str, Any], kind: str) -> str | None:
    """The hash that the run must have recorded if the object is a child of a step of this kind."""
    meta = obj["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    if annotations.get(TEMPLATE) == "true":
        return None
    return child_hash(
        step_adapter(kind),
        obj.get("spec") or {},
        run_uid=labels.get(RUN_UID) or "",
        step=labels.get(STEP) or "",
        attempt=labels.get(ATTEMPT) or "",
        lineage=annotations.get(LINEAGE) or "",
    )


def is_recorded(state: StepState, obj: Mapping[str, Any], run_uid: str) -> bool:
    """Whether the object is the child that the run recorded for the step's current attempt.

    The uid decides where it is recorded, else the hash. A name and an owner reference alone prove nothing.
    """
    meta = obj["metadata"]
    if meta["name"] != state.child or not is_controlled_by(obj, run_uid):
        return False
    if state.child_uid is not None:
        return bool(meta["uid"] == state.child_uid)
    return state.child_hash is not None and hash_of(obj, state.kind) == state.child_hash


def stop_patch(action: StopChild, adapter: StepAdapter) -> dict[str, Any]:
    """Merge patch that requests a stop, with its reason and deadline."""
    return adapter.stop(stop_annotation(reason=str(action.reason), deadline=action.deadline))
