"""The process `jangar up`: Kubernetes API, node agent and controllers in one event loop, with one data directory.

The controllers and the node agent call the API in process; kubectl and other clients use TLS. Containers belong to the
node agent's supervisor, a separate process that outlives this one; the next `jangar up` re-adopts them.
"""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from jangar import __version__
from jangar.processes.controllers import COMPONENT, engine, health
from jangar.processes.data_directory import DataDirectory, Instance, InstanceLock
from jangar.processes.embedded_kubernetes import host_name, own_command, own_programs
from jangar.processes.laptop_http import HOST, Page, page_served, with_state
from jangar.processes.laptop_kinds import ensure_kinds
from jangar.processes.laptop_work import Stopped, live_pods, stop_work
from jangar.processes.lifecycle import collecting_when_idle, on_stop_signal
from jangar.processes.shortages import machine_at, machine_problems, shortage
from jangar.settings.controllers import controller_settings, startup_warnings
from jangar.settings.laptop import LaptopSettings
from jangar.settings.variables import read as read_settings
from jangar.store.urls import SqliteFile
from jangar.telemetry.metrics import Metrics
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.asgi_transport import App, AsgiTransport
from kubekit.client.transport import ObservedTransport
from kubekit.controller.manager import Manager
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.watchdog import Watchdog
from kubekit.serving.readiness import with_readiness
from kubekit.steady_clock import SteadyClock
from kubekit.times import rfc3339_seconds
from picokube import ApiServerSettings, NodeAgent, NodeAgentSettings, Running, running

log = logging.getLogger("jangar.laptop")

READY_SECONDS: Final = 60.0
SHORTAGE_SECONDS: Final = 2.0
"""How long startup waits for a resource that the machine lacks; running work may release it."""
POLL_SECONDS: Final = 0.005
STOP_SECONDS: Final = 20.0
STOP_MARGIN: Final = 5.0
"""Seconds that stopping all work may take beyond the cancel timeout."""


