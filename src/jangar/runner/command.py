"""One command: its process group, its output, the signals that reach it, and its end."""

import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from jangar.runner import kernel

NOT_FOUND, NOT_EXECUTABLE = 127, 126
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CHUNK = 64 * 1024
MAX_FINAL_READS = 64
"""Chunks read of a pipe that somebody else holds open and goes on filling."""
CLEARING_SECONDS = 2.0

Take = Callable[[int, bytes], None]
"""Gets what was written to standard output (0) or standard error (1)."""


class NotStarted(Exception):
    """Why there is no process, and the exit code that says so."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """As shells count: a command that a signal ended has the code 128 and its number."""

    code: int
    signal: str | None


class Command:
    """Signals are dealt with as they come, also while output waits for its reader."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        """Seconds from TERM to KILL."""
        self._pid: int | None = None
        self.stopped_by: str | None = None
        """The signal that asked the runner to end."""
        self._is_done = False
        """Whether the command ended: a stop that comes later stops nothing."""
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def listen(self) -> None:
        """From now on a stop is heard: before the start it prevents it, afterwards it goes to the whole group."""
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in STOPS:
            signal.signal(number, self._stop)
        signal.signal(signal.SIGALRM, self._kill)
        signal.signal(signal.SIGCHLD, _noticed)

    def run(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, take: Take) -> Ended:
        """Until the command ended and nothing of it is left. Raises NotStarted."""
        if self.is_stopped():
            raise NotStarted(f"stopped by {self.stopped_by} before it started", 128 + signal.SIGTERM)
        kernel.adopt_orphans()
        pipes = self._start(argv, env, cwd)
        if self.is_stopped():
            self._signal(signal.SIGTERM)
        self._listen_to(pipes, take)
        signal.setitimer(signal.ITIMER_REAL, 0)
        ended = self._clear()
        for stream, fd in enumerate(pipes):
            for _ in range(MAX_FINAL_READS):
                if not _take(fd, stream, take, at_most=True):
                    break
            os.close(fd)
        return ended

    def is_stopped(self) -> bool:
        return self.stopped_by is not None

    def _listen_to(self, pipes: Sequence[int], take: Take) -> None:
        """Until the command ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            for stream, fd in enumerate(pipes):
                os.set_blocking(fd, False)
                selector.register(fd, selectors.EVENT_READ, (stream,))
            while not self._is_over():
                for key, _ in selector.select():
                    if key.data is None:
                        _drain(self._woken)
                    elif not _take(key.fd, key.data[0], take):
                        selector.unregister(key.fd)

    def _start(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> list[int]:
        try:
            process = subprocess.Popen(  # noqa: S603 - what to run is what the spec says
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                cwd=cwd,
                start_new_session=True,
                preexec_fn=kernel.end_with_parent,  # noqa: PLW1509 - there are no threads here
            )
        except OSError as error:
            raise _not_started(argv[0], cwd, error) from error
        self._pid = process.pid
        # Reaped below, with what is adopted; the object must neither wait for it nor close its pipes.
        process.returncode = 0
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        return [os.dup(pipe.fileno()) for pipe in (process.stdout, process.stderr)]

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if self._is_done:
            return
        if self.stopped_by is None:
            self.stopped_by = signal.Signals(number).name
            signal.setitimer(signal.ITIMER_REAL, max(self.grace, 0.001))
        self._signal(signal.SIGTERM)

    def _kill(self, _number: int, _frame: FrameType | None) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        """To the whole group. The command is not reaped yet, so the number is still its own."""
        if self._pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)

    def _is_over(self) -> bool:
        """Whether the command ended; it is left unreaped. What was adopted is reaped."""
        assert self._pid is not None  # noqa: S101
        seen = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            for pid in kernel.children():
                if pid != self._pid:
                    _reap(pid)
        return seen is not None

    def _clear(self) -> Ended:
        """End what is left of the group, then what left the group."""
        self._is_done = True
        assert self._pid is not None  # noqa: S101
        self._signal(signal.SIGKILL)
        pid, self._pid = self._pid, None
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        until = time.monotonic() + CLEARING_SECONDS
        while (left := kernel.children()) and time.monotonic() < until:
            for item in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(item, signal.SIGKILL)
            for item in left:
                _reap(item)
            time.sleep(0.001)
        if code >= 0:
            return Ended(code=code, signal=None)
        return Ended(code=128 - code, signal=signal.Signals(-code).name)


def _noticed(_number: int, _frame: FrameType | None) -> None:
    """The pipe wakes the loop."""


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _drain(fd: int) -> None:
    with suppress(BlockingIOError):
        while os.read(fd, CHUNK):
            pass


def _take(fd: int, stream: int, take: Take, *, at_most: bool = False) -> bool:
    """Move what is in a pipe; whether more can come (`at_most`: is there already)."""
    try:
        data = os.read(fd, CHUNK)
    except BlockingIOError:
        return not at_most
    if data:
        take(stream, data)
    return bool(data)


def _not_started(program: str, cwd: Path, error: OSError) -> NotStarted:
    if error.filename == str(cwd) and not cwd.is_dir():
        return NotStarted(f"the working directory {cwd} does not exist", NOT_EXECUTABLE)
    match error:
        case FileNotFoundError() if "/" in program and Path(program).exists():
            return NotStarted(f"{program}: the interpreter that it names is not there", NOT_EXECUTABLE)
        case FileNotFoundError() | NotADirectoryError():
            where = "no such file" if "/" in program else "not found on PATH"
            return NotStarted(f"{program}: {where}", NOT_FOUND)
        case _ if error.errno == errno.ENOEXEC:
            return NotStarted(f"{program}: is not a program (a script needs a line #!)", NOT_EXECUTABLE)
        case _:
            return NotStarted(f"{program}: {error.strerror}", NOT_EXECUTABLE)
