"""A simulated cluster for Jobs in virtual time: the Job controller, the TTL controller, a scheduler and a kubelet.

Behaves like a real 1.35. Work is a script: how long it waits, runs and takes to end, its result, and its reaction to
SIGTERM. Every container start is counted: that is the side effect.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from kubekit.cache.informer import Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import AlreadyExists, ApiError, NotFound
from kubekit.times import parse_rfc3339, rfc3339
from support.virtual_time import wall_clock

TRACKING = "batch.kubernetes.io/job-tracking"
WORK = "WORK"
"""The variable with which a test names a piece of work."""
KILLED, TERMINATED = 137, 143


class OnTerm(StrEnum):
    """The reaction of a program to SIGTERM."""

    OBEYS = "ends with 143"
    SUCCEEDS = "ends with 0"
    IGNORES = "keeps running until it is killed"
    HANGS = "cannot even be killed, for a while"


class Fate(StrEnum):
    """Events that affect a pod besides its program."""

    ORDINARY = "nothing"
    EVICTED = "the kubelet evicts it"
    DRAINED = "its node is drained"
    OUT_OF_MEMORY = "its container uses too much memory"
    IMAGE_PULL = "its image is pulled late"
    UNSCHEDULABLE = "no node has room for a while"
    NODE_LOST = "its node falls silent, and is given up a minute later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One piece of work, in seconds."""

    pending: float = 0.05
    runs: float = 1.0
    exit_code: int = 0
    result: str = ""
    on_term: OnTerm = OnTerm.OBEYS
    ends_in: float = 0.1
    fate: Fate = Fate.ORDINARY
    reported_late: float = 0.0
    """Delay of its reported end: the node is unreachable."""


