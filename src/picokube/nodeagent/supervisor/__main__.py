"""`python -m picokube.nodeagent.supervisor DIRECTORY`: becomes a process of its own; returns when it can be reached."""

import contextlib
import fcntl
import os
import socket
import sys
from pathlib import Path

from picokube.nodeagent.supervisor import libc
from picokube.nodeagent.supervisor.daemon import Daemon, log
from picokube.nodeagent.supervisor.isolation import best_isolation
from picokube.nodeagent.supervisor.resources import raise_limits

SOCKET = "socket"
READY = 0
MAX_EXIT_CODE = 126
OOM_SCORE = b"-900"
"""Only root may lower it."""


def main(directory: Path) -> int:
    """One supervisor a directory: where one runs already, nothing is done."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chdir(directory)
    lock = os.open("lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    ready, tell = os.pipe2(os.O_CLOEXEC)
    if os.fork() > 0:
        os.close(tell)
        answer = os.read(ready, 1)
        return answer[0] if answer else 1
    try:
        daemon = _daemon(directory)
    except OSError as error:
        os.write(tell, bytes([_exit_code(error)]))
        os._exit(1)
    os.write(tell, bytes([READY]))
    os.close(tell)
    daemon.run()
    Path(SOCKET).unlink()
    return 0


def _daemon(directory: Path) -> Daemon:
    """In a process of its own, with a socket that listens. Raises OSError."""
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    _detach()
    libc.load()
    _protect()
    isolation = best_isolation()
    files = raise_limits()
    log(f"isolation: {isolation}")
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    # A relative name: an absolute one may be longer than a socket's may be.
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    listener.listen(16)
    listener.setblocking(False)
    return Daemon(directory, listener, isolation, files)


def _exit_code(error: OSError) -> int:
    """The number of the error, by which the agent knows what the machine has too little of."""
    return error.errno if error.errno is not None and 0 < error.errno < MAX_EXIT_CODE else 1


def _detach() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        written = os.open("supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        # A full disk costs our log, not the work.
        written = os.dup(null)
    for number, fd in enumerate((null, written, written)):
        os.dup2(fd, number)
    os.close(null)
    os.close(written)


def _protect() -> None:
    """Orphans of containers become ours, other processes of our user cannot read us, and the kernel ends us last."""
    if libc.LIBC is None:
        return
    libc.LIBC.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)
    libc.LIBC.prctl(libc.PR_SET_DUMPABLE, 0)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(OOM_SCORE)


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]).absolute()))
    except OSError as problem:
        sys.exit(_exit_code(problem))