STARTING: Final[Mapping[str, Sequence[str]]] = {
    "api": (),
    "kinds": ("not installed yet",),
    "node agent": ("starting",),
    "controllers": ("starting",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Laptop:
    """Options of the local control plane."""

    place: DataDirectory
    max_pods: int = 110
    mount_namespaces: bool = True
    stop_work: bool = False
    """Whether to stop all workloads when this process stops."""
    web_port: int | None = None
    """Port of the web page; None uses the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What was stopped at exit, and how many pods keep running."""

    going_on: int
    stopped: Stopped | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    client: Client
    agent: NodeAgent
    controllers: Manager
    metrics: Metrics
    storage_problems: Callable[[], Sequence[str]]
    directory: Path

    def problems(self) -> Mapping[str, Sequence[str]]:
        """The problems of each component."""
        return {
            "api": self.storage_problems(),
            "node agent": [*self.agent.manager.ready(), *self.agent.manager.alive()],
            "controllers": [*self.controllers.ready(), *self.controllers.alive()],
        }

    def state(self) -> Mapping[str, Sequence[str]]:
        """The problems of each component and of the machine."""
        return {**self.problems(), "machine": machine_problems(machine_at(self.directory), self.directory)}


async def serve(
    laptop: Laptop,
    listener: socket.socket,
    holding: InstanceLock,
    on_ready: Callable[[Instance], None],
    environment: Mapping[str, str] = os.environ,
) -> End:
    """Run until SIGINT, SIGTERM or SIGHUP. Raises the error of a component that fails."""
    stop = asyncio.Event()
    on_stop_signal(stop.set, signal.SIGHUP)
    started_at = datetime.now(UTC)
    page = Page.of(
        laptop.place, laptop.web_port or read_settings(LaptopSettings, environment).web_port or None
    )
    parts: list[_Parts] = []
    token = ""

    def front(kubernetes: App) -> App:
        """Add the readiness and state routes. The components they report on start later."""
        ready = with_readiness(kubernetes, lambda: parts[0].problems() if parts else STARTING)
        return with_state(ready, lambda: parts[0].state() if parts else STARTING, lambda: token)

    settings = ApiServerSettings(data_dir=laptop.place.directory, kubeconfig=laptop.place.kubeconfig)
    clock = SteadyClock()
    async with running(settings, listener=listener, front=front, clock=clock) as server:
        token = server.token
        async with _started(laptop, server, environment, clock) as started, collecting_when_idle():
            parts.append(started)
            instance = Instance(
                pid=os.getpid(),
                started_at=rfc3339_seconds(started_at),
                version=__version__,
                server=server.url,
                kubeconfig=str(server.kubeconfig),
                data_dir=str(laptop.place.directory),
                url=page.url,
            )
            holding.publish(instance)
            on_ready(instance)
            async with page_served(page, server, parts=started.state, metrics=started.metrics.text):
                await stop.wait()
            return await _stop(laptop, started.client, stop, environment)


@asynccontextmanager
async def _started(
    laptop: Laptop, server: Running, environment: Mapping[str, str], clock: SteadyClock
) -> AsyncIterator[_Parts]:
    """Run the node agent and the controllers; yields when both are ready. The controllers stop first."""
    settings = controller_settings(environment)
    for warning in startup_warnings(settings, environment):
        log.warning("questionable setting", extra={"problem": warning})
    metrics = Metrics()
    transports = [AsgiTransport(server.application, token=server.token, user_agent=name) for name in AGENTS]
    client = Client(transports[0], manager="jangar")
    urgent_work = UrgentWorkGate()
    agent = _agent(laptop, server.url, transports[1], urgent_work, clock)
    agent.manager.use_watchdog(Watchdog())
    controllers = engine(
        ObservedTransport(transports[2], metrics.requested),
        replace(
            settings, leader_election_enabled=False, runner_image=settings.workload_image or RUNNER_IMAGE
        ),
        own=Namespaces.every(),
        runner=(own_command(), "runner"),
        data_dir=laptop.place.directory,
        metrics=metrics,
        urgent_work=urgent_work,
        history=SqliteFile(laptop.place.history),
        clock=clock,
    )
    clock.on_set.append(agent.manager.clock_was_set)
    async with _running(agent.run, agent.manager, "node agent"):
        # The node agent does not need the CRDs: its supervisor starts while they are checked.
        if await ensure_kinds(client, laptop.place.kinds):
            log.info("custom resource definitions installed")
        async with (
            _running(controllers.run, controllers, "controllers"),
            health(settings, controllers, metrics),
        ):
            parts = _Parts(
                client=client,
                agent=agent,
                controllers=controllers,
                metrics=metrics,
                storage_problems=server.storage_problems,
                directory=laptop.place.directory,
            )
            await _until_ready(parts)
            yield parts
    for transport in transports:
        await transport.close()


RUNNER_IMAGE: Final = "jangar"
"""A pod must name an image, although local processes have none."""
AGENTS: Final = ("jangar-up", "jangar-node-agent", COMPONENT)


def _agent(
    laptop: Laptop, server: str, transport: AsgiTransport, urgent_work: UrgentWorkGate, clock: SteadyClock
) -> NodeAgent:
    return NodeAgent(
        Client(transport, manager="jangar-node-agent"),
        NodeAgentSettings(
            data_dir=laptop.place.directory,
            node_name=host_name(),
            max_pods=laptop.max_pods,
            mount_namespaces=laptop.mount_namespaces,
            programs=own_programs(),
            version=__version__,
            api_server=server,
        ),
        now=clock.now,
        urgent_work=urgent_work,
    )


@asynccontextmanager
async def _running(run: Callable[[], Awaitable[None]], manager: Manager, name: str) -> AsyncIterator[None]:
    """Run a component while the block runs. If it ends first, cancel the block and raise the component's error."""
    body = asyncio.current_task()
    ended_early = False

    def cancel_block(_: asyncio.Task[None]) -> None:
        nonlocal ended_early
        if not stopping and body is not None:
            ended_early = True
            body.cancel()

    stopping = False
    task = asyncio.ensure_future(run())
    task.set_name(name)
    task.add_done_callback(cancel_block)
    try:
        yield
    except asyncio.CancelledError:
        if ended_early and body is not None and body.uncancel() == 0:
            await task
            raise RuntimeError(f"{name} stopped unexpectedly") from None
        raise
    finally:
        stopping = True
        manager.stop()
        await asyncio.wait({task}, timeout=STOP_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _until_ready(parts: _Parts) -> None:
    """Wait until every component is ready. Raises TimeoutError, or earlier the error of a resource shortage."""
    loop, link = asyncio.get_running_loop(), parts.agent.link
    started_at = loop.time()
    while not link.is_up or any(parts.problems().values()):
        waited = loop.time() - started_at
        if waited > SHORTAGE_SECONDS and link.problem is not None and shortage(link.problem) is not None:
            raise link.problem
        if waited > READY_SECONDS:
            raise TimeoutError(_not_ready_message(parts)) from link.problem
        await asyncio.sleep(POLL_SECONDS)


def _not_ready_message(parts: _Parts) -> str:
    reasons = [f"{name}: {problem}" for name, problems in parts.problems().items() for problem in problems]
    if parts.agent.link.problem is not None:
        reasons.append(f"supervisor: {parts.agent.link.problem}")
    return f"not ready after {READY_SECONDS:.0f} s: {'; '.join(reasons) or 'the supervisor did not respond'}"


async def _stop(laptop: Laptop, client: Client, stop: asyncio.Event, environment: Mapping[str, str]) -> End:
    """Stop all work if that was requested; a second signal skips waiting for it."""
    stopped = None
    if laptop.stop_work:
        stop.clear()
        timeout = controller_settings(environment).cancel_timeout.total_seconds() + STOP_MARGIN
        stopping = asyncio.ensure_future(stop_work(client, seconds=timeout))
        second_signal = asyncio.ensure_future(stop.wait())
        await asyncio.wait({stopping, second_signal}, return_when=asyncio.FIRST_COMPLETED)
        second_signal.cancel()
        stopped = stopping.result() if stopping.done() else None
        stopping.cancel()
    return End(going_on=len(await live_pods(client)), stopped=stopped)


__all__ = ["HOST", "End", "Laptop", "serve"]
