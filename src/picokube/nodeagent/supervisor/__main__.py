"""`python -m picokube.nodeagent.supervisor DIRECTORY`: starts the daemon and returns when its socket is listening."""

import contextlib
import fcntl
import os
import socket
import sys
from pathlib import Path

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.daemon import Daemon, log
from picokube.nodeagent.supervisor.isolation import best_isolation
from picokube.nodeagent.supervisor.kernel import raise_limits

SOCKET = "socket"
READY = 0
MAX_EXIT_CODE = 126
OOM_SCORE = b"-900"
"""Only root can lower it."""


def main(directory: Path) -> int:
    """Start the supervisor of a directory, unless it is running. Returns the exit code."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chdir(directory)
    lock = os.open("lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    reader, writer = os.pipe2(os.O_CLOEXEC)
    if os.fork() > 0:
        os.close(writer)
        code = os.read(reader, 1)
        return code[0] if code else 1
    try:
        daemon = _daemon(directory)
    except OSError as error:
        os.write(writer, bytes([_exit_code(error)]))
        os._exit(1)
    os.write(writer, bytes([READY]))
    os.close(writer)
    daemon.run()
    Path(SOCKET).unlink()
    return 0


def _daemon(directory: Path) -> Daemon:
    """Detach and create the daemon with a listening socket. Raises OSError."""
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    _detach()
    kernel.load_libc()
    _protect()
    isolation = best_isolation()
    files = raise_limits()
    log(f"supervisor started isolation={isolation}")
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    # Relative, because an absolute path may exceed the length limit of sockets.
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    listener.listen(16)
    listener.setblocking(False)
    return Daemon(directory, listener, isolation, files)


def _exit_code(error: OSError) -> int:
    """The errno, from which the agent knows which resource is exhausted."""
    return error.errno if error.errno is not None and 0 < error.errno < MAX_EXIT_CODE else 1


def _detach() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        log_file = os.open("supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        # With a full disk, run without a log.
        log_file = os.dup(null)
    for number, fd in enumerate((null, log_file, log_file)):
        os.dup2(fd, number)
    os.close(null)
    os.close(log_file)


def _protect() -> None:
    """Adopt orphans of containers, deny other processes access to our memory, and lower our OOM score."""
    if kernel.LIBC is None:
        return
    kernel.LIBC.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    kernel.LIBC.prctl(kernel.PR_SET_DUMPABLE, 0)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(OOM_SCORE)


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]).absolute()))
    except OSError as problem:
        sys.exit(_exit_code(problem))
