"""Binds pods to the only node, and reports why a pod can't be scheduled."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from kubekit.cache.object_cache import Cache
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import PODS
from kubekit.client.errors import Conflict, NotFound
from kubekit.client.resource import Resource
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent import timestamps
from picokube.nodeagent.conditions import find, with_condition
from picokube.nodeagent.lifecycle_events import pod_not_scheduled, pod_scheduled
from picokube.nodeagent.slots import Slots
from picokube.nodeagent.writes import Writer

DEFAULT_SCHEDULER = "default-scheduler"
REQUEUE_SECONDS = 30.0


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
        old = find((pod.get("status") or {}).get("conditions"), "PodScheduled")
        if old is not None and old.get("message") == reason:
            return
        if reason:
            pod_not_scheduled(self._events, pod, reason)
        new = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": reason,
            "lastTransitionTime": timestamps.format_time(self._now()),
        }
        conditions = with_condition((pod.get("status") or {}).get("conditions") or [], new)
        await self._writer.patch_status(pod, {"conditions": conditions})
