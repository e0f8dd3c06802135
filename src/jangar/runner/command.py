"""Runs one command: starts its process group, reads its output, forwards signals, and ends what it leaves behind.

On Linux the runner is a subreaper and ends with its parent, so no process of the command outlives it.
"""

import ctypes
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

NOT_FOUND, NOT_EXECUTABLE = 127, 126
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CHUNK = 64 * 1024
MAX_FINAL_READS = 64
"""Chunks read of a pipe that another process holds open and keeps filling."""
CLEANUP_SECONDS = 2.0

Take = Callable[[int, bytes], None]
"""Called with the stream, standard output (0) or standard error (1), and what was written to it."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None)


class NotStarted(Exception):
    """The command did not start: why, and the exit code that reports it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end as shells report it: after a signal the code is 128 plus its number."""

    code: int
    signal: str | None


class Command:
    """A command that handles signals at once, also while its output waits for a reader."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        """Seconds from SIGTERM to SIGKILL."""
        self._pid: int | None = None
        self.stopped_by: str | None = None
        """The signal that asked the runner to stop."""
        self._is_done = False
        """Whether the command ended: later signals have no effect."""
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def listen(self) -> None:
        """Handle stop signals from now on: before the start they prevent it, afterwards they go to the whole group."""
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in STOPS:
            signal.signal(number, self._stop)
        signal.signal(signal.SIGALRM, self._kill)
        signal.signal(signal.SIGCHLD, _ignore)

    def run(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, take: Take) -> Ended:
        """Run until the command ended and none of its processes is left. Raises NotStarted."""
        if self.is_stopped():
            raise NotStarted(f"stopped by {self.stopped_by} before it started", 128 + signal.SIGTERM)
        # Processes whose parent ended become children of the runner, also those that left the group.
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        pipes = self._start(argv, env, cwd)
        if self.is_stopped():
            self._signal(signal.SIGTERM)
        self._read_until_end(pipes, take)
        signal.setitimer(signal.ITIMER_REAL, 0)
        ended = self._end_rest()
        for stream, fd in enumerate(pipes):
            for _ in range(MAX_FINAL_READS):
                if not _take(fd, stream, take, only_available=True):
                    break
            os.close(fd)
        return ended

    def is_stopped(self) -> bool:
        return self.stopped_by is not None

    def _read_until_end(self, pipes: Sequence[int], take: Take) -> None:
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
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - there are no threads here
            )
        except OSError as error:
            raise _not_started(argv[0], cwd, error) from error
        self._pid = process.pid
        # Reaped below with the adopted processes: the Popen object must neither wait for it nor close its pipes.
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
        """Signal the whole group. The command is not reaped yet, so its process ID is still its own."""
        if self._pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)

    def _is_over(self) -> bool:
        """Whether the command ended. It is left unreaped; adopted processes that ended are reaped."""
        assert self._pid is not None  # noqa: S101
        status = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if status is None:
            for pid in _children():
                if pid != self._pid:
                    _reap(pid)
        return status is not None

    def _end_rest(self) -> Ended:
        """Kill what is left of the group, then the processes that left the group."""
        self._is_done = True
        assert self._pid is not None  # noqa: S101
        self._signal(signal.SIGKILL)
        pid, self._pid = self._pid, None
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        deadline = time.monotonic() + CLEANUP_SECONDS
        while (children := _children()) and time.monotonic() < deadline:
            for child in children:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            for child in children:
                _reap(child)
            time.sleep(0.001)
        if code >= 0:
            return Ended(code=code, signal=None)
        return Ended(code=128 - code, signal=signal.Signals(-code).name)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """The wakeup pipe wakes the loop."""


def _end_with_parent() -> None:
    """Runs in the child before it becomes the command: if the runner is killed, the command ends as well."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    """Does nothing on systems without prctl."""
    with suppress(OSError, AttributeError):
        _LIBC.prctl(option, value, 0, 0, 0)


def _children() -> list[int]:
    """Child processes of the runner, including adopted ones; empty on systems without /proc."""
    own = os.getpid()
    with suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{own}/task/{own}/children").read_text().split()]
    return []


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _drain(fd: int) -> None:
    with suppress(BlockingIOError):
        while os.read(fd, CHUNK):
            pass


def _take(fd: int, stream: int, take: Take, *, only_available: bool = False) -> bool:
    """Read from a pipe; returns whether more may come (with `only_available`: whether there may be more already)."""
    try:
        data = os.read(fd, CHUNK)
    except BlockingIOError:
        return not only_available
    if data:
        take(stream, data)
    return bool(data)


def _not_started(program: str, cwd: Path, error: OSError) -> NotStarted:
    if error.filename == str(cwd) and not cwd.is_dir():
        return NotStarted(f"the working directory {cwd} does not exist", NOT_EXECUTABLE)
    match error:
        case FileNotFoundError() if "/" in program and Path(program).exists():
            return NotStarted(f"{program}: the interpreter that it names does not exist", NOT_EXECUTABLE)
        case FileNotFoundError() | NotADirectoryError():
            where = "no such file" if "/" in program else "not found on PATH"
            return NotStarted(f"{program}: {where}", NOT_FOUND)
        case _ if error.errno == errno.ENOEXEC:
            return NotStarted(f"{program}: is not a program (a script needs a line #!)", NOT_EXECUTABLE)
        case _:
            return NotStarted(f"{program}: {error.strerror}", NOT_EXECUTABLE)
