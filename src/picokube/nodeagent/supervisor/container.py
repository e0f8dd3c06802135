"""One running container: its init process, its output, and its end."""

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.cri_log import LogFile
from picokube.nodeagent.supervisor.isolation import Isolation
from picokube.nodeagent.supervisor.orders import RunKey, StartContainer
from picokube.nodeagent.supervisor.spawn import InitProcess, NotStarted, Refused, failure

CHUNK = 64 * 1024
MOST_TAKEN_AT_THE_END = 64
"""Chunks read of a pipe that somebody else holds open and goes on filling."""


class Container:
    """An init process, all that it started, and the pipes they write to."""

    def __init__(self, order: StartContainer, isolation: Isolation, files: int) -> None:
        """Prepare it; the program starts with `go`. Raises NotStarted and Refused."""
        self.key: RunKey = order.key
        made = contextlib.ExitStack()
        with made:
            try:
                self._log = LogFile(Path(order.log))
                made.callback(self._log.close)
                readers, writers = [], []
                for _ in range(2):
                    reader, writer = os.pipe2(os.O_CLOEXEC)
                    readers.append(reader)
                    writers.append(writer)
                    made.callback(os.close, reader)
                    os.set_blocking(reader, False)
                self.started_at = time.time()
                self._init = InitProcess(order, writers[0], writers[1], isolation, files)
            except OSError as error:
                raise failure(order, error) from error
            finally:
                for writer in writers:
                    os.close(writer)
            made.pop_all()
        self.pid = self._init.pid
        self.pipes = {reader: stream for stream, reader in enumerate(readers)}
        self.is_stopping = False
        self.kill_at: float | None = None

    def go(self) -> None:
        self._init.go()

    def confirm(self) -> None:
        """Wait until the program is loaded. Raises NotStarted and Refused, and then nothing is left of it."""
        try:
            self._init.confirm()
        except (NotStarted, Refused):
            self._release()
            raise

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
            # Its init process passes it on to the program's whole group.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        self.is_stopping = True
        at = time.monotonic() + max(grace, 0)
        self.kill_at = at if self.kill_at is None else min(at, self.kill_at)

    def kill(self) -> None:
        """Everything, at once. The init process is not reaped yet, so the number is still its own."""
        below = () if self._init.isolation is Isolation.PID_NAMESPACE else kernel.descendants(self.pid)
        for pid in (*below, self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """The init process ended, and everything with it: what was written is kept."""
        for fd in list(self.pipes):
            for _ in range(MOST_TAKEN_AT_THE_END):
                try:
                    data = os.read(fd, CHUNK)
                except BlockingIOError:
                    break
                if not data:
                    break
                self._log.take(self.pipes[fd], data)
        self._release()

    def _release(self) -> None:
        for fd in self.pipes:
            os.close(fd)
        self.pipes.clear()
        self._log.close()


def prepared(
    orders: Sequence[StartContainer], isolation: Isolation, files: int
) -> list[Container | NotStarted | Refused]:
    """Containers that wait for `go`, or why there are none, in the order of the orders."""
    found: list[Container | NotStarted | Refused] = []
    for order in orders:
        try:
            found.append(Container(order, isolation, files))
        except (NotStarted, Refused) as error:
            found.append(error)
    return found
