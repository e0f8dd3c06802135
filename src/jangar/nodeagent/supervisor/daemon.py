"""The loop of the supervisor: orders in, processes out, ends recorded and then told."""

import contextlib
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from jangar.nodeagent.supervisor import journal as facts
from jangar.nodeagent.supervisor import kernel, mount_namespace
from jangar.nodeagent.supervisor.connection import Connection
from jangar.nodeagent.supervisor.container import Container, exit_code, started_together
from jangar.nodeagent.supervisor.journal import Journal
from jangar.nodeagent.supervisor.leftovers import settle
from jangar.nodeagent.supervisor.orders import Order, Run, RunKey, order_from_json, run_to_json
from jangar.nodeagent.supervisor.spawn import NotStarted

LINGER = 0.5
"""Seconds that an idle supervisor waits for an agent before it goes."""
START_ERROR = 128


class Daemon:
    """Starts, watches and ends containers; everything it tells was recorded before."""

    def __init__(self, directory: Path, listener: socket.socket) -> None:
        self._boot = kernel.boot_id()
        self._journal = Journal(directory / "journal")
        settle(self._journal, self._boot)
        self._containers: dict[RunKey, Container] = {}
        self._by_pid: dict[int, Container] = {}
        self._connections: dict[int, Connection] = {}
        self._orders: list[tuple[Connection, int, Order]] = []
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._idle_since = time.monotonic()
        self._wake = _wake_on_children()
        self._namespaces = mount_namespace.works()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woken)

    def run(self) -> None:
        """Until nobody is connected and nothing runs."""
        while not self._is_done():
            for key, _ in self._selector.select(self._patience()):
                key.data(key.fd)
            self._start_ordered()
            self._reap()
            self._kill_overdue()
            for connection in list(self._connections.values()):
                self._flush(connection)

    def _patience(self) -> float | None:
        now = time.monotonic()
        waits = [each.kill_at - now for each in self._containers.values() if each.kill_at is not None]
        if not self._connections and not self._containers:
            waits.append(self._idle_since + LINGER - now)
        return max(min(waits), 0) if waits else None

    def _is_done(self) -> bool:
        if self._connections or self._containers:
            self._idle_since = time.monotonic()
            return False
        return time.monotonic() >= self._idle_since + LINGER

    def _accept(self, _fd: int) -> None:
        with contextlib.suppress(OSError):
            connection = Connection(self._listener.accept()[0])
            self._connections[connection.fd] = connection
            self._selector.register(connection.fd, selectors.EVENT_READ, self._read)
            runs = [run_to_json(run) for run in self._journal.memory.runs.values()]
            connection.send({"welcome": {"pid": os.getpid(), "namespaces": self._namespaces, "runs": runs}})

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
        known = self._journal.memory.runs
        new = [order for _, _, order in orders if order.key not in known]
        for order in new:
            self._journal.write(facts.intended(order.key, self._boot, time.time()))
        if new:
            self._journal.sync()
        self._start_all(list({order.key: order for order in new}.values()))
        for connection, number, order in orders:
            connection.send({"id": number, "run": run_to_json(known[order.key])})

    def _start_all(self, orders: list[Order]) -> None:
        for order, started in zip(orders, started_together(orders), strict=True):
            match started:
                case Container():
                    self._keep(order, started)
                case NotStarted(message=message):
                    run = replace(
                        self._journal.memory.runs[order.key],
                        state="ended",
                        code=START_ERROR,
                        finished_at=time.time(),
                        reason="StartError",
                        message=message,
                    )
                    self._end(run)

    def _keep(self, order: Order, container: Container) -> None:
        self._containers[order.key] = self._by_pid[container.pid] = container
        birth = kernel.birth(container.pid)
        self._journal.write(facts.started(order.key, container.pid, birth, container.started_at))
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

    def _end(self, run: Run) -> None:
        self._journal.write(facts.over(run))
        self._journal.sync()
        self._tell(run)

    def _tell(self, run: Run) -> None:
        for connection in self._connections.values():
            connection.send({"run": run_to_json(run)})

    def _kill_strays(self) -> None:
        """Processes that left their group and outlived their container."""
        live = {container.key.id for container in self._containers.values()}
        for pid in kernel.children():
            if pid not in self._by_pid and (owner := kernel.owner_of(pid)) is not None and owner not in live:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for container in self._containers.values():
            if container.kill_at is not None and container.kill_at <= now:
                container.signal(signal.SIGKILL)
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
