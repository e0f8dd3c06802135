"""Registers the Node of this machine and renews its heartbeat, counts its free pod slots, and binds pods to it."""

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from kubekit.cache.object_cache import Cache, Cached, Change
from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.builtin import LEASES, NODES, PODS
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound, is_transient
from kubekit.client.resource import Resource
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder
from kubekit.metadata import find_condition, with_condition
from kubekit.times import rfc3339_microseconds, rfc3339_seconds
from picokube.nodeagent.lifecycle_events import pod_not_scheduled, pod_scheduled
from picokube.nodeagent.object_writes import TERMINAL_PHASES, Writer
from picokube.nodeagent.pods.environment import ADDRESS

ISOLATION = "jangar.proompteng.ai/isolation"
"""Annotation with the isolation level of containers (`supervisor.isolation.Isolation`)."""
NOT_READY = "node.kubernetes.io/not-ready"
LEASE_NAMESPACE = "kube-node-lease"
HEARTBEAT_SECONDS = 10.0
LEASE_SECONDS = 40
RETRY_SECONDS = 0.5
DEFAULT_SCHEDULER = "default-scheduler"
REQUEUE_SECONDS = 30.0


class Slots:
    """A slot is used by an unfinished pod on the node, or reserved for a pod that is being created."""

    def __init__(self, node: str, max_pods: int) -> None:
        self.node = node
        self.max_pods = max_pods
        self._used: set[str] = set()
        self._reserved = 0

    @property
    def free(self) -> int:
        return self.max_pods - len(self._used) - self._reserved

    def reserve(self) -> bool:
        """Reserve a slot for a pod that is about to be created. Call `release` in any case."""
        if self.free <= 0:
            return False
        self._reserved += 1
        return True

    def release(self) -> None:
        self._reserved -= 1

    def observe(self, change: Change) -> bool:
        """Update the used slots. Whether a slot became free."""
        if change.new is not None and occupies(change.new, self.node):
            self._used.add(change.new.uid)
            return False
        before = len(self._used)
        self._used.discard(change.subject.uid)
        return len(self._used) < before


def occupies(cached: Cached, node: str) -> bool:
    pod = cached.view
    return (pod.get("spec") or {}).get("nodeName") == node and (pod.get("status") or {}).get(
        "phase"
    ) not in TERMINAL_PHASES


def node_labels(name: str) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": platform.system().lower(),
        "kubernetes.io/arch": {"x86_64": "amd64", "aarch64": "arm64"}.get(
            platform.machine(), platform.machine()
        ),
    }


def node_status(name: str, *, max_pods: int, version: str, boot: str, now: datetime) -> Obj:
    capacity = {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 1024}Ki",
        "pods": str(max_pods),
    }
    timestamp = rfc3339_seconds(now)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "AgentReady",
        "message": "node agent is running pods as local processes",
        "lastHeartbeatTime": timestamp,
        "lastTransitionTime": timestamp,
    }
    return {
        "capacity": capacity,
        "allocatable": dict(capacity),
        "conditions": [ready],
        "addresses": [{"type": "InternalIP", "address": ADDRESS}, {"type": "Hostname", "address": name}],
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": boot,
            "kernelVersion": platform.release(),
            "osImage": f"{platform.system()} (local processes)",
            "containerRuntimeVersion": f"process://{version}",
            "kubeletVersion": f"jangar-{version}",
            "kubeProxyVersion": "",
            "operatingSystem": platform.system().lower(),
            "architecture": node_labels(name)["kubernetes.io/arch"],
        },
    }


