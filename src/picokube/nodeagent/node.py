"""Registers the Node object of this machine, removes its not-ready taint and renews its heartbeat."""

import asyncio
import os
import platform
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.builtin import LEASES, NODES
from kubekit.client.errors import AlreadyExists, ApiError, NotFound, is_transient
from picokube.nodeagent import timestamps
from picokube.nodeagent.pods.pod_fields import ADDRESS

ISOLATION = "jangar.proompteng.ai/isolation"
"""Annotation with the isolation level of containers (`supervisor.isolation.Isolation`)."""
NOT_READY = "node.kubernetes.io/not-ready"
LEASE_NAMESPACE = "kube-node-lease"
HEARTBEAT_SECONDS = 10.0
LEASE_SECONDS = 40
RETRY_SECONDS = 0.5


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
    timestamp = timestamps.format_time(now)
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
            "renewTime": self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
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
