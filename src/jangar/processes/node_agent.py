"""The process `jangar node-agent`: runs the Jobs, CronJobs and Pods of a Kubernetes API as local processes."""

import socket
from dataclasses import dataclass
from pathlib import Path

from jangar import __version__
from jangar.processes.data_files import private_data_directory
from jangar.processes.lifecycle import on_stop_signal
from jangar.processes.own_program import own_programs
from kubekit.client.api_client import Client
from kubekit.client.connection import default
from kubekit.controller.watchdog import Watchdog
from kubekit.steady_clock import SteadyClock
from picokube import NodeAgent, NodeAgentSettings

FALLBACK_NAME = "laptop"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAgentProcess:
    """Command-line options of the node agent."""

    data_dir: Path
    kubeconfig: Path | None = None
    context: str = ""
    node_name: str = ""
    max_pods: int = 110
    keep_logs_seconds: float = 60.0
    mount_namespaces: bool = True


def host_name() -> str:
    """The host name if it is a valid object name, otherwise `laptop`."""
    name = socket.gethostname().lower()
    allowed = all(letter.isascii() and (letter.isalnum() or letter in "-.") for letter in name)
    return name if name and allowed and name[0].isalnum() and name[-1].isalnum() else FALLBACK_NAME


async def serve(settings: NodeAgentProcess) -> None:
    """Run until SIGINT or SIGTERM. Containers keep running, and the next node agent re-adopts them."""
    from kubekit.client.http_transport import HttpTransport  # noqa: PLC0415 - slow import that a laptop does not need

    private_data_directory(settings.data_dir)
    clock = SteadyClock()
    connection = default(settings.kubeconfig, settings.context)
    transport = HttpTransport(connection)
    agent = NodeAgent(
        Client(transport, manager="jangar-node-agent"),
        NodeAgentSettings(
            data_dir=settings.data_dir,
            node_name=settings.node_name or host_name(),
            max_pods=settings.max_pods,
            keep_logs_seconds=settings.keep_logs_seconds,
            mount_namespaces=settings.mount_namespaces,
            programs=own_programs(),
            version=__version__,
            api_server=connection.server,
        ),
        now=clock.now,
    )
    agent.manager.use_watchdog(Watchdog())
    agent.manager.add_service("clock", clock.run)
    clock.on_set.append(agent.manager.clock_was_set)
    on_stop_signal(agent.manager.stop)
    print(f"running pods of node {settings.node_name or host_name()}", flush=True)  # noqa: T201 - what the user waits for
    try:
        await agent.run()
    finally:
        await transport.close()
