"""One running container: its process group, its output, and its end."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from jangar.nodeagent.supervisor.cri_log import LogFile
from jangar.nodeagent.supervisor.orders import Order, RunKey
from jangar.nodeagent.supervisor.spawn import NotStarted, spawn

CHUNK = 64 * 1024
MOST_TAKEN_AT_THE_END = 64
"""Chunks read of a pipe that somebody else holds open and goes on filling."""


class Container:
    """A process, all that it started, and the pipes they write to."""

    def __init__(self, order: Order) -> None:
        """Start it. Raises NotStarted."""
        self.key: RunKey = order.key
        try:
            self._log = LogFile(Path(order.log))
        except OSError as error:
            raise NotStarted(f"log file: {error.strerror}: {error.filename}") from error
        pairs = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        self.started_at = time.time()
        try:
            self.pid = spawn(order, pairs[0][1], pairs[1][1])
        except NotStarted:
            self._log.close()
            for fd, _ in pairs:
                os.close(fd)
            raise
        finally:
            for _, fd in pairs:
                os.close(fd)
        self.pipes = {pairs[stream][0]: stream for stream in range(2)}
        for fd in self.pipes:
            os.set_blocking(fd, False)
        self.is_stopping = False
        self.kill_at: float | None = None

    def take(self, fd: int) -> bool:
        """Move what is in a pipe to the log; whether more can come."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if data:
            self._log.take(self.pipes[fd], data)
        else:
            del self.pipes[fd]
            os.close(fd)
        return bool(data)

    def stop(self, grace: float) -> None:
        """TERM once; KILL after the grace, which a later call can only shorten."""
        if not self.is_stopping and grace > 0:
            self.signal(signal.SIGTERM)
        self.is_stopping = True
        at = time.monotonic() + max(grace, 0)
        self.kill_at = at if self.kill_at is None else min(at, self.kill_at)

    def signal(self, number: int) -> None:
        """To the whole group. The process is not reaped yet, so the number is still its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """The first process ended: the rest of its group ends, what was written is kept."""
        self.signal(signal.SIGKILL)
        for fd in list(self.pipes):
            for _ in range(MOST_TAKEN_AT_THE_END):
                try:
                    data = os.read(fd, CHUNK)
                except BlockingIOError:
                    break
                if not data:
                    break
                self._log.take(self.pipes[fd], data)
            os.close(fd)
        self.pipes.clear()
        self._log.close()


def started_together(orders: Sequence[Order]) -> list[Container | NotStarted]:
    """Containers or why there are none, in the order of the orders.

    A start waits until the new program is loaded, so several wait at once, each in a thread. Those that get a view of
    their own are forked afterwards, one by one, when no thread is left.
    """
    found: dict[int, Container | NotStarted] = {}

    def start(number: int) -> None:
        try:
            found[number] = Container(orders[number])
        except NotStarted as error:
            found[number] = error

    plain = [number for number, order in enumerate(orders) if not order.mounts]
    threads = [threading.Thread(target=start, args=(number,)) for number in plain[1:]]
    for thread in threads:
        thread.start()
    for number in plain[:1]:
        start(number)
    for thread in threads:
        thread.join()
    for number, order in enumerate(orders):
        if order.mounts:
            start(number)
    return [found[number] for number in range(len(orders))]


def exit_code(status: int) -> int:
    """As a shell and a container runtime count: a signal is 128 and its number."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
