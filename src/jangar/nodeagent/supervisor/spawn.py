"""Starting one process: its own session and group, its environment and place, and an error told in words."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from jangar.nodeagent.supervisor import mount_namespace
from jangar.nodeagent.supervisor.orders import MARKER, Order


class NotStarted(Exception):
    """Why a process could not be started."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def spawn(order: Order, stdout: int, stderr: int) -> int:
    """The pid of the new process, which leads a session of its own. Raises NotStarted."""
    env = order.env | {MARKER: order.key.id}
    if order.mounts:
        return _fork(order, env, stdout, stderr)
    try:
        process = subprocess.Popen(  # noqa: S603 - what to run is what was ordered
            order.argv,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd=order.cwd,
            start_new_session=True,
            close_fds=False,
            user=order.user,
            group=order.group,
            extra_groups=order.groups or None,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise NotStarted(_words(order, error)) from error
    # Reaped by the supervisor, which also reaps what it adopted; the object must not wait for it.
    process.returncode = 0
    return process.pid


def _fork(order: Order, env: dict[str, str], stdout: int, stderr: int) -> int:
    """With a view of its own: the view is made between fork and exec."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            os.setsid()
            _exec(order, env, stdout, stderr)
        except BaseException as error:  # noqa: BLE001 - a child must never return into its parent's code
            with contextlib.suppress(OSError):
                os.write(tell, _words(order, error).encode()[:4000])
        finally:
            os._exit(127)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        message = pipe.read()
    if message:
        os.waitpid(pid, 0)
        raise NotStarted(message.decode(errors="replace"))
    return pid


def _exec(order: Order, env: dict[str, str], stdout: int, stderr: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    for number, fd in enumerate((null, stdout, stderr)):
        os.dup2(fd, number)
    mount_namespace.enter(order.mounts, order.hidden)
    # While we may: the place is the container's, the way to it is not.
    os.chdir(order.cwd)
    if order.groups:
        os.setgroups(order.groups)
    if order.group is not None:
        os.setregid(order.group, order.group)
    if order.user is not None:
        os.setreuid(order.user, order.user)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores them, and what is ignored stays ignored in a new program.
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(order.argv[0], order.argv, env)  # noqa: S606


def _words(order: Order, error: BaseException) -> str:
    match error:
        case FileNotFoundError(filename=order.cwd):
            return f"chdir to the working directory {order.cwd!r}: no such directory"
        case FileNotFoundError() if _is_program(order, error):
            return f'exec: "{order.argv[0]}": executable file not found in $PATH'
        case PermissionError() if _is_program(order, error):
            return f'exec: "{order.argv[0]}": permission denied'
        case OSError(strerror=words) if words:
            return f"{words}: {error.filename or order.argv[0]}"
        case _:
            return f"{type(error).__name__}: {error}"


def _is_program(order: Order, error: OSError) -> bool:
    """Whether an error is about the program itself: looked for in many places, it is named by the last of them."""
    return error.filename is None or Path(os.fsdecode(error.filename)).name == Path(order.argv[0]).name
