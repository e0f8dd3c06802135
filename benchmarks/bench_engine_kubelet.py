"""A node that only reports: every pod is bound and has ended with code 0 as soon as it is seen. No processes."""

import asyncio
import contextlib
import sys
from pathlib import Path

import uvloop

from benchmarks.bench_engine_beds import end_pod
from jangar.kube.builtin import PODS
from jangar.kube.client import Client
from jangar.kube.connection import from_kubeconfig
from jangar.kube.errors import ApiError, NotFound
from jangar.kube.http_transport import HttpTransport
from jangar.kube.informer import Change, Informer
from jangar.kube.namespaces import Namespaces

AT_ONCE = 32


class Node:
    """Follows all pods through one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pods = Informer(client, PODS, namespaces=Namespaces.every())
        self._places = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        self._pods.subscribe(self._heard)
        await self._pods.run()

    def _heard(self, change: Change) -> None:
        pod = change.new
        if pod is None or (change.kind != "added" and not pod.is_being_deleted):
            return
        work = self._remove if pod.is_being_deleted else self._live
        task = asyncio.create_task(self._within(work(pod.decode())))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _within(self, work) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        async with self._places:
            with contextlib.suppress(NotFound):
                try:
                    await work
                except ApiError as error:
                    print(error, file=sys.stderr)

    async def _live(self, pod) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        if (pod.get("status") or {}).get("phase", "Pending") == "Pending":
            await end_pod(self._client, pod)

    async def _remove(self, pod) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
        meta = pod["metadata"]
        await self._client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)


async def main() -> None:
    client = Client(HttpTransport(from_kubeconfig(Path(sys.argv[1]))), manager="bench-kubelet")
    await Node(client).run()


if __name__ == "__main__":
    uvloop.run(main())
