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
from jangar.controllers.job_execution.observe import (
    Caches,
    ChildSnapshot,
    LiveReads,
    confirmation,
    observe,
    owner_run,
    owner_state,
)
from jangar.controllers.job_execution.order import OrderReader
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
from jangar.domain.job_execution.document import WORK_FIELDS, work_document
from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.job_execution.observation import Owner, WorkLimits
from jangar.domain.job_execution.plan import plan_work
from jangar.domain.job_execution.plan_context import WorkPlan
from jangar.domain.job_execution.presence import ConfirmedAbsent
from jangar.domain.job_execution.reading import job_facts, pod_facts
from jangar.domain.job_execution.record import WorkRecord
from kubekit.cache.object_cache import Cached
from kubekit.client.builtin import EVENTS, JOBS, PODS
from kubekit.client.errors import BadRequest, Expired, Forbidden, NotFound
from kubekit.client.resource import Resource
from kubekit.controller.evaluation import evaluated
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result

log = logging.getLogger(__name__)

MAX_ROUNDS = 8
"""Uncached reads that one pass may ask for before it starts over."""
HISTORY_SECONDS = 1.0
"""How long a server is listened to that tells what it remembers: it tells at once, and then what is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReconciler:
    """Brings children of one kind forward."""

    caches: Caches
    order: OrderReader
    """What a child of the kind wants done."""
    hands: ActionDependencies
    writer: StatusWriter
    owners: Mapping[str, Resource]
    """Where the runs are that children belong to, by kind."""
    limits: WorkLimits
    now: Callable[[], datetime]
    observers: Observers = NO_OBSERVERS
    history: HistoryKeeper | None = None

    async def __call__(self, key: Key) -> Result:
        seen = self.caches.children.get(key.namespace, key.name)
        if seen is None:
            return DONE
        live = LiveReads()
        for _ in range(MAX_ROUNDS):
            order = await evaluated(partial(self.order, seen), size=self.order.size(seen))
            logs_kept = self._logs_kept(seen)
            sight = observe(self.caches, seen, order, live, self.limits, logs_kept=logs_kept)
            if self._history_pending(seen):
                sight = replace(sight, observation=replace(sight.observation, history_pending=True))
            plan = plan_work(sight.observation, self.now())
            if plan.reads:
                await self._read(plan.reads, seen, live)
                continue
            before, seen = seen, await self._record(seen, sight, plan)
            live.refused = await act(self.hands, self._subject(seen, sight, plan), plan.actions)
            if DeleteChild() in plan.actions:
                self.observers.expired(self.hands.children.resource.kind)
            if live.refused is None and (plan.actions or seen is before):
                return self._look_again(plan)
        return RequeueAfter(after=1.0)

    def _history_pending(self, seen: Cached) -> bool:
        """Nobody asks about one that stays until its run goes."""
        if self.history is None or (owner_run(seen) and not seen.is_being_deleted):
            return False
        return self.history.is_pending(seen)

    def _logs_kept(self, seen: Cached) -> bool:
        """Nobody asks before a Job has ended; a file is not looked for until then."""
        logs, status = self.hands.logs, seen.view.get("status") or {}
        if logs is None or not any(status.get(item) for item in ("outcome", "attempts", "workflow")):
            return True
        return logs.files.has(seen.namespace, seen.uid, (status.get("job") or {}).get("name"))

    async def _read(self, reads: Sequence[Read], seen: Cached, live: LiveReads) -> None:
        for read in reads:
            match read:
                case ReadOwner():
                    live.owner = await self._read_owner(seen)
                case ReadWork(job=name, since=since):
                    live.work = await self._read_work(seen, name, since)
                case ReadCreateError(uid=uid):
                    live.create_error = await self._read_create_error(seen, uid)

    async def _read_owner(self, seen: Cached) -> Owner:
        owner = seen.controller
        assert owner is not None  # noqa: S101 - only a child with an owner asks for it
        try:
            run = await self.hands.client.get(self.owners[owner.kind], owner.name, seen.namespace)
        except NotFound:
            run = None
        found = owner_state(run, owner.uid)
        if run is None or found is not Owner.ACTIVE or owner.kind != ORCHESTRATION_RUN.name:
            return found
        status = run.get("status") or {}
        confirmed = confirmation(status.get("stepStatuses") or (), seen)
        if confirmed is Owner.ACTIVE or not status.get("stepPages"):
            return confirmed
        return confirmation(await read_steps(self.hands.client, Cached.of(run), status) or (), seen)

    async def _read_work(
        self, seen: Cached, name: str, since: str | None
    ) -> tuple[JobFacts | ConfirmedAbsent, tuple[PodFacts, ...]]:
        client = self.hands.client
        try:
            job = await client.get(JOBS, name, seen.namespace)
        except NotFound:
            job = None
        pods = await client.list(PODS, seen.namespace, labels=f"{CHILD_UID}={seen.uid},{JOB_NAME}={name}")
        ours = job if job is not None and is_controlled_by(job, seen.uid) else None
        facts = tuple(pod_facts(pod) for pod in pods)
        if ours is not None:
            return job_facts(ours), facts
        existed = bool(pods) or (since is not None and await self._was_there(seen, name, since))
        return ConfirmedAbsent(existed=existed), facts

    async def _read_create_error(self, seen: Cached, uid: str) -> str:
        """What the Job controller last said of a pod that it could not create. Without the right to read
        events nothing is known, and the Job is waited for all the same.
        """
        fields = f"involvedObject.uid={uid},reason={Reason.FAILED_CREATE}"
        try:
            events = await self.hands.client.list(EVENTS, seen.namespace, fields=fields)
        except (Forbidden, BadRequest) as error:
            log.info("job events not read", extra={"namespace": seen.namespace, "error": error.message})
            return ""
        latest = max(events, key=_last_seen, default={})
        return str(latest.get("message") or "")

    async def _was_there(self, seen: Cached, name: str, since: str) -> bool:
        """Whether the API server's history knows a Job of that name; one that it has forgotten it does not know."""
        try:
            async with self.hands.client.watch(
                JOBS,
                seen.namespace,
                resource_version=since,
                fields=f"metadata.name={name}",
                timeout_seconds=HISTORY_SECONDS,
                bookmarks=False,
            ) as events:
                async for event in events:
                    if is_controlled_by(event.object, seen.uid):
                        return True
        except Expired:
            log.info("the history of a Job is forgotten", extra={"job": name, "namespace": seen.namespace})
        return False

    async def _record(self, seen: Cached, sight: ChildSnapshot, plan: WorkPlan) -> Cached:
        if plan.status is sight.observation.recorded:
            return seen
        document = work_document(plan.status, name=seen.name, namespace=seen.namespace)
        if sight.order.command is not None and any(isinstance(action, CreateJob) for action in plan.actions):
            document |= sight.order.command.status_fields
        written = await self.writer.write(self.hands.children, seen, document, known=WORK_FIELDS)
        if written is not seen:
            self._tell(written, sight, document, plan.status)
        return written

    def _tell(
        self, seen: Cached, sight: ChildSnapshot, document: dict[str, object], status: WorkRecord
    ) -> None:
        about = reference_to(self.hands.children.resource, seen)
        for workflow_change in (
            *phase_change(sight.status, document),
            *workflow_changes(sight.status, document),
        ):
            if workflow_change.type == "Normal" and owner_run(seen):
                # The run tells it of its step.
                continue
            self.hands.recorder.record(
                about,
                type=workflow_change.type,
                reason=workflow_change.reason,
                message=workflow_change.message,
            )
        if _job_missing(status) and not _job_missing(sight.observation.recorded):
            self.observers.job_missing()
            if status.attempts and not status.lifecycle.is_terminal:
                why = status.attempts[-1].outcome
                self.hands.recorder.record(
                    about, type="Warning", reason=Reason(why.reason), message=why.message
                )

    def _subject(self, seen: Cached, sight: ChildSnapshot, plan: WorkPlan) -> ChildContext:
        return ChildContext(
            seen=seen,
            reference=reference_to(self.hands.children.resource, seen),
            command=sight.order.command,
            container=sight.order.template.containers[0],
            timeout=sight.order.time_limit(plan.status.job.terms if plan.status.job else None),
        )

    def _look_again(self, plan: WorkPlan) -> Result:
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
