"""Bed S: the controllers, the embedded server and a scripted cluster in one loop and virtual time, with faults."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from random import seed as seed_everything
from typing import Any

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.controllers.engine_settings import EngineSettings
from jangar.controllers.resources import STEP, resource_of
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.errors import NotFound
from picokube.apiserver.protocol.messages import User
from simulation.faults import Faults
from simulation.lives import Life
from simulation.simulated_cluster import WORK, SimulatedCluster, Work
from simulation.simulated_server import NO_USERS, SimulatedServer, simulated_server
from support.virtual_time import EPOCH, wall_clock

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
    """All parts of a simulation."""

    server: SimulatedServer
    client: Client
    cluster: SimulatedCluster
    random: Random
    settings: EngineSettings
    rng: Random
    """Random source of the users' actions."""
    start: datetime
    lives: list[Life] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

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
        """Wait for the run to match. Reads commits: requests to the server would dominate the cost of a trial."""
        async with asyncio.timeout(seconds):
            looked_at: Mapping[str, Any] | None = None
            while True:
                run = self.server.history.newest("orchestrationruns", name)
                if run is None:
                    raise NotFound(f"run {name} is gone")
                if run is not looked_at and holds(dict(run)):
                    return dict(run)
                looked_at = run
                await self.server.history.next_commit()

    async def ended(self, name: str = "run", *, seconds: float = 600) -> dict[str, Any]:
        return await self.until(
            lambda run: (run.get("status") or {}).get("phase") in ENDED, name, seconds=seconds
        )

    async def over(self, name: str = "run", *, seconds: float = 600) -> None:
        """Wait until the run has ended or is gone."""
        with contextlib.suppress(NotFound):
            await self.ended(name, seconds=seconds)

    async def delete(self, name: str = "run") -> None:
        """Delete an object as a user does."""
        self.server.history.deleted_by_people = True
        with contextlib.suppress(NotFound):
            run = await self.run_object(name)
            await self.client.delete(RUNS, name, NAMESPACE, uid=run["metadata"]["uid"])

    async def job_of(self, name: str, *, seconds: float = 600) -> dict[str, Any]:
        """The newest Job of that step, once it exists."""
        async with asyncio.timeout(seconds):
            while True:
                jobs = [
                    item
                    for item in self.server.history.all_newest("jobs")
                    if item["metadata"]["labels"].get(STEP) == name
                ]
                if jobs:
                    return dict(jobs[-1])
                await self.server.history.next_commit()

    # The controllers' lives.

    def start_controllers(
        self, faults: Faults | None = None, *, candidate: str = "", shards: int = 1
    ) -> Life:
        """Start a new process with empty memory."""
        life = Life(
            self.server,
            self.settings,
            faults or Faults(),
            self.random,
            self.start,
            candidate=candidate,
            shards=shards,
        )
        self.lives.append(life)
        self._tasks.append(asyncio.create_task(life.run(), name=f"life-{len(self.lives)}"))
        return life

    async def dead(self) -> None:
        """Wait until the last started controllers have died."""
        task = self._tasks[-1]
        await asyncio.wait({task})
        task.result()

    async def kill_controllers(self) -> None:
        for life, task in zip(self.lives, self._tasks, strict=True):
            life.wire.dead = True
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stays_alive(self, lives: Sequence[Faults] = ()) -> None:
        """Restart the controllers whenever they have died, until cancelled; the next lives have these faults."""
        coming = iter(lives)
        while True:
            await self.dead()
            await asyncio.sleep(0.1)
            self.start_controllers(next(coming, None))


@asynccontextmanager
async def bed(
    seed: int = 0,
    scripts: Scripts | None = None,
    settings: EngineSettings | None = None,
    *,
    drawn: Callable[[Random], Scripts] | None = None,
    start: datetime = EPOCH,
    node_clock: float = 0.0,
    users: Mapping[str, User] = NO_USERS,
) -> AsyncIterator[Bed]:
    """A bed with a server, a cluster, one tool for each piece of work, and no controllers yet."""
    random, rng = Random(seed), Random(f"people {seed}")  # noqa: S311 - a simulation repeats
    # Jitter of the product itself.
    seed_everything(seed)
    now = wall_clock(start)
    async with simulated_server(random, now, users) as server:
        client = server.client("user")
        cluster = SimulatedCluster(server.client("cluster"), now=now, node_clock=node_clock)
        if scripts is not None:
            cluster.scripts = scripts
        if drawn is not None:
            cluster.scripts = drawn(rng)
        made = Bed(
            server=server,
            client=client,
            cluster=cluster,
            random=random,
            rng=rng,
            start=start,
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
    """A step that does the work of its own name."""
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
