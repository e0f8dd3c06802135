"""One process of the controllers, from an empty memory to its end."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

from jangar.controllers.engine import Engine, EngineSettings
from jangar.kube.client import Client
from jangar.kube.event_recorder import EventRecorder
from jangar.kube.lease import Elector
from jangar.kube.manager import Manager
from jangar.lint.conditions import compile_when
from simulation.faults import Faults
from simulation.simulated_server import SimulatedServer
from simulation.wire import Wire

COMPONENT = "jangar-controllers"


class Life:
    """Runs until it dies, by plan or by `wire.end`. With a `candidate` name it acts only while it holds the lease."""

    def __init__(
        self,
        server: SimulatedServer,
        settings: EngineSettings,
        faults: Faults,
        random: Random,
        start: datetime,
        *,
        candidate: str = "",
    ) -> None:
        self.died = asyncio.Event()
        self.wire = Wire(server.transport(), faults, random, self.died.set)
        self._server = server
        self._settings = settings
        self._now = _clock(faults, start)
        self.elector = self._elector(candidate, random) if candidate else None

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
            for each in ending:
                each.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    def _manager(self) -> Manager:
        client = Client(self.wire, manager=COMPONENT)
        recorder = EventRecorder(client, component=COMPONENT, now=self._now)
        manager = Manager(stop_bound=0.0, service_stop_bound=0.0)
        manager.add_service("events", recorder.run)
        elector = self.elector
        engine = Engine(
            client,
            self._settings,
            compile_condition=compile_when,
            recorder=recorder,
            now=self._now,
            may_act=(lambda _: elector.holds()) if elector else None,
        )
        engine.join(manager)
        if elector is not None:
            manager.add_service("lease", elector.run)
            elector.subscribe(lambda _, held: _on_lease(engine, held=held))
        return manager

    def _elector(self, identity: str, random: Random) -> Elector:
        return Elector(
            Client(self.wire, manager=COMPONENT),
            name="leader",
            namespace="default",
            identity=identity,
            now=self._now,
            random=random.random,
        )

    async def _relist_storms(self, faults: Faults) -> None:
        loop = asyncio.get_running_loop()
        while faults.compactions and loop.time() < faults.until:
            await asyncio.sleep(faults.compactions)
            await self._server.forget_past()
            self.wire.cut_watches()


def _on_lease(engine: Engine, *, held: bool) -> None:
    for controller in engine.controllers:
        if held:
            controller.enqueue_all()
        else:
            controller.abandon_lost()


def _clock(faults: Faults, start: datetime) -> Callable[[], datetime]:
    loop = asyncio.get_running_loop()
    return lambda: start + timedelta(seconds=loop.time() + faults.clock_offset(loop.time()))
