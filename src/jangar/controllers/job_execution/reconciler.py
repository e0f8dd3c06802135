"""One pass over a child that runs a Job: observe, plan, record, act."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.reasons import Reason
from jangar.controllers.history.keeper import HistoryKeeper
from jangar.controllers.job_execution.act import ActionDependencies, ChildContext, act
from jangar.controllers.job_execution.job_request import JobRequestReader
from jangar.controllers.job_execution.observe import (
    Caches,
    ChildSnapshot,
    LiveReads,
    confirmation,
    observe,
    owner_run,
    owner_state,
)
from jangar.controllers.observers import NO_OBSERVERS, Observers
from jangar.controllers.orchestrationrun.record import read_steps
from jangar.controllers.resources import CHILD_UID, JOB_NAME, is_controlled_by, reference_to
from jangar.controllers.status_writer import StatusWriter
from jangar.controllers.transitions import phase_change, workflow_changes
from jangar.domain.conditions import ConditionStatus, ConditionType
from jangar.domain.job_execution.actions import (
    CreateJob,
    DeleteChild,
    Read,
    ReadCreateError,
    ReadOwner,
    ReadWork,
)
from jangar.domain.job_execution.facts import JobFacts, PodFacts, job_facts, pod_facts
from jangar.domain.job_execution.observation import Owner, WorkLimits
from jangar.domain.job_execution.plan import plan_work
from jangar.domain.job_execution.plan_context import WorkPlan
from jangar.domain.job_execution.presence import ConfirmedAbsent
from jangar.domain.job_execution.record import WorkRecord
from jangar.domain.job_execution.status_document import WORK_FIELDS, work_document
from kubekit.cache.object_cache import Cached
from kubekit.client.builtin import EVENTS, JOBS, PODS
from kubekit.client.errors import BadRequest, Expired, Forbidden, NotFound
from kubekit.client.resource import Resource
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result

log = logging.getLogger(__name__)

MAX_ROUNDS = 8
"""Plans that one pass makes, each with more uncached reads, before it starts over."""
HISTORY_SECONDS = 1.0
"""Time limit for reading the watch history: a server sends the events that it has at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReconciler:
    """Reconciles the children of one kind."""

    caches: Caches
    requests: JobRequestReader
    dependencies: ActionDependencies
    writer: StatusWriter
    owners: Mapping[str, Resource]
    """The resources of runs that own children, by kind."""
    limits: WorkLimits
    now: Callable[[], datetime]
    observers: Observers = NO_OBSERVERS
    history: HistoryKeeper | None = None

    async def __call__(self, key: Key) -> Result:
        child = self.caches.children.get(key.namespace, key.name)
        if child is None:
            return DONE
        live = LiveReads()
        for _ in range(MAX_ROUNDS):
            request = await evaluated(partial(self.requests, child), size=self.requests.size(child))
            logs_kept = self._logs_kept(child)
            snapshot = observe(self.caches, child, request, live, self.limits, logs_kept=logs_kept)
            if self._history_pending(child):
                snapshot = replace(snapshot, observation=replace(snapshot.observation, history_pending=True))
            plan = plan_work(snapshot.observation, self.now())
            if plan.reads:
                await self._read(plan.reads, child, live)
                continue
            before, child = child, await self._record(child, snapshot, plan)
            live.refused = await act(self.dependencies, self._context(child, snapshot, plan), plan.actions)
            if DeleteChild() in plan.actions:
                self.observers.expired(self.dependencies.children.resource.kind)
            if live.refused is None and (plan.actions or child is before):
                return self._requeue(plan)
        return RequeueAfter(after=1.0)

    def _history_pending(self, child: Cached) -> bool:
        """Whether history must be stored first; irrelevant for a child that is deleted with its run."""
        if self.history is None or (owner_run(child) and not child.is_being_deleted):
            return False
        return self.history.is_pending(child)

    def _logs_kept(self, child: Cached) -> bool:
        """Whether the log tail is stored; files are only checked once a Job has ended."""
        logs, status = self.dependencies.logs, child.view.get("status") or {}
        if logs is None or not any(status.get(item) for item in ("outcome", "attempts", "workflow")):
            return True
        return logs.files.has(child.namespace, child.uid, (status.get("job") or {}).get("name"))

    async def _read(self, reads: Sequence[Read], child: Cached, live: LiveReads) -> None:
        for read in reads:
            match read:
                case ReadOwner():
                    live.owner = await self._read_owner(child)
                case ReadWork(job=name, since=since):
                    live.work = await self._read_work(child, name, since)
                case ReadCreateError(uid=uid):
                    live.create_error = await self._read_create_error(child, uid)

    async def _read_owner(self, child: Cached) -> Owner:
        owner = child.controller
        assert owner is not None  # noqa: S101 - only a child with an owner asks for it
        try:
            run = await self.dependencies.client.get(self.owners[owner.kind], owner.name, child.namespace)
        except NotFound:
            run = None
        state = owner_state(run, owner.uid)
        if run is None or state is not Owner.ACTIVE or owner.kind != ORCHESTRATION_RUN.name:
            return state
        status = run.get("status") or {}
        confirmed = confirmation(status.get("stepStatuses") or (), child)
        if confirmed is Owner.ACTIVE or not status.get("stepPages"):
            return confirmed
        return confirmation(await read_steps(self.dependencies.client, Cached.of(run), status) or (), child)

    async def _read_work(
        self, child: Cached, name: str, since: str | None
    ) -> tuple[JobFacts | ConfirmedAbsent, tuple[PodFacts, ...]]:
        client = self.dependencies.client
        try:
            job = await client.get(JOBS, name, child.namespace)
        except NotFound:
            job = None
        pods = await client.list(PODS, child.namespace, labels=f"{CHILD_UID}={child.uid},{JOB_NAME}={name}")
        ours = job if job is not None and is_controlled_by(job, child.uid) else None
        facts = tuple(pod_facts(pod) for pod in pods)
        if ours is not None:
            return job_facts(ours), facts
        existed = bool(pods) or (since is not None and await self._was_there(child, name, since))
        return ConfirmedAbsent(existed=existed), facts

    async def _read_create_error(self, child: Cached, uid: str) -> str:
        """The latest event about a pod that the Job controller could not create; empty if events cannot be read."""
        fields = f"involvedObject.uid={uid},reason={Reason.FAILED_CREATE}"
        try:
            events = await self.dependencies.client.list(EVENTS, child.namespace, fields=fields)
        except (Forbidden, BadRequest) as error:
            log.info("job events not read", extra={"namespace": child.namespace, "error": error.message})
            return ""
        latest = max(events, key=_last_seen, default={})
        return str(latest.get("message") or "")

    async def _was_there(self, child: Cached, name: str, since: str) -> bool:
        """Whether the watch history includes a Job of that name; it may have expired."""
        try:
            async with self.dependencies.client.watch(
                JOBS,
                child.namespace,
                resource_version=since,
                fields=f"metadata.name={name}",
                timeout_seconds=HISTORY_SECONDS,
                bookmarks=False,
            ) as events:
                async for event in events:
                    if is_controlled_by(event.object, child.uid):
                        return True
        except Expired:
            log.info("job history expired", extra={"job": name, "namespace": child.namespace})
        return False

    async def _record(self, child: Cached, snapshot: ChildSnapshot, plan: WorkPlan) -> Cached:
        if plan.status is snapshot.observation.recorded:
            return child
        document = work_document(plan.status, name=child.name, namespace=child.namespace)
        if snapshot.request.command is not None and any(
            isinstance(action, CreateJob) for action in plan.actions
        ):
            document |= snapshot.request.command.status_fields
        written = await self.writer.write(self.dependencies.children, child, document, known=WORK_FIELDS)
        if written is not child:
            self._record_events(written, snapshot, document, plan.status)
        return written

    def _record_events(
        self, child: Cached, snapshot: ChildSnapshot, document: dict[str, object], status: WorkRecord
    ) -> None:
        reference = reference_to(self.dependencies.children.resource, child)
        for transition in (
            *phase_change(snapshot.status, document),
            *workflow_changes(snapshot.status, document),
        ):
            if transition.type == "Normal" and owner_run(child):
                # The run records an event for its step.
                continue
            self.dependencies.recorder.record(
                reference,
                type=transition.type,
                reason=transition.reason,
                message=transition.message,
            )
        if _job_missing(status) and not _job_missing(snapshot.observation.recorded):
            self.observers.job_missing()
            if status.attempts and not status.lifecycle.is_terminal:
                outcome = status.attempts[-1].outcome
                self.dependencies.recorder.record(
                    reference, type="Warning", reason=Reason(outcome.reason), message=outcome.message
                )

    def _context(self, child: Cached, snapshot: ChildSnapshot, plan: WorkPlan) -> ChildContext:
        return ChildContext(
            child=child,
            reference=reference_to(self.dependencies.children.resource, child),
            command=snapshot.request.command,
            container=snapshot.request.template.containers[0],
            timeout=snapshot.request.time_limit(plan.status.job.attempt_limits if plan.status.job else None),
        )

    def _requeue(self, plan: WorkPlan) -> Result:
        if plan.look_again_at is None:
            return DONE
        return RequeueAfter(after=max(0.0, (plan.look_again_at - self.now()).total_seconds()))


def _last_seen(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _job_missing(status: WorkRecord) -> bool:
    return any(
        condition.type == ConditionType.WORKFLOW_JOB_MISSING and condition.status is ConditionStatus.TRUE
        for condition in status.lifecycle.conditions
    )
