"""The loop of the supervisor: orders in, processes out, ends recorded and then told.

It never ends because this machine lacks something: a start that cannot be done now is refused with a reason, an end
that cannot be recorded yet is held and told.
"""

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from picokube.nodeagent.supervisor import journal as facts
from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.connection import Connection
from picokube.nodeagent.supervisor.container import Container, prepared
from picokube.nodeagent.supervisor.container_init import exit_code
from picokube.nodeagent.supervisor.crash_recovery import settle
from picokube.nodeagent.supervisor.isolation import Isolation
from picokube.nodeagent.supervisor.journal import Journal
from picokube.nodeagent.supervisor.orders import (
    Refusal,
    Run,
    RunKey,
    StartContainer,
    order_from_json,
    run_to_json,
)
from picokube.nodeagent.supervisor.resources import Room
from picokube.nodeagent.supervisor.spawn import NotStarted, Refused

MAX_WAIT = 3600.0
"""Seconds of one wait: the kernel takes no more than 24 days, and a grace period may be longer."""
LINGER = 0.5
"""Seconds that an idle supervisor waits for an agent before it goes."""
START_ERROR = 128
STARTS_AT_ONCE = 8
"""Init processes that prepare their containers side by side."""
RETRY_SECONDS = 1.0
"""After so long, what could not be recorded is tried again."""
PAUSE_SECONDS = 0.1
DISK_FULL = Refusal(
    reason="DiskFull",
    message="the start cannot be recorded, because the data directory's disk is full; it is tried again",
)
NO_MEMORY = Refusal(
    reason="OutOfMemory", message="the supervisor has no memory left; the start is tried again"
)