class NodeRegistration:
    """Keeps the Node registered and ready."""

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        max_pods: int,
        version: str,
        boot: str,
        isolation: Callable[[], Awaitable[str]],
        now: Callable[[], datetime],
    ) -> None:
        """`isolation` waits until the isolation level is known."""
        self._client, self._name, self._now, self._isolation = client, name, now, isolation
        self._status_args: dict[str, Any] = {"max_pods": max_pods, "version": version, "boot": boot}

    async def run(self) -> None:
        """Register, then renew the heartbeat until canceled."""
        await self._retry(self.register)
        isolation = await self._isolation()
        await self._retry(lambda: self._annotate({ISOLATION: isolation}))
        while True:
            await self._retry(self._renew_lease)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def register(self) -> None:
        status = node_status(self._name, now=self._now(), **self._status_args)
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self._name, "labels": node_labels(self._name)},
            "status": status,
        }
        try:
            node = await self._client.create(NODES, body)
        except AlreadyExists:
            node = await self._client.get(NODES, self._name)
        taints = [taint for taint in node["spec"].get("taints") or () if taint.get("key") != NOT_READY]
        await self._patch(node, {"spec": {"taints": taints or None}}, "")
        await self._patch(node, {"status": status}, "status")

    async def _annotate(self, annotations: dict[str, str]) -> None:
        node = await self._client.get(NODES, self._name)
        body = {"metadata": {"uid": node["metadata"]["uid"], "annotations": annotations}}
        await self._client.patch(NODES, self._name, None, body, kind=PatchKind.MERGE)

    async def _patch(self, node: Obj, change: Obj, subresource: str) -> None:
        body = {"metadata": {"uid": node["metadata"]["uid"]}, **change}
        await self._client.patch(NODES, self._name, None, body, kind=PatchKind.MERGE, subresource=subresource)

    async def _renew_lease(self) -> None:
        spec = {
            "holderIdentity": self._name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": rfc3339_microseconds(self._now()),
        }
        try:
            lease = await self._client.get(LEASES, self._name, LEASE_NAMESPACE)
        except NotFound:
            meta = {"name": self._name, "namespace": LEASE_NAMESPACE}
            body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": meta, "spec": spec}
            await self._client.create(LEASES, body)
            return
        body = {"metadata": {"uid": lease["metadata"]["uid"]}, "spec": spec}
        await self._client.patch(LEASES, self._name, LEASE_NAMESPACE, body, kind=PatchKind.MERGE)

    async def _retry(self, operation: Callable[[], Any]) -> None:
        while True:
            try:
                await operation()
            except ApiError as error:
                if not is_transient(error) and not isinstance(error, (AlreadyExists, NotFound)):
                    raise
            else:
                return
            await asyncio.sleep(RETRY_SECONDS)


def unschedulable_reason(
    pod: Mapping[str, Any], labels: Mapping[str, str], *, free: int, max_pods: int
) -> str:
    """Why a pod can't be bound now. Empty if it can."""
    selector = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    if free <= 0:
        return f"0/1 nodes are available: 1 Too many pods (the limit is {max_pods}, see --max-pods)."
    return ""


def is_schedulable(pod: Mapping[str, Any]) -> bool:
    """Whether the pod is unbound, not gated or deleted, and uses the default scheduler."""
    spec = pod["spec"]
    if spec.get("nodeName") or spec.get("schedulingGates") or pod["metadata"].get("deletionTimestamp"):
        return False
    return bool(spec.get("schedulerName", DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER)


class Scheduler:
    """Reconciles unbound pods."""

    def __init__(
        self,
        client: Client,
        pods: Cache,
        slots: Slots,
        *,
        labels: Mapping[str, str],
        events: EventRecorder,
        now: Callable[[], datetime],
    ) -> None:
        self._client, self._pods, self._slots, self._labels, self._now = client, pods, slots, labels, now
        self._events = events
        self._writer = Writer(client, PODS, pods)
        self._waiting: dict[Key, str] = {}
        """Creation timestamps of pods that wait for a slot."""

    async def reconcile(self, key: Key) -> Result:
        cached = self._pods.get(key.namespace, key.name)
        pod = cached.decode() if cached is not None else None
        if pod is None or not is_schedulable(pod):
            self._waiting.pop(key, None)
            return DONE
        reason = unschedulable_reason(pod, self._labels, free=self._slots.free, max_pods=self._slots.max_pods)
        if reason or not self._slots.reserve():
            self._waiting[key] = pod["metadata"].get("creationTimestamp", "")
            await self._mark_unschedulable(pod, reason)
            return RequeueAfter(REQUEUE_SECONDS)
        try:
            await self._bind(pod)
        finally:
            self._slots.release()
        self._waiting.pop(key, None)
        return DONE

    def next_pods(self) -> list[Key]:
        """The oldest waiting pods, as many as there are free slots."""
        return sorted(self._waiting, key=lambda key: (self._waiting[key], key))[: max(self._slots.free, 0)]

    async def _bind(self, pod: Obj) -> None:
        meta = pod["metadata"]
        # Binding is a subresource of the pod.
        bindings = Resource("", "v1", f"pods/{meta['name']}/binding", "Binding")
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self._slots.node},
        }
        try:
            await self._client.create(bindings, body)
        except (NotFound, Conflict):
            return
        pod_scheduled(self._events, pod, self._slots.node)
        bound = await self._writer.get(meta["namespace"], meta["name"])
        if bound is not None:
            self._pods.record_write(bound)

    async def _mark_unschedulable(self, pod: Obj, reason: str) -> None:
        old = find_condition((pod.get("status") or {}).get("conditions"), "PodScheduled")
        if old is not None and old.get("message") == reason:
            return
        if reason:
            pod_not_scheduled(self._events, pod, reason)
        new = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": reason,
            "lastTransitionTime": rfc3339_seconds(self._now()),
        }
        conditions = with_condition((pod.get("status") or {}).get("conditions") or [], new)
        await self._writer.patch_status(pod, {"conditions": conditions})
