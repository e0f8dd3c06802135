"""Reconciles Jobs: plans, creates and deletes pods, writes the status, and deletes Jobs whose TTL has expired."""

import asyncio
import hashlib
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import count

import orjson

from kubekit.cache.object_cache import OWNER_UID, Cache, Cached, Change
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import AlreadyExists, Forbidden, Invalid
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.events.event_recorder import EventRecorder
from kubekit.metadata import controller_reference, is_controlled_by
from picokube.nodeagent.jobs.job_plan import (
    INDEX,
    TRACKING,
    UNCOUNTED,
    JobPlan,
    expires_at,
    is_finished,
    plan_job,
    summarize_pod,
)
from picokube.nodeagent.lifecycle_events import job_changed, pod_created, pod_not_created
from picokube.nodeagent.node import Slots
from picokube.nodeagent.object_writes import Writer

VARIABLE = "JOB_COMPLETION_INDEX"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_BASE_LENGTH = 63 - _SUFFIX_LENGTH - 1
_UNCOUNTED = f'"{UNCOUNTED}"'.encode()
STATUS_DELAY = timedelta(milliseconds=200)
"""Delay of status writes that aren't urgent: a Job that finishes sooner needs one write."""


def pod_names(job: Obj, used: Container[str], index: int | None = None) -> Iterator[str]:
    """Names for the next pods. They depend only on the state of the Job, so a repeated create can't add a pod."""
    status = job.get("status") or {}
    first = int(status.get("succeeded") or 0) + int(status.get("failed") or 0)
    ending = "" if index is None else f"-{index}"
    base = job["metadata"]["name"][: _MAX_BASE_LENGTH - len(ending)].rstrip("-.") + ending
    for number in count(first):
        name = f"{base}-{_suffix(job['metadata']['uid'] + ending, number)}"
        if name not in used:
            yield name


def build_pod(job: Obj, name: str, *, node: str = "", index: int | None = None) -> Obj:
    meta, template = job["metadata"], orjson.loads(orjson.dumps(job["spec"]["template"]))
    template_meta = template.get("metadata") or {}
    finalizers = [finalizer for finalizer in template_meta.get("finalizers") or () if finalizer != TRACKING]
    owner = controller_reference("batch/v1", "Job", meta["name"], meta["uid"])
    pod: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{meta['name']}-",
            "namespace": meta["namespace"],
            "labels": template_meta.get("labels") or {},
            "annotations": template_meta.get("annotations") or {},
            "finalizers": [*finalizers, TRACKING],
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }
    if node and not pod["spec"].get("nodeName"):
        pod["spec"]["nodeName"] = node
    if index is not None:
        _set_index(pod, meta["name"], index)
    return pod


