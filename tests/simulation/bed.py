"""Bed S: the controllers, the embedded server and a scripted cluster in one loop and virtual time, with faults."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.engine import Engine, EngineSettings
from jangar.controllers.resources import resource_of
from jangar.kube.client import Client, PatchKind
from jangar.kube.errors import NotFound
from jangar.kube.event_recorder import EventRecorder
from jangar.kube.manager import Manager
from jangar.kube.namespaces import Namespaces
from jangar.lint.conditions import compile_when
from simulation.faults import Faults, Wire
from simulation.simulated_cluster import WORK, SimulatedCluster, Work
from simulation.simulated_server import SimulatedServer, simulated_server
from support.virtual_time import wall_clock

NAMESPACE = "default"
HERE = Namespaces.of(NAMESPACE)
RUNS = resource_of(ORCHESTRATION_RUN)
ORCHESTRATIONS = resource_of(ORCHESTRATION)
TOOLS = resource_of(TOOL)
TOOL_RUNS = resource_of(TOOL_RUN)
ENDED = ("Succeeded", "Failed", "Cancelled")
Scripts = Callable[[str, int], Work]


@dataclass(slots=True)
class Bed:
    """Everything that a simulation touches."""

    server: SimulatedServer
    client: Client
    cluster: SimulatedCluster
    random: Random
    settings: EngineSettings
    lives: list[Wire] = field(default_factory=list)
    _life: asyncio.Task[None] | None = None

    async def create(self, resource: Any, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
        return await self.client.create(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": dict(spec),
            },
        )

    async def orchestration(self, name: str, steps: Sequence[Mapping[str, Any]], **spec: Any) -> None:
        await self.create(ORCHESTRATIONS, name, {"steps": list(steps), **spec})

    async def start_run(self, name: str = "run", orchestration: str = "o", **spec: Any) -> None:
        await self.create(RUNS, name, {"orchestrationRef": {"name": orchestration}, **spec})

    async def run_object(self, name: str = "run") -> dict[str, Any]:
        return await self.client.get(RUNS, name, NAMESPACE)

    async def cancel(self, name: str = "run") -> None:
        run = await self.run_object(name)
        body = {"metadata": {"uid": run["metadata"]["uid"]}, "spec": {"cancel": True}}
        await self.client.patch(RUNS, name, NAMESPACE, body, kind=PatchKind.MERGE)

    async def until(
        self, holds: Callable[[dict[str, Any]], bool], name: str = "run", *, seconds: float = 600
    ) -> dict[str, Any]:
        """The run as soon as that holds; looked at often, because virtual time costs nothing."""
        async with asyncio.timeout(seconds):
            while True:
                run = await self.run_object(name)
                if holds(run):
                    return run
                await asyncio.sleep(0.02)

    async def ended(self, name: str = "run", *, seconds: float = 600) -> dict[str, Any]:
        return await self.until(
            lambda run: (run.get("status") or {}).get("phase") in ENDED, name, seconds=seconds
        )

    # The controllers' lives.

    def start_controllers(self, faults: Faults | None = None) -> Wire:
        """A new process with empty memory."""
        died = asyncio.Event()
        wire = Wire(self.server.transport(), faults or Faults(), self.random, died.set)
        self.lives.append(wire)
        self._life = asyncio.create_task(self._live(wire, died), name=f"life-{len(self.lives)}")
        return wire

    async def _live(self, wire: Wire, died: asyncio.Event) -> None:
        client = Client(wire, manager="jangar-controllers")
        now = wall_clock()
        recorder = EventRecorder(client, component="jangar-controllers", now=now)
        manager = Manager(stop_bound=0.0, service_stop_bound=0.0)
        manager.add_service("events", recorder.run)
        engine = Engine(client, self.settings, compile_condition=compile_when, recorder=recorder, now=now)
        engine.join(manager)
        running = asyncio.create_task(manager.run(), name="manager")
        dying = asyncio.create_task(died.wait())
        try:
            await asyncio.wait({running, dying}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
        finally:
            wire.dead = True
            dying.cancel()
            running.cancel()
            await asyncio.gather(running, dying, return_exceptions=True)

    async def dead(self) -> None:
        """Until the controllers have died."""
        assert self._life is not None
        await asyncio.wait({self._life})
        self._life.result()

    async def kill_controllers(self) -> None:
        if self.lives:
            self.lives[-1].dead = True
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)

    async def stays_alive(self) -> bool:
        """Start the controllers anew whenever they have died, until cancelled."""
        while True:
            await self.dead()
            await asyncio.sleep(0.1)
            self.start_controllers()


@asynccontextmanager
async def bed(
    seed: int = 0, scripts: Scripts | None = None, settings: EngineSettings | None = None
) -> AsyncIterator[Bed]:
    """A bed with a server, a cluster, one tool for each piece of work, and no controllers yet."""
    random = Random(seed)  # noqa: S311 - a simulation repeats
    async with simulated_server(random) as server:
        client = server.client("user")
        cluster = SimulatedCluster(server.client("cluster"))
        if scripts is not None:
            cluster.scripts = scripts
        made = Bed(
            server=server,
            client=client,
            cluster=cluster,
            random=random,
            settings=settings or EngineSettings(orchestrations=HERE, supporting=HERE),
        )
        await made.create(
            TOOLS,
            "work",
            {
                "image": "none",
                "command": ["work"],
                "env": [{"name": WORK, "value": "{{ parameters.work }}"}],
            },
        )
        node = asyncio.create_task(cluster.run(), name="cluster")
        try:
            yield made
        finally:
            await made.kill_controllers()
            node.cancel()
            await asyncio.gather(node, return_exceptions=True)
        assert server.failures == []


def step(name: str, *needs: str, work: str = "", **more: Any) -> dict[str, Any]:
    """A step of an orchestration that does the work of its own name."""
    given = {"work": work or name, **more.pop("given", {})}
    return {
        "name": name,
        "kind": "ToolRun",
        "toolRef": {"name": "work"},
        "dependsOn": list(needs),
        "with": given,
        **more,
    }


async def exists(read: Awaitable[Any]) -> bool:
    with contextlib.suppress(NotFound):
        await read
        return True
    return False
