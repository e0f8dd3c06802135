"""The processes `jangar apiserver` and `jangar node-agent`: the two parts of the embedded Kubernetes on their own."""

import asyncio
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import jangar
import kubekit
from jangar import __version__
from jangar.processes.data_directory import private_data_directory
from jangar.processes.lifecycle import collecting_when_idle, on_stop_signal
from kubekit.client.api_client import Client
from kubekit.client.connection import default
from kubekit.controller.watchdog import Watchdog
from kubekit.steady_clock import SteadyClock
from picokube import ApiServerSettings, HostProgram, NodeAgent, NodeAgentSettings, running

NAME = "jangar"
FALLBACK_NODE_NAME = "laptop"


async def serve_api_server(settings: ApiServerSettings) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    on_stop_signal(stop.set)
    private_data_directory(settings.data_dir)
    async with running(settings) as server, collecting_when_idle():
        print(f"serving the Kubernetes API at {server.url}", flush=True)  # noqa: T201 - what the user waits for
        print(f"export KUBECONFIG={server.kubeconfig}", flush=True)  # noqa: T201
        await stop.wait()


def own_program() -> HostProgram | None:
    """The `jangar` next to the interpreter, with the directories it needs; None if it is not installed there."""
    path = Path(sys.executable).with_name(NAME)
    if not path.exists():
        return None
    packages = [str(Path(package.__path__[0]).absolute()) for package in (jangar, kubekit)]
    return HostProgram(path=str(path), needs=(sys.base_prefix, sys.prefix, *packages))


def own_command() -> str:
    """The command that starts `jangar` regardless of PATH."""
    program = own_program()
    return program.path if program is not None else NAME


def own_programs() -> tuple[HostProgram, ...]:
    """The programs that containers may start."""
    program = own_program()
    return () if program is None else (program,)


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
    return name if name and allowed and name[0].isalnum() and name[-1].isalnum() else FALLBACK_NODE_NAME


async def run_node_agent(settings: NodeAgentProcess) -> None:
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
