"""A running container: its init process and its output.

The init process is a fork of the supervisor. It closes inherited files, waits until its start is recorded, sets up the
file system, starts the program, and kills the program's descendants. Start errors are classified as permanent or
temporary.
"""

import contextlib
import errno
import os
import resource
import signal
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from picokube.nodeagent.supervisor import isolation, kernel
from picokube.nodeagent.supervisor.cri_log import LogFile
from picokube.nodeagent.supervisor.isolation import Isolation, fork_into
from picokube.nodeagent.supervisor.kernel import Libc
from picokube.nodeagent.supervisor.protocol import MARKER, Refusal, RunKey, StartContainer

OOM_SCORE = b"500"
"""The kernel kills containers before the supervisor and the agent."""
KILL_SECONDS = 5.0
_TERM = {signal.SIGTERM}
REASONS = {
    errno.EMFILE: "TooManyOpenFiles",
    errno.ENFILE: "TooManyOpenFiles",
    errno.EAGAIN: "TooManyProcesses",
    errno.ENOMEM: "OutOfMemory",
    errno.ENOSPC: "DiskFull",
    errno.EDQUOT: "DiskFull",
}
"""Errors of exhausted resources, after which a start is retried."""
CHUNK = 64 * 1024
MAX_FINAL_READS = 64
"""Bounds the reads from a pipe that another process keeps filling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitPipes:
    """The inherited files that the init process keeps open."""

    stdout: int
    stderr: int
    go: int
    """Receives a byte when the start is recorded. Reaches its end without a byte if the supervisor dies before."""
    errors: int
    """Receives errno, a newline and a message. Reaches its end without a byte when the program is loaded."""


class ContainerInit:
    """Runs as long as the container."""

    def __init__(
        self, order: StartContainer, env: dict[str, str], isolation: Isolation, pipes: InitPipes, files: int
    ) -> None:
        self._order, self._env, self._isolation, self._pipes = order, env, isolation, pipes
        self._files = files
        self._program = 0

    def run(self) -> None:
        """Never returns."""
        code = 127
        try:
            self._prepare()
            if os.read(self._pipes.go, 1):
                code = self._supervise()
        except BaseException as error:  # noqa: BLE001 - a fork must never continue as the supervisor
            self._report(error)
        finally:
            os._exit(code)

    def _prepare(self) -> None:
        pipes = self._pipes
        _close_others((pipes.stdout, pipes.stderr, pipes.go, pipes.errors))
        signal.pthread_sigmask(signal.SIG_BLOCK, _TERM)
        signal.signal(signal.SIGTERM, self._forward)
        signal.signal(signal.SIGHUP, self._kill_all)
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        libc = kernel.LIBC
        if libc is None:
            return
        libc.set_name(b"jangar-init")
        libc.prctl(kernel.PR_SET_PDEATHSIG, self._death_signal)
        libc.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        if self._isolation.has_mounts:
            own_proc = self._isolation is Isolation.PID_NAMESPACE
            isolation.enter(libc, self._order.mounts, self._order.hidden, own_proc=own_proc)

    def _supervise(self) -> int:
        """Run the program and kill its descendants. Returns its exit code."""
        self._become_container(kernel.LIBC)
        self._program = self._spawn()
        for fd in (self._pipes.stdout, self._pipes.stderr, self._pipes.go, self._pipes.errors):
            os.close(fd)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _TERM)
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._program:
                break
        if self._isolation is not Isolation.PID_NAMESPACE:
            _kill_descendants()
        return exit_code(status)

    def _become_container(self, libc: Libc | None) -> None:
        """Set the user, limits and working directory, which the program inherits. A spawn is cheaper than a fork."""
        order = self._order
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_bytes(OOM_SCORE)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._files, hard))
        # Before the change of user, who may not be able to enter the parent directories.
        os.chdir(order.cwd)
        if order.groups:
            os.setgroups(order.groups)
        if order.group is not None:
            os.setregid(order.group, order.group)
        if order.user is not None:
            os.setreuid(order.user, order.user)
        if libc is not None:
            libc.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            # A change of user resets both. Only root may read the memory of this fork of the supervisor.
            libc.prctl(kernel.PR_SET_PDEATHSIG, self._death_signal)
            libc.prctl(kernel.PR_SET_DUMPABLE, 0)

    @property
    def _death_signal(self) -> int:
        """The signal that the kernel sends when the supervisor dies."""
        return signal.SIGKILL if self._isolation is Isolation.PID_NAMESPACE else signal.SIGHUP

    def _spawn(self) -> int:
        """Start the program in its own session. Returns its pid. Raises OSError."""
        pipes, order = self._pipes, self._order
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, pipes.stdout, 1),
            (os.POSIX_SPAWN_DUP2, pipes.stderr, 2),
        ]
        # Python ignores the last two, and programs inherit ignored signals.
        defaults = (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
        failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), order.argv[0])
        for path in _program_paths(order.argv[0], self._env):
            try:
                return os.posix_spawn(
                    path,
                    order.argv,
                    self._env,
                    file_actions=actions,
                    setsid=True,
                    setsigmask=(),
                    setsigdef=defaults,
                )
            except (FileNotFoundError, NotADirectoryError):
                continue
            except PermissionError as error:
                failure = error
        raise failure

    def _forward(self, number: int, _frame: object) -> None:
        """Forward a signal to the program's process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._program, number)

    def _kill_all(self, _number: int, _frame: object) -> None:
        """The supervisor died: kill the container, because nothing would record its end."""
        _kill_descendants()
        os._exit(128 + signal.SIGKILL)

    def _report(self, error: BaseException) -> None:
        number = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
        with contextlib.suppress(OSError):
            os.write(self._pipes.errors, f"{number}\n{start_error(self._order, error)}".encode()[:4000])


