"""Builds the observation of a child from caches and uncached reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jangar.api.phases import OnJobMissing
from jangar.controllers.job_execution.job_request import JobRequest
from jangar.controllers.orchestrationrun.children import hash_of
from jangar.controllers.resources import ATTEMPT, CHILD_UID, JOB_NAME, STEP, stop_deadline
from jangar.domain.cancellation import requesters
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.domain.job_execution.facts import JobFacts, PodFacts, job_facts, pod_facts
from jangar.domain.job_execution.observation import (
    ChildFacts,
    Owner,
    WorkLimits,
    WorkObservation,
    WorkRefused,
)
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache
from jangar.domain.job_execution.record import WorkRecord
from jangar.domain.job_execution.status_document import work_record
from jangar.domain.orchestration.status_document import step_state
from jangar.kinds.registry import RUN_KINDS
from kubekit.cache.object_cache import EVERY, Cache, Cached
from kubekit.times import parse_rfc3339

OWNERS = frozenset(run.name for run in RUN_KINDS.values() if run.owns_runs)
"""Kinds whose objects create children."""


@dataclass(slots=True)
class LiveReads:
    """What this pass has read from the API server without the cache."""

    owner: Owner | None = None
    work: tuple[JobFacts | ConfirmedAbsent, tuple[PodFacts, ...]] | None = None
    refused: WorkRefused | None = None
    create_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """The caches of watched objects."""

    children: Cache
    jobs: Cache
    pods: Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSnapshot:
    """One child in one pass."""

    observation: WorkObservation
    request: JobRequest
    status: Mapping[str, Any] = field(default_factory=dict)


def observe(
    caches: Caches,
    child: Cached,
    request: JobRequest,
    live: LiveReads,
    limits: WorkLimits,
    *,
    logs_kept: bool,
) -> ChildSnapshot:
    """Everything a plan needs about one child."""
    obj = child.view
    status = obj.get("status") or {}
    recorded = work_record(status)
    job, pods = live.work or _cached_work(caches, child, recorded)
    observation = WorkObservation(
        child=_facts(obj, request, recorded),
        work=live.refused or request.work,
        template=request.template,
        workflow=request.workflow,
        has_runner=request.has_runner,
        recorded=recorded,
        owner=live.owner or (Owner.NOT_READ if owner_run(child) else Owner.NONE),
        job=job,
        pods=pods,
        job_version=_version(caches.jobs, child.namespace),
        live=live.work is not None,
        create_error=live.create_error,
        logs_kept=logs_kept,
        limits=limits,
    )
    return ChildSnapshot(observation=observation, request=request, status=status)


def owner_run(child: Cached) -> str | None:
    """The name of the run that owns the child."""
    owner = child.controller
    return owner.name if owner is not None and owner.kind in OWNERS else None


def owner_state(run: Mapping[str, Any] | None, uid: str) -> Owner:
    """The state of an owner that was read without the cache."""
    if run is None or run["metadata"]["uid"] != uid:
        return Owner.GONE
    phase = (run.get("status") or {}).get("phase")
    stopping = phase in {"Cancelling", "Succeeded", "Failed", "Cancelled"}
    return Owner.STOPPING if stopping or run["metadata"].get("deletionTimestamp") else Owner.ACTIVE


def confirmation(steps: Sequence[Mapping[str, Any]], child: Cached) -> Owner:
    """Whether the run's recorded steps include this child; any user can write an owner reference."""
    if not steps:
        return Owner.NOT_RECORDED_YET
    step, attempt = child.labels.get(STEP, ""), child.labels.get(ATTEMPT, "")
    recorded = next((item for item in steps if item.get("name") == step), None)
    if recorded is None or not attempt.isdecimal():
        return Owner.NOT_CONFIRMED
    state = step_state(recorded)
    if state.child == child.name:
        is_same = state.child_uid is None or state.child_uid == child.uid
        # Versions before hashes recorded only the name and uid.
        is_unchanged = state.child_hash is None or hash_of(child.view, state.kind) == state.child_hash
        return Owner.ACTIVE if is_same and is_unchanged else Owner.NOT_CONFIRMED
    may_record_later = not state.is_terminal and attempt == str(state.attempt + 1)
    return Owner.NOT_RECORDED_YET if may_record_later else Owner.NOT_CONFIRMED


def _version(jobs: Cache, namespace: str) -> str | None:
    version = max(jobs.observed_version(namespace), jobs.observed_version(EVERY))
    return str(version) if version else None


def _facts(obj: Mapping[str, Any], request: JobRequest, recorded: WorkRecord) -> ChildFacts:
    meta, spec = obj["metadata"], request.spec
    deadline = stop_deadline(meta.get("annotations"))
    deleted = meta.get("deletionTimestamp")
    limits = (recorded.job and recorded.job.attempt_limits) or request.attempt_limits
    return ChildFacts(
        name=meta["name"],
        uid=meta["uid"],
        generation=meta.get("generation") or 0,
        created_at=parse_rfc3339(meta["creationTimestamp"]),
        requested_by=requesters(spec, deleting=bool(deleted), owner_stops=deadline is not None),
        deleted_at=parse_rfc3339(deleted) if deleted else None,
        suspend=bool(spec.suspend),
        stop_deadline=deadline,
        timeout=request.time_limit(limits),
        on_job_missing=request.on_job_missing or OnJobMissing.FAIL,
        ttl=spec.ttl_seconds_after_finished,
        job_ttl=limits.job_ttl if limits else None,
        retries=(limits and limits.retries) or 0,
        attempt_limits=request.attempt_limits,
        has_finalizer=CLEANUP_FINALIZER in (meta.get("finalizers") or ()),
    )


def _cached_work(
    caches: Caches, child: Cached, recorded: WorkRecord
) -> tuple[JobFacts | NotInCache, tuple[PodFacts, ...]]:
    if recorded.job is None:
        return NotInCache(), ()
    name = recorded.job.name
    job = caches.jobs.get(child.namespace, name)
    pods = [item for item in caches.pods.by(CHILD_UID, child.uid) if item.labels.get(JOB_NAME) == name]
    ours = job if job is not None and job.controller and job.controller.uid == child.uid else None
    return (
        job_facts(ours.view) if ours else NotInCache(),
        tuple(pod_facts(pod.view) for pod in pods),
    )
