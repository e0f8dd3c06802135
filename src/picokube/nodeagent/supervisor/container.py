"""A running container: its init process and its output. Start errors are classified as permanent or temporary."""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.container_init import ContainerInit, InitPipes, start_error
from picokube.nodeagent.supervisor.cri_log import LogFile
from picokube.nodeagent.supervisor.isolation import Isolation, fork_into
from picokube.nodeagent.supervisor.protocol import MARKER, Refusal, RunKey, StartContainer

REASONS = {
    errno.EMFILE: "TooManyOpenFiles",
    errno.ENFILE: "TooManyOpenFiles",
    errno.EAGAIN: "TooManyProcesses",
    errno.ENOMEM: "OutOfMemory",
    errno.ENOSPC: "DiskFull",
    errno.EDQUOT: "DiskFull",
}
"""Errors of exhausted resources, after which a start is retried."""


class StartFailed(Exception):
    """The container can't be started. Not retried."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StartDeferred(Exception):
    """The container can't be started now, and nothing of it ran. Retried."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def start_failure(order: StartContainer, error: BaseException) -> StartFailed | StartDeferred:
    """Classify an error as permanent or temporary."""
    number = error.errno if isinstance(error, OSError) else None
    return _classify(number, start_error(order, error))


def _classify(number: int | None, message: str) -> StartFailed | StartDeferred:
    reason = REASONS.get(number or 0)
    if reason is None:
        return StartFailed(message)
    return StartDeferred(Refusal(reason=reason, message=f"{message}; retrying the start"))


class InitProcess:
    """A running init process, which waits for `go` before it starts the program."""

    def __init__(
        self, order: StartContainer, stdout: int, stderr: int, isolation: Isolation, files: int
    ) -> None:
        """Raises OSError."""
        self._order = order
        env = order.env | {MARKER: order.key.id}
        isolation = isolation if order.mounts else Isolation.SUBREAPER
        self.isolation = isolation
        go, self._go = os.pipe2(os.O_CLOEXEC)
        try:
            self._errors, errors = os.pipe2(os.O_CLOEXEC)
            try:
                pipes = InitPipes(stdout=stdout, stderr=stderr, go=go, errors=errors)
                init = ContainerInit(order, env, isolation, pipes, files)
                self.pid = fork_into(isolation, init.run)
            except OSError:
                os.close(self._errors)
                raise
            finally:
                os.close(errors)
        except OSError:
            os.close(self._go)
            raise
        finally:
            os.close(go)

    def go(self) -> None:
        """Let the program start, after its start is recorded."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, b"1")
        os.close(self._go)

    def confirm(self) -> None:
        """Wait until the program is loaded. Raises StartFailed and StartDeferred."""
        with os.fdopen(self._errors, "rb") as pipe:
            report = pipe.read().decode(errors="replace")
        if report:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            number, _, message = report.partition("\n")
            raise _classify(int(number), message)


CHUNK = 64 * 1024
MAX_FINAL_READS = 64
"""Bounds the reads from a pipe that another process keeps filling."""


class Container:
    """An init process, its descendants, and the pipes they write to."""

    def __init__(self, order: StartContainer, isolation: Isolation, files: int) -> None:
        """Start the init process. The program starts with `go`. Raises StartFailed and StartDeferred."""
        self.key: RunKey = order.key
        cleanup = contextlib.ExitStack()
        with cleanup:
            try:
                self._log = LogFile(Path(order.log))
                cleanup.callback(self._log.close)
                readers, writers = [], []
                for _ in range(2):
                    reader, writer = os.pipe2(os.O_CLOEXEC)
                    readers.append(reader)
                    writers.append(writer)
                    cleanup.callback(os.close, reader)
                    os.set_blocking(reader, False)
                self.started_at = time.time()
                self._init = InitProcess(order, writers[0], writers[1], isolation, files)
            except OSError as error:
                raise start_failure(order, error) from error
            finally:
                for writer in writers:
                    os.close(writer)
            cleanup.pop_all()
        self.pid = self._init.pid
        self.pipes = {reader: stream for stream, reader in enumerate(readers)}
        self.is_stopping = False
        self.kill_at: float | None = None

    def go(self) -> None:
        self._init.go()

    def confirm(self) -> None:
        """Wait until the program is loaded. Raises StartFailed and StartDeferred after releasing everything."""
        try:
            self._init.confirm()
        except (StartFailed, StartDeferred):
            self._release()
            raise

    def read_output(self, fd: int) -> bool:
        """Copy data from a pipe to the log. False at the end of the output."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if data:
            self._log.write(self.pipes[fd], data)
        else:
            del self.pipes[fd]
            os.close(fd)
        return bool(data)

    def stop(self, grace: float) -> None:
        """Send SIGTERM once, and SIGKILL after the grace period. A later call can only shorten it."""
        if not self.is_stopping and grace > 0:
            # The init process forwards it to the program's process group.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        self.is_stopping = True
        at = time.monotonic() + max(grace, 0)
        self.kill_at = at if self.kill_at is None else min(at, self.kill_at)

    def kill(self) -> None:
        """Kill all processes. The init process is not reaped yet, so its pid is still valid."""
        descendants = () if self._init.isolation is Isolation.PID_NAMESPACE else kernel.descendants(self.pid)
        for pid in (*descendants, self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Read the remaining output after the container has ended, and release everything."""
        for fd in list(self.pipes):
            for _ in range(MAX_FINAL_READS):
                try:
                    data = os.read(fd, CHUNK)
                except BlockingIOError:
                    break
                if not data:
                    break
                self._log.write(self.pipes[fd], data)
        self._release()

    def _release(self) -> None:
        for fd in self.pipes:
            os.close(fd)
        self.pipes.clear()
        self._log.close()


def prepare_containers(
    orders: Sequence[StartContainer], isolation: Isolation, files: int
) -> list[Container | StartFailed | StartDeferred]:
    """For each request, a container that waits for `go`, or the error."""
    containers: list[Container | StartFailed | StartDeferred] = []
    for order in orders:
        try:
            containers.append(Container(order, isolation, files))
        except (StartFailed, StartDeferred) as error:
            containers.append(error)
    return containers
