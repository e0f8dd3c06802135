"""Nodes that run nothing: pods end with code 0 as soon as they are seen. One follows pods, one follows Jobs."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvloop

from kubekit.cache.informer import Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.connection import from_kubeconfig
from kubekit.client.errors import ApiError, NotFound
from kubekit.client.http_transport import HttpTransport
from kubekit.client.resource import Resource

SIDE_BY_SIDE = 32


class Node:
    """Follows all objects of a kind; what is to be done about each is done side by side."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._informer = Informer(client, resource, namespaces=Namespaces.every())
        self._places = asyncio.Semaphore(SIDE_BY_SIDE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        self._informer.subscribe(self._on_change)
        await self._informer.run()

    def _on_change(self, change: Change) -> None:
        if change.new is not None and (change.kind == "added" or change.new.is_being_deleted):
            task = asyncio.create_task(self._within(self._live(change.new.decode())))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _within(self, work: Awaitable[None]) -> None:
        async with self._places:
            with contextlib.suppress(NotFound):
                try:
                    await work
                except ApiError as error:
                    print(error, file=sys.stderr)

    async def _live(self, obj: Mapping[str, Any]) -> None:
        raise NotImplementedError

    async def _end(self, pod: Mapping[str, Any]) -> None:
        """Report the pod's only container as terminated, in one write."""
        meta = pod["metadata"]
        body = {"metadata": {"uid": meta["uid"]}, "status": _ended(pod)}
        await self._client.patch(
            PODS, meta["name"], meta["namespace"], body, kind=PatchKind.STRATEGIC, subresource="status"
        )


class PodsAtOnce(Node):
    """Pods created by another client."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, PODS)

    async def _live(self, obj: Mapping[str, Any]) -> None:
        meta = obj["metadata"]
        if meta.get("deletionTimestamp"):
            await self._client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)
        elif (obj.get("status") or {}).get("phase", "Pending") == "Pending":
            await self._end(obj)


class JobsAtOnce(Node):
    """Jobs whose one pod is made here, too."""

    def __init__(self, client: Client) -> None:
        super().__init__(client, JOBS)

    async def _live(self, obj: Mapping[str, Any]) -> None:
        meta, template = obj["metadata"], obj["spec"]["template"]
        if meta.get("deletionTimestamp"):
            return
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **template["metadata"],
                "name": f"{meta['name'][:240]}-0",
                "namespace": meta["namespace"],
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
        }
        await self._end(await self._client.create(PODS, pod))


def _ended(pod: Mapping[str, Any]) -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    container = pod["spec"]["containers"][0]
    return {
        "phase": "Succeeded",
        "startTime": now,
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container.get("image", ""),
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {
                    "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
                },
            }
        ],
    }


async def main() -> None:
    await PodsAtOnce(Client(HttpTransport(from_kubeconfig(Path(sys.argv[1]))), manager="bench-kubelet")).run()


if __name__ == "__main__":
    uvloop.run(main())
