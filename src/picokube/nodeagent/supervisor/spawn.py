"""Starting the init process of a container, and why it could not be started."""

import contextlib
import errno
import os

from picokube.nodeagent.supervisor.container_init import ContainerInit, InitPipes, start_error
from picokube.nodeagent.supervisor.isolation import Isolation, fork_into
from picokube.nodeagent.supervisor.orders import MARKER, Refusal, StartContainer

REASONS = {
    errno.EMFILE: "TooManyOpenFiles",
    errno.ENFILE: "TooManyOpenFiles",
    errno.EAGAIN: "TooManyProcesses",
    errno.ENOMEM: "OutOfMemory",
    errno.ENOSPC: "DiskFull",
    errno.EDQUOT: "DiskFull",
}
"""What this machine may have again later: such a start is refused and asked for again."""


class NotStarted(Exception):
    """Why a process could not be started, and never will."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Refused(Exception):
    """Why a process cannot be started now; nothing of it ran."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def failure(order: StartContainer, error: BaseException) -> NotStarted | Refused:
    """What an error of a start means."""
    number = error.errno if isinstance(error, OSError) else None
    return _failure(number, start_error(order, error))


def _failure(number: int | None, message: str) -> NotStarted | Refused:
    reason = REASONS.get(number or 0)
    if reason is None:
        return NotStarted(message)
    return Refused(Refusal(reason=reason, message=f"{message}; the start is tried again"))


class InitProcess:
    """Runs, and waits for `go` before it starts the program."""

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
        """The start is recorded: the program may run."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, b"1")
        os.close(self._go)

    def confirm(self) -> None:
        """Wait until the program is loaded. Raises NotStarted and Refused."""
        with os.fdopen(self._errors, "rb") as pipe:
            said = pipe.read().decode(errors="replace")
        if said:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            number, _, message = said.partition("\n")
            raise _failure(int(number), message)
