"""Starts the init process of a container, and classifies start errors."""

import contextlib
import errno
import os

from picokube.nodeagent.supervisor.container_init import ContainerInit, InitPipes, start_error
from picokube.nodeagent.supervisor.isolation import Isolation, fork_into
from picokube.nodeagent.supervisor.protocol import MARKER, Refusal, StartContainer

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
