"""The process `jangar apiserver`: the embedded Kubernetes API server."""

import asyncio

from jangar.processes.data_files import private_data_directory
from jangar.processes.lifecycle import collecting_when_idle, on_stop_signal
from picokube import ApiServerSettings, running


async def serve(settings: ApiServerSettings) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    private_data_directory(settings.data_dir)
    async with running(settings) as server, collecting_when_idle():
        print(f"serving the Kubernetes API at {server.url}", flush=True)  # noqa: T201 - what the user waits for
        print(f"export KUBECONFIG={server.kubeconfig}", flush=True)  # noqa: T201
        await stop.wait()
