"""The life of a job: observe, plan, act, record. Also ends jobs whose time to live is over."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from kubekit.cache.indexers import OWNER_UID
from kubekit.cache.object_cache import Cache, Cached, Change
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import AlreadyExists, Forbidden, Invalid
from kubekit.controller.reconcile import DONE, Key, LookAgain, Result
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent.jobs.expiry import expires_at
from picokube.nodeagent.jobs.job_facts import TRACKING, UNCOUNTED, is_finished, pod_fact
from picokube.nodeagent.jobs.job_plan import JobPlan, plan_job
from picokube.nodeagent.jobs.job_pods import pod_names, pod_of
from picokube.nodeagent.lifecycle_events import job_changed, pod_created, pod_not_created
from picokube.nodeagent.slots import Slots
from picokube.nodeagent.writes import Writer

_UNCOUNTED = f'"{UNCOUNTED}"'.encode()
HOLD = timedelta(milliseconds=200)
"""That pods are active is told after this long: a job that ends sooner is told once."""


class JobController:
    """Reconciles jobs."""

    def __init__(
        self,
        client: Client,
        jobs: Cache,
        pods: Cache,
        slots: Slots,
        events: EventRecorder,
        *,
        stop: Callable[[Obj], None],
        haste: UrgentWorkGate,
        now: Callable[[], datetime],
    ) -> None:
        self._stop_pod, self._haste = stop, haste
        self._jobs, self._pods, self._slots, self._events, self._now = jobs, pods, slots, events, now
        self._job_writer, self._pod_writer = Writer(client, JOBS, jobs), Writer(client, PODS, pods)
        self._untold: dict[str, datetime] = {}

    def is_news_of_pod(self, change: Change) -> bool:
        """A pod that was just made is known to its job; one that is counted is nothing to a finished job."""
        pod = change.subject
        if change.kind == "added" and not pod.is_being_deleted and b'"phase":"Pending"' in pod.raw:
            return False
        owner = pod.controller
        if TRACKING in pod.finalizers or owner is None or (change.old and change.old.controller != owner):
            return True
        job = self._jobs.get(pod.namespace, owner.name)
        return job is not None and not is_finished(job.view)

    async def reconcile(self, key: Key) -> Result:
        cached = self._jobs.get(key.namespace, key.name)
        if cached is None:
            await self._release_orphans(key)
            return DONE
        job = cached.decode()
        found = self._pods_of(cached.uid)
        if is_finished(job):
            # Many of a job's changes come after its end: its pods are read only where there is still something to do.
            found = [each for each in found if TRACKING in each.finalizers or _UNCOUNTED in each.raw]
        pods = {each.name: each.decode() for each in found}
        plan = plan_job(job, [pod_fact(pod) for pod in pods.values()], now=self._now())
        stopped = plan.uncounted_deletes and await self._stop(pods[fact.name] for fact in plan.delete)
        if stopped and self._haste.is_on:
            # They end; that they are deleted, and the status, can wait until all others are told, too.
            return LookAgain(0.0)
        chosen = {fact.name for fact in plan.delete}
        await self._delete(job, [pod for name, pod in pods.items() if name in chosen or _is_uncounted(pod)])
        await self._make(job, pods, plan)
        held = await self._record(job, plan)
        if held is None:
            await asyncio.gather(
                *(self._pod_writer.release(pods[pod.name], TRACKING) for pod in plan.release)
            )
        return await self._expire(job, self._next_look(plan, held))

    def _pods_of(self, uid: str) -> list[Cached]:
        return [
            each for each in self._pods.by(OWNER_UID, uid) if each.controller and each.controller.uid == uid
        ]

    async def _stop(self, pods: Iterable[Obj]) -> bool:
        """Let pods go that nobody shall count, and have them end without waiting for their deletion.

        Whether there were any.
        """
        counted = [each for each in pods if TRACKING in (each["metadata"].get("finalizers") or ())]
        for pod in counted:
            await self._pod_writer.let_go(pod, TRACKING, mark=UNCOUNTED)
            self._stop_pod(pod)
        return bool(counted)

    async def _delete(self, job: Obj, pods: Iterable[Obj]) -> None:
        for pod in pods:
            if pod["metadata"].get("deletionTimestamp") is None:
                await self._pod_writer.delete(pod)
                self._tell(job, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    async def _make(self, job: Obj, pods: dict[str, Obj], plan: JobPlan) -> None:
        names = pod_names(job, pods)
        for index in plan.indexes or (None,) * plan.create:
            await self._create(job, names if index is None else pod_names(job, pods, index), index)

    async def _create(self, job: Obj, names: Iterator[str], index: int | None) -> None:
        """A name that is taken by a pod of this job is that pod: the cache was behind, or an answer was lost."""
        has_room = self._slots.promise()
        try:
            for name in names:
                node = self._slots.node if has_room and _is_free(job) else ""
                pod = pod_of(job, name, node=node, index=index)
                try:
                    pod_created(self._events, job, await self._pod_writer.create(pod))
                except AlreadyExists:
                    found = await self._pod_writer.live(pod["metadata"]["namespace"], pod["metadata"]["name"])
                    if found is not None and _is_of(found, job):
                        self._pods.note_written(found)
                        return
                    continue
                except (Forbidden, Invalid) as error:
                    if job["metadata"].get("deletionTimestamp"):
                        return
                    pod_not_created(self._events, job, error)
                    raise
                return
        finally:
            if has_room:
                self._slots.settle()

    async def _record(self, job: Obj, plan: JobPlan) -> float | None:
        """Write the status; the seconds to wait where more will have happened soon."""
        uid = job["metadata"]["uid"]
        if plan.status is None:
            self._untold.pop(uid, None)
            return None
        if not plan.is_urgent:
            since = self._untold.setdefault(uid, self._now())
            left = (since + HOLD - self._now()).total_seconds()
            if left > 0:
                return left
        self._untold.pop(uid, None)
        await self._job_writer.replace_status(job, plan.status)
        job_changed(self._events, job, plan.status)
        return None

    def _tell(self, job: Obj, reason: str, message: str) -> None:
        self._events.record(job, type="Normal", reason=reason, message=message)

    async def _release_orphans(self, key: Key) -> None:
        """Pods whose job is gone are tracked by nobody."""
        for each in self._pods.all(key.namespace):
            owner = each.controller
            if TRACKING in each.finalizers and owner and (owner.kind, owner.name) == ("Job", key.name):
                await self._pod_writer.release(each.decode(), TRACKING)

    async def _expire(self, job: Obj, result: Result) -> Result:
        if not is_finished(job) or job["metadata"].get("deletionTimestamp"):
            return result
        end = expires_at(job)
        if end is None:
            return result
        left = (end - self._now()).total_seconds()
        if left > 0:
            return LookAgain(left)
        version = job["metadata"]["resourceVersion"]
        await self._job_writer.delete(job, propagation="Foreground", resource_version=version)
        return DONE

    def _next_look(self, plan: JobPlan, held: float | None) -> Result:
        waits = [] if held is None else [held]
        if plan.look_again_at is not None:
            waits.append(max((plan.look_again_at - self._now()).total_seconds(), 0.0))
        return LookAgain(min(waits)) if waits else DONE


def _is_uncounted(pod: Obj) -> bool:
    return UNCOUNTED in (pod["metadata"].get("annotations") or {})


def _is_free(job: Obj) -> bool:
    """Whether its pods go anywhere: those that choose are bound by the rule for all pods."""
    spec = job["spec"]["template"]["spec"]
    return not any(
        spec.get(name) for name in ("nodeSelector", "schedulingGates", "affinity", "nodeName")
    ) and (spec.get("schedulerName", "default-scheduler") == "default-scheduler")


def _is_of(pod: Obj, job: Obj) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == job["metadata"]["uid"] and owner.get("controller") for owner in owners)
