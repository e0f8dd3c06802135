"""The event loop of the supervisor: receives requests, starts containers, and records and reports their ends.

It survives exhausted resources: a start that is not possible now is refused with a reason, and an end that can't be
written is kept in memory and reported.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kubekit.times import from_epoch, rfc3339_seconds
from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.container import (
    Container,
    StartDeferred,
    StartFailed,
    exit_code,
    prepare_containers,
)
from picokube.nodeagent.supervisor.isolation import Isolation
from picokube.nodeagent.supervisor.journal import (
    Journal,
    ended_entry,
    forgotten_entry,
    intended_entry,
    recover,
    started_entry,
    withdrawn_entry,
)
from picokube.nodeagent.supervisor.kernel import Capacity
from picokube.nodeagent.supervisor.protocol import (
    Refusal,
    Run,
    RunKey,
    StartContainer,
    run_to_json,
    start_request_from_json,
)

CHUNK = 256 * 1024
MAX_WAIT = 3600.0
"""Seconds of one wait: the kernel's maximum is 24 days, and a grace period may be longer."""
IDLE_SECONDS = 0.5
"""An idle supervisor waits this long for an agent before it exits."""
START_ERROR = 128
STARTS_AT_ONCE = 8
"""Number of init processes that prepare their containers in parallel."""
RETRY_SECONDS = 1.0
"""Delay before journal entries that couldn't be written are retried."""
PAUSE_SECONDS = 0.1
DISK_FULL = Refusal(
    reason="DiskFull",
    message="the start can't be recorded because the data directory's disk is full; retrying",
)
NO_MEMORY = Refusal(reason="OutOfMemory", message="the supervisor is out of memory; retrying the start")


class Connection:
    """Buffers messages that can't be sent yet."""

    def __init__(self, peer: socket.socket) -> None:
        peer.setblocking(False)
        self._peer = peer
        self._in = b""
        self._out = bytearray()
        self.fd = peer.fileno()
        self.is_closed = False
        self.wants_to_write = False

    def send(self, message: dict[str, Any]) -> None:
        self._out += json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def receive(self) -> Iterator[dict[str, Any]]:
        try:
            data = self._peer.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.is_closed = True
            return
        *lines, self._in = (self._in + data).split(b"\n")
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                self.is_closed = True

    def flush(self) -> bool:
        """Send as much as possible. Whether data remains."""
        while self._out and not self.is_closed:
            try:
                del self._out[: self._peer.send(self._out)]
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.is_closed = True
        return bool(self._out)

    def close(self) -> None:
        self._peer.close()