def log(text: str) -> None:
    """To `supervisor.log`; a full disk costs the line."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n")
        sys.stderr.flush()


class Daemon:
    """Starts, watches and ends containers; everything it tells was recorded before."""

    def __init__(self, directory: Path, listener: socket.socket, isolation: Isolation, files: int) -> None:
        """`files` is the soft limit of open files that containers get."""
        self._boot = kernel.boot_id()
        self._journal = Journal(directory / "journal")
        settle(self._journal, self._boot)
        self._containers: dict[RunKey, Container] = {}
        self._by_pid: dict[int, Container] = {}
        self._connections: dict[int, Connection] = {}
        self._orders: list[tuple[Connection, int, StartContainer]] = []
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._idle_since = time.monotonic()
        self._wake = _wake_on_children()
        self._isolation, self._files = isolation, files
        self._retry_at = 0.0
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woken)

    def run(self) -> None:
        """Until nobody is connected, nothing runs and everything is recorded."""
        while not self._is_done():
            try:
                self._pass()
            except (OSError, MemoryError):
                log(f"supervisor pass failed\n{traceback.format_exc()}")
                time.sleep(PAUSE_SECONDS)

    def _pass(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            key.data(key.fd)
        self._start_ordered()
        self._reap()
        self._kill_overdue()
        if self._journal.is_behind and time.monotonic() >= self._retry_at:
            self._retry_at = time.monotonic() + RETRY_SECONDS
            self._journal.sync()
        for connection in list(self._connections.values()):
            self._flush(connection)

    def _patience(self) -> float | None:
        now = time.monotonic()
        waits = [each.kill_at - now for each in self._containers.values() if each.kill_at is not None]
        if self._journal.is_behind:
            waits.append(self._retry_at - now)
        elif not self._connections and not self._containers:
            waits.append(self._idle_since + LINGER - now)
        return min(max(min(waits), 0), MAX_WAIT) if waits else None

    def _is_done(self) -> bool:
        if self._connections or self._containers or self._journal.is_behind:
            self._idle_since = time.monotonic()
            return False
        return time.monotonic() >= self._idle_since + LINGER

    def _accept(self, _fd: int) -> None:
        connection = Connection(self._listener.accept()[0])
        self._connections[connection.fd] = connection
        self._selector.register(connection.fd, selectors.EVENT_READ, self._read)
        welcome = {
            "pid": os.getpid(),
            "namespaces": self._isolation.has_mounts,
            "isolation": str(self._isolation),
            "runs": [run_to_json(run) for run in self._journal.memory.runs.values()],
        }
        connection.send({"welcome": welcome})

    def _read(self, fd: int) -> None:
        connection = self._connections.get(fd)
        if connection is None:
            return
        for request in connection.receive():
            self._answer(connection, request)
        self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        wanted = connection.flush()
        if connection.is_closed:
            self._selector.unregister(connection.fd)
            del self._connections[connection.fd]
            connection.close()
        elif wanted != connection.wants_to_write:
            connection.wants_to_write = wanted
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
            self._selector.modify(connection.fd, events, self._read)

    def _answer(self, connection: Connection, request: dict[str, Any]) -> None:
        match request:
            case {"start": order, "id": int(number)}:
                self._orders.append((connection, number, order_from_json(order)))
            case {"stop": key, "grace": float(grace) | int(grace)}:
                if (container := self._containers.get(RunKey(*key))) is not None:
                    container.stop(grace)
            case {"forget": pod}:
                self._forget(pod)
            case _:
                connection.is_closed = True

    def _forget(self, pod: str) -> None:
        """Only what is over can be forgotten."""
        runs = [run for key, run in self._journal.memory.runs.items() if key.pod == pod]
        if runs and all(run.is_over for run in runs):
            self._journal.write(facts.forgotten(pod))
            self._journal.shorten()

    def _start_ordered(self) -> None:
        """Intents first, all of them durable at once; what is known already is not started again."""
        orders, self._orders = self._orders, []
        if not orders:
            return
        known = self._journal.memory.runs
        new = {order.key: order for _, _, order in orders if order.key not in known}
        refused: dict[RunKey, Refusal] = {}
        try:
            self._start_all(list(new.values()), refused)
        except MemoryError:
            log("no memory to start containers")
        for connection, number, order in orders:
            run = known.get(order.key)
            if run is not None:
                connection.send({"id": number, "run": run_to_json(run)})
            else:
                refusal = refused.get(order.key, NO_MEMORY)
                connection.send({"id": number, "refused": [refusal.reason, refusal.message]})

    def _start_all(self, orders: list[StartContainer], refused: dict[RunKey, Refusal]) -> None:
        room = Room(len(self._containers))
        fitting = []
        for order in orders:
            if (refusal := room.take(order.user)) is None:
                fitting.append(order)
            else:
                refused[order.key] = refusal
        now = time.time()
        if not self._journal.attempt([facts.intended(order.key, self._boot, now) for order in fitting]):
            refused |= dict.fromkeys((order.key for order in fitting), DISK_FULL)
            return
        for start in range(0, len(fitting), STARTS_AT_ONCE):
            refused |= self._start_some(fitting[start : start + STARTS_AT_ONCE])

    def _start_some(self, orders: list[StartContainer]) -> dict[RunKey, Refusal]:
        """Side by side. No program starts before the process that will run it is recorded."""
        refused: dict[RunKey, Refusal] = {}
        made = prepared(orders, self._isolation, self._files)
        for container in made:
            if isinstance(container, Container):
                birth = kernel.birth(container.pid)
                self._journal.write(facts.started(container.key, container.pid, birth, container.started_at))
                container.go()
        for order, container in zip(orders, made, strict=True):
            try:
                if not isinstance(container, Container):
                    raise container
                container.confirm()
            except NotStarted as error:
                self._not_started(order.key, error.message)
            except Refused as error:
                refused[order.key] = error.refusal
                self._journal.write(facts.withdrawn(order.key))
            else:
                self._keep(container)
        return refused

    def _not_started(self, key: RunKey, message: str) -> None:
        run = replace(
            self._journal.memory.runs[key],
            state="ended",
            code=START_ERROR,
            finished_at=time.time(),
            reason="StartError",
            message=message,
        )
        self._journal.write(facts.over(run))
        self._journal.sync()
        self._tell(run)

    def _keep(self, container: Container) -> None:
        self._containers[container.key] = self._by_pid[container.pid] = container
        for fd in container.pipes:
            self._selector.register(fd, selectors.EVENT_READ, self._output_of(container))

    def _output_of(self, container: Container) -> Callable[[int], None]:
        def take(fd: int) -> None:
            if fd in container.pipes and not container.take(fd):
                self._selector.unregister(fd)

        return take

    def _woken(self, fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(fd, 4096)

    def _reap(self) -> None:
        """Ends are recorded together and told, then made durable: whatever follows from an end is, too, by itself.

        A status that tells it is durable where it is stored, and the next start syncs this journal before it happens.
        """
        ended: list[Run] = []
        while (pid := _ended_child()) is not None:
            container = self._by_pid.pop(pid, None)
            if container is not None:
                ended.append(self._close(container))
            with contextlib.suppress(ChildProcessError):
                status = os.waitpid(pid, 0)[1]
                if container is not None:
                    ended[-1] = replace(ended[-1], code=exit_code(status))
        if not ended:
            return
        self._kill_strays()
        for run in ended:
            self._journal.write(facts.over(run))
        for run in ended:
            self._tell(self._journal.memory.runs[run.key])
        for connection in list(self._connections.values()):
            self._flush(connection)
        self._journal.sync()

    def _close(self, container: Container) -> Run:
        for fd in container.pipes:
            self._selector.unregister(fd)
        finished_at = time.time()
        container.close()
        del self._containers[container.key]
        run = self._journal.memory.runs[container.key]
        return replace(run, state="ended", finished_at=finished_at)

    def _tell(self, run: Run) -> None:
        for connection in self._connections.values():
            connection.send({"run": run_to_json(run)})

    def _kill_strays(self) -> None:
        """Every container has an init process that is ours: another child of ours has lost its own."""
        for pid in kernel.children(os.getpid()):
            if pid not in self._by_pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for container in self._containers.values():
            if container.kill_at is not None and container.kill_at <= now:
                container.kill()
                container.kill_at = None


def _ended_child() -> int | None:
    """One that can be reaped; it is left so that its number stays its own."""
    with contextlib.suppress(ChildProcessError):
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found.si_pid if found is not None else None
    return None


def _wake_on_children() -> int:
    """A pipe that becomes readable when a child ends. Handlers do nothing: an ignored signal would be inherited."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    return reader
