"""The fake kubelet for synchronous tests: its own event loop in a thread; tests can change its behavior."""

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
    """Runs from construction until `stop`, which kills what it started."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig, self._ready = kubeconfig, Event()
        self._thread = Thread(target=lambda: asyncio.run(self._live()), name="fake-kubelet", daemon=True)
        self._thread.start()
        assert self._ready.wait(30), "the fake kubelet did not start"

    @contextlib.contextmanager
    def behaving(self, manners: Manners) -> Iterator[None]:
        """Use another behavior for the duration of the block."""
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
