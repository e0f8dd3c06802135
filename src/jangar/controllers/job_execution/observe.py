"""From caches and uncached reads to what a plan looks at. Decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jangar.api.phases import OnJobMissing
from jangar.controllers.job_execution.order import JobRequest
from jangar.controllers.orchestrationrun.children import hash_of
from jangar.controllers.resources import ATTEMPT, CHILD_UID, JOB_NAME, STEP
from jangar.controllers.stop_order import stop_order
from jangar.domain.cancellation.request import requesters
from jangar.domain.job_execution.document import work_record
from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.job_execution.finalizers import CLEANUP_FINALIZER
from jangar.domain.job_execution.observation import (
    ChildFacts,
    Owner,
    WorkLimits,
    WorkObservation,
    WorkRefused,
)
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache
from jangar.domain.job_execution.reading import job_facts, pod_facts
from jangar.domain.job_execution.record import WorkRecord
from jangar.domain.orchestration.status_document import step_state
from jangar.domain.times import parse_rfc3339
from jangar.kinds.registry import RUN_KINDS
from kubekit.cache.object_cache import EVERY, Cache, Cached

OWNERS = frozenset(run.name for run in RUN_KINDS.values() if run.owns_runs)
"""Kinds whose objects start children."""


@dataclass(slots=True)
class LiveReads:
    """What this pass has asked the API server itself."""

    owner: Owner | None = None
    work: tuple[JobFacts | ConfirmedAbsent, tuple[PodFacts, ...]] | None = None
    refused: WorkRefused | None = None
    create_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """What is watched."""

    children: Cache
    jobs: Cache
    pods: Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSnapshot:
    """One child as a pass sees it."""

    observation: WorkObservation
    order: JobRequest
    status: Mapping[str, Any] = field(default_factory=dict)


def observe(
    caches: Caches, seen: Cached, order: JobRequest, live: LiveReads, limits: WorkLimits, *, logs_kept: bool
) -> ChildSnapshot:
    """Everything a plan needs about one child."""
    obj = seen.view
    status = obj.get("status") or {}
    recorded = work_record(status)
    job, pods = live.work or _cached_work(caches, seen, recorded)
    observation = WorkObservation(
        child=_facts(obj, order, recorded),
        work=live.refused or order.work,
        template=order.template,
        course=order.course,
        reports=order.reports,
        recorded=recorded,
        owner=live.owner or (Owner.NOT_READ if owner_run(seen) else Owner.NONE),
        job=job,
        pods=pods,
        job_version=_version(caches.jobs, seen.namespace),
        live=live.work is not None,
        create_error=live.create_error,
        logs_kept=logs_kept,
        limits=limits,
    )
    return ChildSnapshot(observation=observation, order=order, status=status)


def owner_run(seen: Cached) -> str | None:
    """Name of the run that the child belongs to."""
    owner = seen.controller
    return owner.name if owner is not None and owner.kind in OWNERS else None


def owner_state(run: Mapping[str, Any] | None, uid: str) -> Owner:
    """What an uncached read of the owner means for a child that wants to start."""
    if run is None or run["metadata"]["uid"] != uid:
        return Owner.GONE
    phase = (run.get("status") or {}).get("phase")
    stopping = phase in {"Cancelling", "Succeeded", "Failed", "Cancelled"}
    return Owner.STOPPING if stopping or run["metadata"].get("deletionTimestamp") else Owner.ACTIVE


def confirmation(steps: Sequence[Mapping[str, Any]], child: Cached) -> Owner:
    """Whether the run's recorded steps say that it started this child. Anybody can write an owner reference."""
    if not steps:
        return Owner.NOT_RECORDED_YET
    step, attempt = child.labels.get(STEP, ""), child.labels.get(ATTEMPT, "")
    recorded = next((item for item in steps if item.get("name") == step), None)
    if recorded is None or not attempt.isdecimal():
        return Owner.NOT_CONFIRMED
    state = step_state(recorded)
    if state.child == child.name:
        is_same = state.child_uid is None or state.child_uid == child.uid
        # A version before hashes recorded none; then the name and the uid have to do.
        is_made = state.child_hash is None or hash_of(child.view, state.kind) == state.child_hash
        return Owner.ACTIVE if is_same and is_made else Owner.NOT_CONFIRMED
    may_follow = not state.is_terminal and attempt == str(state.attempt + 1)
    return Owner.NOT_RECORDED_YET if may_follow else Owner.NOT_CONFIRMED


def _version(jobs: Cache, namespace: str) -> str | None:
    version = max(jobs.observed_version(namespace), jobs.observed_version(EVERY))
    return str(version) if version else None


def _facts(obj: Mapping[str, Any], order: JobRequest, recorded: WorkRecord) -> ChildFacts:
    meta, spec = obj["metadata"], order.spec
    deadline = stop_order(meta.get("annotations"))
    deleted = meta.get("deletionTimestamp")
    binding = (recorded.job and recorded.job.terms) or order.terms
    return ChildFacts(
        name=meta["name"],
        uid=meta["uid"],
        generation=meta.get("generation") or 0,
        created_at=parse_rfc3339(meta["creationTimestamp"]),
        requested_by=requesters(spec, deleting=bool(deleted), owner_stops=deadline is not None),
        deleted_at=parse_rfc3339(deleted) if deleted else None,
        suspend=bool(spec.suspend),
        stop_deadline=deadline,
        timeout=order.time_limit(binding),
        on_job_missing=order.on_job_missing or OnJobMissing.FAIL,
        ttl=spec.ttl_seconds_after_finished,
        job_ttl=binding.job_ttl if binding else None,
        retries=(binding and binding.retries) or 0,
        terms=order.terms,
        has_finalizer=CLEANUP_FINALIZER in (meta.get("finalizers") or ()),
    )


def _cached_work(
    caches: Caches, seen: Cached, recorded: WorkRecord
) -> tuple[JobFacts | NotInCache, tuple[PodFacts, ...]]:
    if recorded.job is None:
        return NotInCache(), ()
    name = recorded.job.name
    job = caches.jobs.get(seen.namespace, name)
    pods = [item for item in caches.pods.by(CHILD_UID, seen.uid) if item.labels.get(JOB_NAME) == name]
    ours = job if job is not None and job.controller and job.controller.uid == seen.uid else None
    return (
        job_facts(ours.view) if ours else NotInCache(),
        tuple(pod_facts(pod.view) for pod in pods),
    )