def _set_index(pod: Obj, job_name: str, index: int) -> None:
    """Set the completion index as annotation, label, host name and environment variable."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["generateName"] = f"{job_name}-{index}-"
    for kind in ("annotations", "labels"):
        meta[kind] = {**meta[kind], INDEX: str(index)}
    spec.setdefault("hostname", f"{job_name}-{index}")
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        env = container.setdefault("env", [])
        if all(item["name"] != VARIABLE for item in env):
            env.append({"name": VARIABLE, "valueFrom": source})


def _suffix(uid: str, number: int) -> str:
    value = int.from_bytes(hashlib.sha256(f"{uid}/{number}".encode()).digest()[:8], "big")
    return "".join(_ALPHABET[value // len(_ALPHABET) ** n % len(_ALPHABET)] for n in range(_SUFFIX_LENGTH))


class JobController:
    """Reconciles Jobs."""

    def __init__(
        self,
        client: Client,
        jobs: Cache,
        pods: Cache,
        slots: Slots,
        events: EventRecorder,
        *,
        stop: Callable[[Obj], None],
        gate: UrgentWorkGate,
        now: Callable[[], datetime],
    ) -> None:
        self._stop_pod, self._gate = stop, gate
        self._jobs, self._pods, self._slots, self._events, self._now = jobs, pods, slots, events, now
        self._job_writer, self._pod_writer = Writer(client, JOBS, jobs), Writer(client, PODS, pods)
        self._status_pending_since: dict[str, datetime] = {}

    def pod_needs_reconcile(self, change: Change) -> bool:
        """Whether a pod's change matters to its Job: not if the Job just created it, or is finished and counted it."""
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
        cached_pods = self._pods_of(cached.uid)
        if is_finished(job):
            # Many changes come after a Job has finished. Decode only the pods that still need work.
            cached_pods = [pod for pod in cached_pods if TRACKING in pod.finalizers or _UNCOUNTED in pod.raw]
        pods = {pod.name: pod.decode() for pod in cached_pods}
        plan = plan_job(job, [summarize_pod(pod) for pod in pods.values()], now=self._now())
        stopped = plan.uncounted_deletes and await self._stop(pods[pod.name] for pod in plan.delete)
        if stopped and self._gate.is_on:
            # The pods are stopping. Deleting them and writing the status can wait until all others are stopping, too.
            return RequeueAfter(0.0)
        surplus = {pod.name for pod in plan.delete}
        await self._delete(job, [pod for name, pod in pods.items() if name in surplus or _is_uncounted(pod)])
        await self._create_pods(job, pods, plan)
        delay = await self._write_status(job, plan)
        if delay is None:
            await asyncio.gather(
                *(self._pod_writer.remove_finalizer(pods[pod.name], TRACKING) for pod in plan.release)
            )
        return await self._expire(job, self._requeue(plan, delay))

    def _pods_of(self, uid: str) -> list[Cached]:
        return [
            item for item in self._pods.by(OWNER_UID, uid) if item.controller and item.controller.uid == uid
        ]

    async def _stop(self, pods: Iterable[Obj]) -> bool:
        """Stop tracked pods before they are deleted, and mark them as uncounted. Whether there were any."""
        tracked = [pod for pod in pods if TRACKING in (pod["metadata"].get("finalizers") or ())]
        for pod in tracked:
            await self._pod_writer.remove_finalizer_and_annotate(pod, TRACKING, annotation=UNCOUNTED)
            self._stop_pod(pod)
        return bool(tracked)

    async def _delete(self, job: Obj, pods: Iterable[Obj]) -> None:
        for pod in pods:
            if pod["metadata"].get("deletionTimestamp") is None:
                await self._pod_writer.delete(pod)
                message = f"Deleted pod: {pod['metadata']['name']}"
                self._events.record(job, type="Normal", reason="SuccessfulDelete", message=message)

    async def _create_pods(self, job: Obj, pods: dict[str, Obj], plan: JobPlan) -> None:
        names = pod_names(job, pods)
        for index in plan.indexes or (None,) * plan.create:
            await self._create_pod(job, names if index is None else pod_names(job, pods, index), index)

    async def _create_pod(self, job: Obj, names: Iterator[str], index: int | None) -> None:
        """Create a pod. If a pod of this Job has the name, it was created before: the cache was stale."""
        has_slot = self._slots.reserve()
        try:
            for name in names:
                node = self._slots.node if has_slot and _fits_any_node(job) else ""
                pod = build_pod(job, name, node=node, index=index)
                try:
                    pod_created(self._events, job, await self._pod_writer.create(pod))
                except AlreadyExists:
                    existing = await self._pod_writer.get(
                        pod["metadata"]["namespace"], pod["metadata"]["name"]
                    )
                    if existing is not None and is_controlled_by(existing, job["metadata"]["uid"]):
                        self._pods.record_write(existing)
                        return
                    continue
                except (Forbidden, Invalid) as error:
                    if job["metadata"].get("deletionTimestamp"):
                        return
                    pod_not_created(self._events, job, error)
                    raise
                return
        finally:
            if has_slot:
                self._slots.release()

    async def _write_status(self, job: Obj, plan: JobPlan) -> float | None:
        """Write the status now, or return the seconds to wait before writing it."""
        uid = job["metadata"]["uid"]
        if plan.status is None:
            self._status_pending_since.pop(uid, None)
            return None
        if not plan.is_urgent:
            since = self._status_pending_since.setdefault(uid, self._now())
            delay = (since + STATUS_DELAY - self._now()).total_seconds()
            if delay > 0:
                return delay
        self._status_pending_since.pop(uid, None)
        await self._job_writer.replace_status(job, plan.status)
        job_changed(self._events, job, plan.status)
        return None

    async def _release_orphans(self, key: Key) -> None:
        """Remove the tracking finalizer from the pods of a deleted Job."""
        for pod in self._pods.all(key.namespace):
            owner = pod.controller
            if TRACKING in pod.finalizers and owner and (owner.kind, owner.name) == ("Job", key.name):
                await self._pod_writer.remove_finalizer(pod.decode(), TRACKING)

    async def _expire(self, job: Obj, result: Result) -> Result:
        if not is_finished(job) or job["metadata"].get("deletionTimestamp"):
            return result
        expiry = expires_at(job)
        if expiry is None:
            return result
        remaining = (expiry - self._now()).total_seconds()
        if remaining > 0:
            return RequeueAfter(remaining)
        version = job["metadata"]["resourceVersion"]
        await self._job_writer.delete(job, propagation="Foreground", resource_version=version)
        return DONE

    def _requeue(self, plan: JobPlan, delay: float | None) -> Result:
        delays = [] if delay is None else [delay]
        if plan.requeue_at is not None:
            delays.append(max((plan.requeue_at - self._now()).total_seconds(), 0.0))
        return RequeueAfter(min(delays)) if delays else DONE


def _is_uncounted(pod: Obj) -> bool:
    return UNCOUNTED in (pod["metadata"].get("annotations") or {})


def _fits_any_node(job: Obj) -> bool:
    """Whether the Job's pods have no scheduling constraints and can skip the scheduler."""
    spec = job["spec"]["template"]["spec"]
    return not any(
        spec.get(name) for name in ("nodeSelector", "schedulingGates", "affinity", "nodeName")
    ) and (spec.get("schedulerName", "default-scheduler") == "default-scheduler")
