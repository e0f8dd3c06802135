"""One process of the controllers, from empty memory to its end."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

from jangar.controllers.engine import Engine
from jangar.controllers.engine_settings import EngineSettings
from jangar.lint.conditions import compile_loop, compile_when
from jangar.processes.controllers import DOMAIN, ShardCoordinator
from kubekit.client.api_client import Client
from kubekit.controller.fence import FencedTransport
from kubekit.controller.manager import Manager, Stage
from kubekit.events.event_recorder import EventRecorder
from kubekit.leases.lease import LeaseTiming
from kubekit.leases.shard_records import SetNames
from kubekit.leases.shard_set import Member
from simulation.faults import Faults
from simulation.simulated_server import SimulatedServer
from simulation.wire import Wire

COMPONENT = "jangar-controllers"


class Life:
    """Runs until it dies, by plan or by `wire.end`. With a `candidate` name it acts on the shards that it holds."""

    def __init__(
        self,
        server: SimulatedServer,
        settings: EngineSettings,
        faults: Faults,
        random: Random,
        start: datetime,
        *,
        candidate: str = "",
        shards: int = 1,
    ) -> None:
        self.died = asyncio.Event()
        self.wire = Wire(server.transport(), faults, random, self.died.set)
        self._server = server
        self._settings = settings
        self._now = _clock(faults, start)
        self._running: Manager | None = None
        self.sharing = self._sharing(candidate, shards) if candidate else None

    async def run(self) -> None:
        manager = self._manager()
        running = asyncio.create_task(manager.run(), name="manager")
        others = [asyncio.create_task(self.died.wait())]
        faults = self.wire.faults
        if faults.die_after is not None:
            others.append(asyncio.create_task(asyncio.sleep(faults.die_after)))
        storm = asyncio.create_task(self._relist_storms(faults))
        try:
            await asyncio.wait({running, *others}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
        finally:
            self.wire.dead = True
            ending = (running, storm, *others)
            for item in ending:
                item.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    def _manager(self) -> Manager:
        client = Client(self.wire, manager=COMPONENT)
        recorder = EventRecorder(client, component=COMPONENT, now=self._now)
        manager = Manager(stop_bound=0.0, service_stop_bound=0.0)
        manager.add_service("events", recorder.run)
        shards = self.sharing.shards if self.sharing is not None else None
        fenced = FencedTransport(self.wire, shards.holds) if shards is not None else self.wire
        engine = Engine(
            Client(fenced, manager=COMPONENT),
            self._settings,
            compile_condition=compile_when,
            compile_loop=compile_loop,
            recorder=recorder,
            now=self._now,
            may_act=shards.accepts if shards is not None else None,
        )
        engine.join(manager)
        if self.sharing is not None:
            self.sharing.attach(engine)
            manager.add_service("shards", self.sharing.shards.run)
        self._running = manager
        return manager

    def _sharing(self, identity: str, shards: int) -> ShardCoordinator:
        return ShardCoordinator(
            Client(self.wire, manager=COMPONENT),
            SetNames(name="leader", namespace="default", domain=DOMAIN),
            member=Member(identity=identity),
            count_if_new=shards,
            now=self._now,
            timing=LeaseTiming(),
            is_ready=lambda: self._running is not None and self._running.stage is Stage.RUNNING,
        )

    async def _relist_storms(self, faults: Faults) -> None:
        loop = asyncio.get_running_loop()
        while faults.compactions and loop.time() < faults.until:
            await asyncio.sleep(faults.compactions)
            await self._server.forget_past()
            self.wire.cut_watches()


def _clock(faults: Faults, start: datetime) -> Callable[[], datetime]:
    loop = asyncio.get_running_loop()
    return lambda: start + timedelta(seconds=loop.time() + faults.clock_offset(loop.time()))
