"""Reconciles CronJobs: observes, plans, acts and writes the status."""

from collections.abc import Callable
from datetime import datetime

from kubekit.cache.indexers import OWNER_UID
from kubekit.cache.object_cache import Cache
from kubekit.client.api_client import Client
from kubekit.client.builtin import CRON_JOBS, JOBS
from kubekit.client.errors import AlreadyExists
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent.cron_jobs.cron_plan import plan_cron_job
from picokube.nodeagent.writes import Writer

REQUEUE_DELAY = 0.05
"""Seconds until the next pass after creating a Job, which writes the status."""


class CronJobController:
    """Reconciles CronJobs."""

    def __init__(
        self, client: Client, crons: Cache, jobs: Cache, events: EventRecorder, *, now: Callable[[], datetime]
    ) -> None:
        self._crons, self._jobs, self._events, self._now = crons, jobs, events, now
        self._writer, self._job_writer = Writer(client, CRON_JOBS, crons), Writer(client, JOBS, jobs)

    async def reconcile(self, key: Key) -> Result:
        cached = self._crons.get(key.namespace, key.name)
        if cached is None:
            return DONE
        cron = cached.decode()
        jobs = [
            item.decode()
            for item in self._jobs.by(OWNER_UID, cached.uid)
            if item.controller and item.controller.uid == cached.uid
        ]
        plan = plan_cron_job(cron, jobs, now=self._now())
        for reason, message in plan.events:
            self._events.record(cron, type="Warning", reason=reason, message=message)
        for job in plan.delete:
            await self._job_writer.delete(job)
        if plan.create is not None:
            try:
                job = await self._job_writer.create(plan.create)
            except AlreadyExists:
                job = plan.create
            message = f"Created job {job['metadata']['name']}"
            self._events.record(cron, type="Normal", reason="SuccessfulCreate", message=message)
        if plan.status is not None:
            await self._writer.replace_status(cron, plan.status)
        if plan.create is not None:
            return RequeueAfter(REQUEUE_DELAY)
        if plan.requeue_at is None:
            return DONE
        return RequeueAfter(max((plan.requeue_at - self._now()).total_seconds(), 0.0) + REQUEUE_DELAY)
