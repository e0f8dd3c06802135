"""`python -m jangar.nodeagent.supervisor DIRECTORY`: becomes a process of its own; returns when it can be reached."""

import fcntl
import os
import socket
import sys
from pathlib import Path

from jangar.nodeagent.supervisor import kernel, mount_namespace
from jangar.nodeagent.supervisor.daemon import Daemon

SOCKET = "socket"


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
        return 0 if os.read(ready, 1) else 1
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    _detach()
    kernel.adopt_orphans()
    mount_namespace.load()
    Path(SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    # A relative name: an absolute one may be longer than a socket's may be.
    listener.bind(SOCKET)
    Path(SOCKET).chmod(0o600)
    listener.listen(16)
    listener.setblocking(False)
    daemon = Daemon(directory, listener)
    os.write(tell, b"1")
    os.close(tell)
    daemon.run()
    Path(SOCKET).unlink()
    return 0


def _detach() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open("supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, fd in enumerate((null, log, log)):
        os.dup2(fd, number)
    os.close(null)
    os.close(log)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
