"""The process `jangar apiserver`: the embedded Kubernetes API server."""

import asyncio
import signal

from jangar.processes.cycle_collector import collecting_when_idle
from jangar.processes.data_files import private_data_directory
from picokube import ApiServerSettings, running


async def serve(settings: ApiServerSettings) -> None:
    """Serve until SIGINT or SIGTERM."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    private_data_directory(settings.data_dir)
    async with running(settings) as server, collecting_when_idle():
        print(f"serving the Kubernetes API at {server.url}", flush=True)  # noqa: T201 - what the user waits for
        print(f"export KUBECONFIG={server.kubeconfig}", flush=True)  # noqa: T201
        await stop.wait()