def exit_code(status: int) -> int:
    """The exit code as reported by container runtimes: 128 plus the number for a signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def start_error(order: StartContainer, error: BaseException) -> str:
    """Why a program couldn't be started, in the format of container runtimes."""
    match error:
        case FileNotFoundError(filename=order.cwd):
            return f"chdir to working directory {order.cwd!r}: no such file or directory"
        case FileNotFoundError() if _is_program(order, error):
            if "/" in order.argv[0]:
                return f'exec: "{order.argv[0]}": no such file or directory'
            return f'exec: "{order.argv[0]}": executable file not found in $PATH'
        case PermissionError() if _is_program(order, error):
            return f'exec: "{order.argv[0]}": permission denied'
        case OSError(strerror=text) if text:
            return f"{text}: {error.filename or order.argv[0]}"
        case _:
            return f"{type(error).__name__}: {error}"


def _is_program(order: StartContainer, error: OSError) -> bool:
    """Whether an error concerns the program, which may have been searched for in several directories."""
    return error.filename is None or Path(os.fsdecode(error.filename)).name == Path(order.argv[0]).name


def _program_paths(program: str, env: dict[str, str]) -> list[str]:
    """The possible paths of a program: its own path, or existing files in the directories of PATH."""
    if "/" in program:
        return [program]
    directories = (env.get("PATH") or os.defpath).split(os.pathsep)
    paths = [os.path.join(directory or ".", program) for directory in directories]  # noqa: PTH118 - kept as written
    return [path for path in paths if os.path.exists(path)]  # noqa: PTH110 - cheaper


def _close_others(keep: Collection[int]) -> None:
    """Close all inherited files except the standard files and `keep`."""
    first = 3
    if kernel.LIBC is not None:
        with contextlib.suppress(OSError):
            for fd in sorted(keep):
                kernel.LIBC.close_from(first, fd - 1)
                first = fd + 1
            kernel.LIBC.close_from(first)
            return
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) >= first and int(entry.name) not in keep:
            with contextlib.suppress(OSError):
                os.close(int(entry.name))


def _kill_descendants() -> None:
    """Kill and reap all descendants. Repeats, because they may fork meanwhile."""
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in kernel.descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


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