@dataclass(slots=True)
class SimulatedCluster:
    """Runs Jobs. `scripts` are looked up by the name of the work and its number of previous starts."""

    client: Client
    scripts: Callable[[str, int], Work] = lambda _name, _before: Work()
    starts: Counter[str] = field(default_factory=Counter)
    """The number of starts of each piece of work."""
    jobs: Informer = field(init=False)
    pods: Informer = field(init=False)
    now: Callable[[], Any] = field(default_factory=wall_clock)
    node_clock: float = 0.0
    """Seconds by which the node's clock is ahead of true time."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _lives: dict[str, asyncio.Event] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.jobs = Informer(self.client, JOBS, namespaces=Namespaces.every())
        self.pods = Informer(self.client, PODS, namespaces=Namespaces.every())

    async def run(self) -> None:
        self.jobs.subscribe(self._job_changed)
        self.pods.subscribe(self._pod_changed)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.jobs.run())
                group.create_task(self.pods.run())
        finally:
            for task in self._tasks:
                task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            with contextlib.suppress(NotFound, AlreadyExists):
                await work

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The Job controller.

    def _job_changed(self, change: Change) -> None:
        self._look_at(change.new)

    def _look_at(self, job: Cached | None) -> None:
        if job is None:
            return
        if job.uid in self._busy:
            self._again.add(job.uid)
        else:
            self._busy.add(job.uid)
            self._spawn(self._sync(job.namespace, job.name, job.uid))

    async def _sync(self, namespace: str, name: str, uid: str) -> None:
        try:
            while True:
                self._again.discard(uid)
                await asyncio.sleep(0.02)
                job = self.jobs.cache.get(namespace, name)
                if job is None or job.uid != uid:
                    return
                await self._sync_once(job)
                if uid not in self._again:
                    return
        finally:
            self._busy.discard(uid)

    async def _sync_once(self, job: Cached) -> None:
        obj = job.decode()
        pods = [
            item
            for item in self.pods.cache.all(job.namespace)
            if item.controller and item.controller.uid == job.uid
        ]
        conditions = {condition["type"] for condition in obj.get("status", {}).get("conditions") or ()}
        if conditions & {"Complete", "Failed"}:
            self._expire(job, obj)
        elif not job.is_being_deleted:
            await self._advance(job, obj, pods)

    async def _advance(self, job: Cached, obj: Mapping[str, Any], pods: list[Cached]) -> None:
        phases = {item.name: (item.decode().get("status") or {}).get("phase") for item in pods}
        over = [item for item in pods if phases[item.name] in ("Succeeded", "Failed")]
        alive = [item for item in pods if item not in over]
        if obj["spec"].get("suspend"):
            for pod in alive:
                if not pod.is_being_deleted:
                    await self.client.delete(PODS, pod.name, pod.namespace, uid=pod.uid)
            if not alive:
                await self._set_job(job, {"active": 0, "conditions": [self._condition("Suspended")]})
        elif over:
            # The Job controller counts in batches, about a second later.
            await asyncio.sleep(1.0)
            await self._finish(job, good=phases[over[0].name] == "Succeeded")
        elif not pods:
            await self._create_pod(job, obj)

    async def _finish(self, job: Cached, *, good: bool) -> None:
        if good:
            counted = {"succeeded": 1, "completionTime": rfc3339(self.now())}
            conditions = [self._condition("SuccessCriteriaMet"), self._condition("Complete")]
        else:
            counted = {"failed": 1}
            why = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
            conditions = [self._condition("FailureTarget", **why), self._condition("Failed", **why)]
        await self._set_job(
            job,
            {
                "active": 0,
                "terminating": 0,
                "ready": 0,
                "uncountedTerminatedPods": {},
                **counted,
                "conditions": conditions,
            },
        )

    async def _set_job(self, job: Cached, status: dict[str, Any]) -> None:
        started = job.decode().get("status", {}).get("startTime") or rfc3339(self.now())
        if any(condition["type"] == "Suspended" for condition in status.get("conditions", ())):
            body = {"metadata": {"uid": job.uid}, "status": {**status, "startTime": None}}
        else:
            body = {"metadata": {"uid": job.uid}, "status": {"startTime": started, **status}}
        answer = await self.client.patch(
            JOBS, job.name, job.namespace, body, kind=PatchKind.MERGE, subresource="status"
        )
        self.jobs.cache.record_write(answer)

    async def _create_pod(self, job: Cached, obj: Mapping[str, Any]) -> None:
        template = obj["spec"]["template"]
        meta = template.get("metadata") or {}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": f"{job.name}-",
                "namespace": job.namespace,
                "labels": meta.get("labels") or {},
                "finalizers": [*(meta.get("finalizers") or ()), TRACKING],
                "ownerReferences": [
                    {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "name": job.name,
                        "uid": job.uid,
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "spec": {**template["spec"], "nodeName": "node"},
            "status": {"phase": "Pending", "conditions": [self._condition("PodScheduled")]},
        }
        made = await self.client.create(PODS, pod)
        self.pods.cache.record_write(made)
        await self._set_job(job, {"active": 1})

    def _expire(self, job: Cached, obj: Mapping[str, Any]) -> None:
        ttl = obj["spec"].get("ttlSecondsAfterFinished")
        if ttl is not None and not job.is_being_deleted:
            self._spawn(self._delete_later(job, float(ttl)))

    async def _delete_later(self, job: Cached, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with contextlib.suppress(ApiError):
            await self.client.delete(JOBS, job.name, job.namespace, uid=job.uid)

    def _condition(self, kind: str, **more: str) -> dict[str, Any]:
        now = rfc3339(self.now())
        return {"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now, **more}

    # The kubelet.

    def _pod_changed(self, change: Change) -> None:
        pod = change.new
        subject = change.subject
        owner = subject.controller
        self._look_at(self.jobs.cache.get(subject.namespace, owner.name) if owner else None)
        if pod is None:
            return
        if pod.uid not in self._lives:
            self._lives[pod.uid] = asyncio.Event()
            self._spawn(self._live(pod))
        if pod.is_being_deleted:
            self._lives[pod.uid].set()
        phase = (pod.decode().get("status") or {}).get("phase")
        if TRACKING in pod.finalizers and phase in ("Succeeded", "Failed"):
            self._spawn(self._untrack(pod))

    async def _untrack(self, pod: Cached) -> None:
        """The Job controller has counted the pod, or its Job is being deleted."""
        await asyncio.sleep(0.5)
        for _ in range(5):
            now = self.pods.cache.get(pod.namespace, pod.name)
            if now is None or TRACKING not in now.finalizers:
                return
            path = f"/metadata/finalizers/{now.finalizers.index(TRACKING)}"
            body = [
                {"op": "test", "path": "/metadata/uid", "value": pod.uid},
                {"op": "test", "path": path, "value": TRACKING},
                {"op": "remove", "path": path},
            ]
            try:
                await self.client.patch(PODS, pod.name, pod.namespace, body, kind=PatchKind.JSON)
            except NotFound:
                return
            except ApiError:
                await asyncio.sleep(0.05)

    async def _live(self, pod: Cached) -> None:
        container = pod.decode()["spec"]["containers"][0]
        name = next((item["value"] for item in container.get("env") or () if item["name"] == WORK), pod.name)
        work = self.scripts(name, self.starts[name])
        stop = self._lives[pod.uid]
        await self._set_pod(pod, {"startTime": _second(self._node_now())})
        await self._wait_to_start(pod, container, work)
        if await _within(stop.wait(), work.pending):
            await self._report(pod, container, "Failed", None)
            await self._remove(pod)
            return
        self.starts[name] += 1
        began = self._node_now()
        await self._report(pod, container, "Running", {"running": {"startedAt": _second(began)}})
        code = work.exit_code
        finished = None
        if await _within(stop.wait(), work.runs):
            code = await self._stopped(pod, work)
        elif work.reported_late:
            finished = self._node_now()
            await asyncio.sleep(work.reported_late)
        elif work.fate is Fate.NODE_LOST:
            await self._lose_node(pod)
            return
        elif work.fate is not Fate.ORDINARY:
            code = await self._apply_fate(pod, work)
        ended = {
            "exitCode": code,
            "reason": "OOMKilled"
            if code == KILLED and work.fate is Fate.OUT_OF_MEMORY
            else "Completed"
            if code == 0
            else "Error",
            "startedAt": _second(began),
            "finishedAt": _second(finished or self._node_now()),
            **({"message": work.result} if work.result else {}),
        }
        await self._report(pod, container, "Running", {"terminated": ended})
        # The sandbox is torn down before the pod's phase changes.
        await asyncio.sleep(0.5)
        await self._report(pod, container, "Failed" if code else "Succeeded", {"terminated": ended})
        await stop.wait()
        await self._remove(pod)

    def _node_now(self) -> Any:
        return self.now() + timedelta(seconds=self.node_clock)

    async def _wait_to_start(self, pod: Cached, container: Mapping[str, Any], work: Work) -> None:
        match work.fate:
            case Fate.IMAGE_PULL:
                waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
                await self._report(pod, container, "Pending", {"waiting": waiting})
            case Fate.UNSCHEDULABLE:
                condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                await self._set_pod(pod, {"phase": "Pending", "conditions": [condition]})
            case _:
                pass

    async def _apply_fate(self, pod: Cached, work: Work) -> int:
        """End a pod without a stop request; return the exit code of its container."""
        match work.fate:
            case Fate.EVICTED:
                await self._set_pod(
                    pod,
                    {
                        "reason": "Evicted",
                        "message": "The node was low on resource: memory.",
                        "conditions": [self._condition("DisruptionTarget", reason="TerminationByKubelet")],
                    },
                )
                return KILLED
            case Fate.DRAINED:
                await self._disrupt(pod, "EvictionByEvictionAPI")
                await asyncio.sleep(work.ends_in)
                return TERMINATED
            case Fate.OUT_OF_MEMORY:
                return KILLED
            case _:
                return work.exit_code

    async def _disrupt(self, pod: Cached, reason: str) -> None:
        await self._set_pod(pod, {"conditions": [self._condition("DisruptionTarget", reason=reason)]})
        await self.client.delete(PODS, pod.name, pod.namespace, uid=pod.uid)

    async def _lose_node(self, pod: Cached) -> None:
        """Taints evict the pod, the node does not respond, and the pod garbage collector deletes it."""
        await self._disrupt(pod, "DeletionByTaintManager")
        await asyncio.sleep(60)
        await self._set_pod(
            pod,
            {
                "phase": "Failed",
                "conditions": [self._condition("DisruptionTarget", reason="DeletionByPodGC")],
            },
        )
        await self._remove(pod)

    async def _stopped(self, pod: Cached, work: Work) -> int:
        match work.on_term:
            case OnTerm.HANGS:
                await asyncio.sleep(work.ends_in)
                return KILLED
            case OnTerm.IGNORES:
                grace = 30.0
                now = self.pods.cache.get(pod.namespace, pod.name)
                if now is not None:
                    grace = float(now.decode()["metadata"].get("deletionGracePeriodSeconds") or 0)
                await asyncio.sleep(grace)
                return KILLED
            case OnTerm.SUCCEEDS:
                await asyncio.sleep(work.ends_in)
                return 0
            case OnTerm.OBEYS:
                await asyncio.sleep(work.ends_in)
                return TERMINATED

    async def _report(
        self, pod: Cached, container: Mapping[str, Any], phase: str, state: dict[str, Any] | None
    ) -> None:
        status: dict[str, Any] = {"phase": phase}
        if state is not None:
            status["containerStatuses"] = [
                {
                    "name": container["name"],
                    "image": container.get("image", ""),
                    "imageID": "",
                    "ready": "running" in state,
                    "restartCount": 0,
                    "state": state,
                }
            ]
        await self._set_pod(pod, status)

    async def _set_pod(self, pod: Cached, status: dict[str, Any]) -> None:
        body = {"metadata": {"uid": pod.uid}, "status": status}
        await self.client.patch(
            PODS, pod.name, pod.namespace, body, kind=PatchKind.MERGE, subresource="status"
        )

    async def _remove(self, pod: Cached) -> None:
        with contextlib.suppress(ApiError):
            await self.client.delete(PODS, pod.name, pod.namespace, uid=pod.uid, grace_seconds=0)


async def _within(event: Coroutine[Any, Any, Any], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event
    except TimeoutError:
        return False
    return True


def _second(moment: Any) -> str:
    """Timestamps of Kubernetes have whole seconds."""
    return rfc3339(parse_rfc3339(rfc3339(moment)) - timedelta(microseconds=moment.microsecond))
