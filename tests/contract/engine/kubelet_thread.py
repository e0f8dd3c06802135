"""The fake kubelet beside a synchronous test: its own loop in its own thread; its manners are changed from outside."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

from kubekit.client.api_client import Client
from kubekit.client.connection import from_kubeconfig
from kubekit.client.http_transport import HttpTransport
from support.fake_kubelet import FakeKubelet, Manners


class KubeletThread:
    """Runs from its making until `stop`, which kills what it started."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig, self._ready = kubeconfig, Event()
        self._thread = Thread(target=lambda: asyncio.run(self._live()), name="fake-kubelet", daemon=True)
        self._thread.start()
        assert self._ready.wait(30), "the fake kubelet did not start"

    @contextlib.contextmanager
    def behaving(self, manners: Manners) -> Iterator[None]:
        """With other manners for a while."""
        usual, self._kubelet.manners = self._kubelet.manners, manners
        try:
            yield
        finally:
            self._kubelet.manners = usual

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)

    async def _live(self) -> None:
        transport = HttpTransport(from_kubeconfig(self._kubeconfig))
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._kubelet = FakeKubelet(Client(transport, manager="fake-kubelet"))
        task = asyncio.create_task(self._kubelet.run())
        self._ready.set()
        await self._over.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await transport.close()
