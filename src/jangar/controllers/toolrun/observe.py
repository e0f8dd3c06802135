"""From caches and uncached reads to what a plan looks at. Decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jangar.api.phases import OnJobMissing
from jangar.api.tools import ToolRunSpec, ToolSpec
from jangar.controllers.resources import CHILD_UID
from jangar.controllers.stop_order import stop_order
from jangar.domain.cancellation.request import requesters
from jangar.domain.times import parse_rfc3339
from jangar.domain.toolrun.tool import Command, NoCommand, command_of
from jangar.domain.work.document import work_record
from jangar.domain.work.facts import JobFacts, PodFacts
from jangar.domain.work.observation import (
    ChildFacts,
    Owner,
    WorkDefined,
    WorkLimits,
    WorkMissing,
    WorkObservation,
    WorkRefused,
    WorkRejected,
)
from jangar.domain.work.presence import ConfirmedAbsent, NotInCache
from jangar.domain.work.reading import job_facts, pod_facts
from jangar.domain.work.record import WorkRecord
from jangar.domain.work.releasing import CLEANUP_FINALIZER
from jangar.kube.cache import Cache, Cached
from jangar.runtimes.kubernetes_job.manifest import TEMPLATE

JOB_NAME = "batch.kubernetes.io/job-name"


@dataclass(slots=True)
class LiveReads:
    """What this pass has asked the API server itself."""

    owner: Owner | None = None
    work: tuple[JobFacts | ConfirmedAbsent, tuple[PodFacts, ...]] | None = None
    refused: WorkRefused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """What is watched."""

    toolruns: Cache
    tools: Cache
    jobs: Cache
    pods: Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One ToolRun as a pass sees it."""

    observation: WorkObservation
    spec: ToolRunSpec
    command: Command | None
    status: Mapping[str, Any] = field(default_factory=dict)


def observe(caches: Caches, seen: Cached, live: LiveReads, limits: WorkLimits, *, logs_kept: bool) -> Sight:
    """Everything a plan needs about one ToolRun."""
    obj = seen.view
    spec = ToolRunSpec.model_validate(obj.get("spec") or {})
    status = obj.get("status") or {}
    recorded = work_record(status)
    tool = _tool(caches.tools, seen.namespace, spec)
    work, command = _work(tool, spec)
    job, pods = live.work or _cached_work(caches, seen, recorded)
    observation = WorkObservation(
        child=_facts(obj, spec, tool),
        work=live.refused or work,
        template=TEMPLATE,
        recorded=recorded,
        owner=live.owner or (Owner.NOT_READ if owner_run(seen) else Owner.NONE),
        job=job,
        pods=pods,
        live=live.work is not None,
        logs_kept=logs_kept,
        limits=limits,
    )
    return Sight(observation=observation, spec=spec, command=command, status=status)


def owner_run(seen: Cached) -> str | None:
    """Name of the run that the child belongs to."""
    owner = seen.controller
    return owner.name if owner is not None and owner.kind == "OrchestrationRun" else None


def owner_state(run: Mapping[str, Any] | None, uid: str) -> Owner:
    """What an uncached read of the owner means for a child that wants to start."""
    if run is None or run["metadata"]["uid"] != uid:
        return Owner.GONE
    phase = (run.get("status") or {}).get("phase")
    stopping = phase in {"Cancelling", "Succeeded", "Failed", "Cancelled"}
    return Owner.STOPPING if stopping or run["metadata"].get("deletionTimestamp") else Owner.ACTIVE


def _facts(obj: Mapping[str, Any], spec: ToolRunSpec, tool: ToolSpec | None) -> ChildFacts:
    meta = obj["metadata"]
    deadline = stop_order(meta.get("annotations"))
    deleted = meta.get("deletionTimestamp")
    seconds = spec.timeout_seconds if spec.timeout_seconds is not None else tool and tool.timeout_seconds
    return ChildFacts(
        name=meta["name"],
        uid=meta["uid"],
        generation=meta.get("generation") or 0,
        created_at=parse_rfc3339(meta["creationTimestamp"]),
        requested_by=requesters(spec, deleting=bool(deleted), owner_stops=deadline is not None),
        deleted_at=parse_rfc3339(deleted) if deleted else None,
        suspend=bool(spec.suspend),
        stop_deadline=deadline,
        timeout=timedelta(seconds=seconds) if seconds else None,
        on_job_missing=spec.on_job_missing or OnJobMissing.FAIL,
        ttl=spec.ttl_seconds_after_finished,
        job_ttl=tool.ttl_seconds_after_finished if tool else None,
        is_held=CLEANUP_FINALIZER in (meta.get("finalizers") or ()),
    )


def _tool(tools: Cache, namespace: str, spec: ToolRunSpec) -> ToolSpec | None:
    cached = tools.get(namespace, spec.tool_ref.name)
    return ToolSpec.model_validate(cached.view.get("spec") or {}) if cached else None


def _work(
    tool: ToolSpec | None, spec: ToolRunSpec
) -> tuple[WorkDefined | WorkMissing | WorkRejected, Command | None]:
    if tool is None:
        return WorkMissing(message=f'tool "{spec.tool_ref.name}" does not exist'), None
    match command_of(tool, spec.parameters or {}):
        case NoCommand(reason=reason, message=message):
            return WorkRejected(reason=reason, message=message), None
        case Command() as command:
            return WorkDefined(), command


def _cached_work(
    caches: Caches, seen: Cached, recorded: WorkRecord
) -> tuple[JobFacts | NotInCache, tuple[PodFacts, ...]]:
    if recorded.job is None:
        return NotInCache(), ()
    name = recorded.job.name
    job = caches.jobs.get(seen.namespace, name)
    pods = [each for each in caches.pods.by(CHILD_UID, seen.uid) if each.labels.get(JOB_NAME) == name]
    ours = job if job is not None and job.controller and job.controller.uid == seen.uid else None
    return (
        job_facts(ours.view) if ours else NotInCache(),
        tuple(pod_facts(each.view) for each in pods),
    )
