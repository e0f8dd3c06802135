"""Starts and stops the services, informers and controllers of a process in order, and reports its health.

Services (the event recorder, the elector) start first and stop last; informers follow, and controllers when the
informers are synced. If a component fails, the process exits with the reason, because a partial control plane does more
harm than none. A service that lacks a resource is restarted instead, because a new process would lack it too.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kubekit.cache.informer import Informer
from kubekit.controller.controller import Controller
from kubekit.controller.watchdog import Watchdog
from kubekit.controller.workqueue import Backoff

log = logging.getLogger(__name__)


SHORTAGE_BACKOFF = Backoff(first=0.1, limit=10.0)
NO_THREAD = "can't start new thread"


class PartFailed(Exception):
    """A component of the process ended unexpectedly; its error is the cause."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part} {reason}")
        self.part = part
        self.reason = reason


class Stage(StrEnum):
    """Lifecycle stage of the process."""

    STARTING = "starting"
    SYNCING = "syncing"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class _Service:
    name: str
    run: Callable[[], Awaitable[None]]


class Manager:
    """Runs services, informers and controllers until `stop` is called or one of them fails."""

    def __init__(
        self, *, stop_bound: float = 20.0, service_stop_bound: float = 10.0, informer_silence: float = 900.0
    ) -> None:
        self.stage = Stage.STARTING
        self._stop_bound = stop_bound
        self._service_stop_bound = service_stop_bound
        self._informer_silence = informer_silence
        self._services: list[_Service] = []
        self._informers: dict[str, Informer] = {}
        self._controllers: list[Controller] = []
        self._ready_checks: list[Callable[[], Iterable[str]]] = []
        self._stopping = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._reported: set[asyncio.Task[None]] = set()

    def add_service(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Run a coroutine for the lifetime of the process; it is cancelled last and has a timeout for cleanup."""
        self._services.append(_Service(name, run))

    def add_informer(self, name: str, informer: Informer) -> None:
        """Run an informer; health messages and metrics use `name`."""
        self._informers[name] = informer

    def add_controller(self, controller: Controller) -> None:
        """Run a controller once every informer is synced."""
        self._controllers.append(controller)

    def add_ready_check(self, ready: Callable[[], Iterable[str]]) -> None:
        """Add a check that returns reasons why the process is not ready."""
        self._ready_checks.append(ready)

    def use_watchdog(self, watchdog: Watchdog) -> None:
        """Watch the passes of all controllers; call it after adding them."""
        self.add_service("watchdog", watchdog.run)
        for controller in self._controllers:
            controller.watchdog = watchdog

    @property
    def informers(self) -> dict[str, Informer]:
        """The informers by name."""
        return dict(self._informers)

    @property
    def controllers(self) -> list[Controller]:
        """The controllers in the order in which they were added."""
        return list(self._controllers)

    def stop(self) -> None:
        """Request a graceful stop, after which `run` returns. Safe in a signal handler of the loop."""
        self._stopping.set()

    def clock_was_set(self) -> None:
        """Enqueue all delayed keys at once: they may be due by the new time."""
        for controller in self._controllers:
            controller.queue.release_delayed()

    async def run(self) -> None:
        """Start all components, run until stopped, and stop them. Raises PartFailed if one ends early."""
        try:
            self._start_services()
            self._start_informers()
            if await self._until_synced():
                self._start_controllers()
                await self._unless_stopped(None)
        finally:
            await self._stop_all()

    def ready(self) -> list[str]:
        """Reasons why the process is not ready; empty if it is."""
        if self.stage in {Stage.STOPPING, Stage.STOPPED}:
            return [f"the process is {self.stage}"]
        reasons = [
            f"informer {name} has not synced"
            for name, informer in self._informers.items()
            if not informer.has_synced
        ]
        reasons += [
            f"informer {name} may be stale: no response from the API server for {informer.age():.0f} s"
            for name, informer in self._informers.items()
            if informer.has_synced and informer.age() > informer.longest_silence
        ]
        if self.stage is Stage.STARTING:
            reasons.append("the process is starting")
        reasons += [reason for check in self._ready_checks for reason in check()]
        return reasons

    def alive(self) -> list[str]:
        """Reasons to restart the process; empty if it is healthy."""
        reasons = [
            f"informer {name} has had no response from the API server for {informer.age():.0f} s"
            for name, informer in self._informers.items()
            if informer.age() > self._informer_silence
        ]
        for controller in self._controllers:
            reasons += controller.problems()
        return reasons

    def _start_services(self) -> None:
        for service in self._services:
            self._start(f"service {service.name}", _run_service(service))

    def _start_informers(self) -> None:
        self.stage = Stage.SYNCING
        for name, informer in self._informers.items():
            self._start(f"informer {name}", informer.run())

    def _start_controllers(self) -> None:
        self.stage = Stage.RUNNING
        log.info("informers synced", extra={"informers": len(self._informers)})
        for controller in self._controllers:
            self._start(f"controller {controller.name}", controller.run())

    def _start(self, name: str, work: Awaitable[None]) -> None:
        self._tasks[asyncio.create_task(_finish(work), name=name)] = name

    async def _until_synced(self) -> bool:
        async def sync() -> None:
            for informer in self._informers.values():
                await informer.synced()

        return await self._unless_stopped(sync())

    async def _unless_stopped(self, work: Awaitable[None] | None) -> bool:
        """Whether the work completed; False if `stop` was called first. Raises PartFailed if a component ended."""
        stopping = asyncio.create_task(_finish(self._stopping.wait()), name="stop requested")
        watched: set[asyncio.Task[None]] = {stopping}
        working: asyncio.Task[None] | None = None
        if work is not None:
            working = asyncio.create_task(_finish(work), name="work until stopped")
            watched.add(working)
        try:
            await asyncio.wait([*watched, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
            self._raise_for_ended()
            if working is not None and working.done():
                working.result()
                return not stopping.done()
            return False
        finally:
            for task in watched:
                task.cancel()
            await asyncio.wait(watched)

    def _raise_for_ended(self) -> None:
        for task, name in self._tasks.items():
            if task.done():
                error = None if task.cancelled() else task.exception()
                self._reported.add(task)
                reason = "ended" if error is None else f"failed: {_first_cause(error)}"
                raise PartFailed(name, reason) from error

    async def _stop_all(self) -> None:
        self.stage = Stage.STOPPING
        controllers = self._named("controller ")
        for controller in self._controllers:
            controller.stop()
        if controllers:
            _, late = await asyncio.wait(controllers, timeout=self._stop_bound)
            if late:
                log.warning(
                    "passes canceled; stop timeout exceeded",
                    extra={"controllers": sorted(self._tasks[task] for task in late)},
                )
            await self._end(controllers)
        await self._end(self._named("informer "))
        # In reverse order: a service may need one that was started before it.
        for task in reversed(self._named("service ")):
            await self._end([task])
        self.stage = Stage.STOPPED

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        """Cancel the tasks and wait for them. Further failures are only logged; the first one was raised already."""
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        done, late = await asyncio.wait(tasks, timeout=self._service_stop_bound)
        for task in done - self._reported:
            if not task.cancelled() and (error := task.exception()) is not None:
                log.warning(
                    "component failed while stopping", extra={"part": self._tasks[task]}, exc_info=error
                )
        for task in late:
            log.warning("component did not stop in time", extra={"part": self._tasks[task]})

    def _named(self, prefix: str) -> list[asyncio.Task[None]]:
        return [task for task, name in self._tasks.items() if name.startswith(prefix)]


async def _finish(work: Awaitable[object]) -> None:
    await work


async def _run_service(service: _Service) -> None:
    """Run the service; restart it with backoff if it fails for lack of a resource."""
    failures = 0
    while True:
        try:
            await service.run()
        except Exception as error:
            if not is_shortage(error):
                raise
            wait = SHORTAGE_BACKOFF.delay(failures, random.random)
            failures += 1
            log.warning(
                "service failed; restarting",
                extra={"service": service.name, "reason": _first_cause(error), "retry_in": round(wait, 1)},
            )
            await asyncio.sleep(wait)
        else:
            return


def is_shortage(error: BaseException) -> bool:
    """Whether the operating system lacks a resource: descriptors, disk space, memory or threads."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_shortage(exception) for exception in error.exceptions)
    return isinstance(error, OSError | MemoryError) or (
        isinstance(error, RuntimeError) and NO_THREAD in str(error)
    )


def _first_cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