def log(text: str) -> None:
    """Write a line to `supervisor.log`. Does nothing if the disk is full."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{rfc3339_seconds(from_epoch(time.time()))} {text}\n")
        sys.stderr.flush()


class Daemon:
    """Starts, watches and stops containers. Records everything before it reports it."""

    def __init__(self, directory: Path, listener: socket.socket, isolation: Isolation, files: int) -> None:
        """`files` is the soft limit of open files for containers."""
        self._boot = kernel.boot_id()
        self._journal = Journal(directory / "journal")
        recover(self._journal, self._boot)
        self._containers: dict[RunKey, Container] = {}
        self._by_pid: dict[int, Container] = {}
        self._connections: dict[int, Connection] = {}
        self._start_requests: list[tuple[Connection, int, StartContainer]] = []
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._idle_since = time.monotonic()
        self._child_signal = _child_signal_pipe()
        self._isolation, self._files = isolation, files
        self._retry_at = 0.0
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._child_signal, selectors.EVENT_READ, self._drain)

    def run(self) -> None:
        """Run until no agent is connected, no container is running and everything is recorded."""
        while not self._is_done():
            try:
                self._step()
            except (OSError, MemoryError):
                log(f"supervisor pass failed\n{traceback.format_exc()}")
                time.sleep(PAUSE_SECONDS)

    def _step(self) -> None:
        for key, _ in self._selector.select(self._timeout()):
            key.data(key.fd)
        self._start_requested()
        self._reap()
        self._kill_overdue()
        if self._journal.has_unwritten and time.monotonic() >= self._retry_at:
            self._retry_at = time.monotonic() + RETRY_SECONDS
            self._journal.sync()
        for connection in list(self._connections.values()):
            self._flush(connection)

    def _timeout(self) -> float | None:
        now = time.monotonic()
        timeouts = [
            container.kill_at - now
            for container in self._containers.values()
            if container.kill_at is not None
        ]
        if self._journal.has_unwritten:
            timeouts.append(self._retry_at - now)
        elif not self._connections and not self._containers:
            timeouts.append(self._idle_since + IDLE_SECONDS - now)
        return min(max(min(timeouts), 0), MAX_WAIT) if timeouts else None

    def _is_done(self) -> bool:
        if self._connections or self._containers or self._journal.has_unwritten:
            self._idle_since = time.monotonic()
            return False
        return time.monotonic() >= self._idle_since + IDLE_SECONDS

    def _accept(self, _fd: int) -> None:
        connection = Connection(self._listener.accept()[0])
        self._connections[connection.fd] = connection
        self._selector.register(connection.fd, selectors.EVENT_READ, self._read)
        welcome = {
            "pid": os.getpid(),
            "namespaces": self._isolation.has_mounts,
            "isolation": str(self._isolation),
            "runs": [run_to_json(run) for run in self._journal.state.runs.values()],
        }
        connection.send({"welcome": welcome})

    def _read(self, fd: int) -> None:
        connection = self._connections.get(fd)
        if connection is None:
            return
        for request in connection.receive():
            self._handle(connection, request)
        self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        has_data = connection.flush()
        if connection.is_closed:
            self._selector.unregister(connection.fd)
            del self._connections[connection.fd]
            connection.close()
        elif has_data != connection.wants_to_write:
            connection.wants_to_write = has_data
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if has_data else 0)
            self._selector.modify(connection.fd, events, self._read)

    def _handle(self, connection: Connection, request: dict[str, Any]) -> None:
        match request:
            case {"start": order, "id": int(number)}:
                self._start_requests.append((connection, number, start_request_from_json(order)))
            case {"stop": key, "grace": float(grace) | int(grace)}:
                if (container := self._containers.get(RunKey(*key))) is not None:
                    container.stop(grace)
            case {"forget": pod}:
                self._forget(pod)
            case _:
                connection.is_closed = True

    def _forget(self, pod: str) -> None:
        """Drop the runs of a pod, unless one is running."""
        runs = [run for key, run in self._journal.state.runs.items() if key.pod == pod]
        if runs and all(run.is_over for run in runs):
            self._journal.write(forgotten_entry(pod))
            self._journal.compact()

    def _start_requested(self) -> None:
        """Start the requested containers that were never started, and answer all requests."""
        requests, self._start_requests = self._start_requests, []
        if not requests:
            return
        known = self._journal.state.runs
        new = {order.key: order for _, _, order in requests if order.key not in known}
        refused: dict[RunKey, Refusal] = {}
        try:
            self._start_all(list(new.values()), refused)
        except MemoryError:
            log("out of memory; containers not started")
        for connection, number, order in requests:
            run = known.get(order.key)
            if run is not None:
                connection.send({"id": number, "run": run_to_json(run)})
            else:
                refusal = refused.get(order.key, NO_MEMORY)
                connection.send({"id": number, "refused": [refusal.reason, refusal.message]})

    def _start_all(self, orders: list[StartContainer], refused: dict[RunKey, Refusal]) -> None:
        capacity = Capacity(len(self._containers))
        fitting = []
        for order in orders:
            if (refusal := capacity.reserve(order.user)) is None:
                fitting.append(order)
            else:
                refused[order.key] = refusal
        now = time.time()
        # One sync makes all intents durable.
        if not self._journal.append_durably(
            [intended_entry(order.key, self._boot, now) for order in fitting]
        ):
            refused |= dict.fromkeys((order.key for order in fitting), DISK_FULL)
            return
        for start in range(0, len(fitting), STARTS_AT_ONCE):
            refused |= self._start_some(fitting[start : start + STARTS_AT_ONCE])

    def _start_some(self, orders: list[StartContainer]) -> dict[RunKey, Refusal]:
        """Start containers in parallel. A program starts only after its init process is recorded."""
        refused: dict[RunKey, Refusal] = {}
        containers = prepare_containers(orders, self._isolation, self._files)
        for container in containers:
            if isinstance(container, Container):
                ticks = kernel.start_ticks(container.pid)
                self._journal.write(started_entry(container.key, container.pid, ticks, container.started_at))
                container.go()
        for order, container in zip(orders, containers, strict=True):
            try:
                if not isinstance(container, Container):
                    raise container
                container.confirm()
            except StartFailed as error:
                self._record_start_failure(order.key, error.message)
            except StartDeferred as error:
                refused[order.key] = error.refusal
                self._journal.write(withdrawn_entry(order.key))
            else:
                self._watch(container)
        return refused

    def _record_start_failure(self, key: RunKey, message: str) -> None:
        run = replace(
            self._journal.state.runs[key],
            state="ended",
            code=START_ERROR,
            finished_at=time.time(),
            reason="StartError",
            message=message,
        )
        self._journal.write(ended_entry(run))
        self._journal.sync()
        self._broadcast(run)

    def _watch(self, container: Container) -> None:
        self._containers[container.key] = self._by_pid[container.pid] = container
        for fd in container.pipes:
            self._selector.register(fd, selectors.EVENT_READ, self._output_handler(container))

    def _output_handler(self, container: Container) -> Callable[[int], None]:
        def read_output(fd: int) -> None:
            if fd in container.pipes and not container.read_output(fd):
                self._selector.unregister(fd)

        return read_output

    def _drain(self, fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(fd, 4096)

    def _reap(self) -> None:
        """Record and report ended containers, then sync the journal.

        Reporting before the sync is safe: a status that reports the end is durable itself, and the next start syncs the
        journal first.
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
            self._journal.write(ended_entry(run))
        for run in ended:
            self._broadcast(self._journal.state.runs[run.key])
        for connection in list(self._connections.values()):
            self._flush(connection)
        self._journal.sync()

    def _close(self, container: Container) -> Run:
        for fd in container.pipes:
            self._selector.unregister(fd)
        finished_at = time.time()
        container.close()
        del self._containers[container.key]
        run = self._journal.state.runs[container.key]
        return replace(run, state="ended", finished_at=finished_at)

    def _broadcast(self, run: Run) -> None:
        for connection in self._connections.values():
            connection.send({"run": run_to_json(run)})

    def _kill_strays(self) -> None:
        """Kill children that are not init processes: they are orphans of containers whose init process has ended."""
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
    """The pid of a child that can be reaped. It isn't reaped yet, to keep its pid reserved."""
    with contextlib.suppress(ChildProcessError):
        result = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return result.si_pid if result is not None else None
    return None


def _child_signal_pipe() -> int:
    """A pipe that becomes readable when a child ends. Handlers do nothing, because ignored signals are inherited."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    return reader
