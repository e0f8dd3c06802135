"""Ensures that one process at a time uses a data directory, and finds that process.

A kernel file lock decides; the kernel releases it when the process ends. The file beside it only describes the process.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final

from jangar.processes.data_directory import DataDirectory
from jangar.processes.data_files import private_data_directory
from kubekit.private_files import write_private

LOCK_ATTEMPTS: Final = 10
LOCK_RETRY_SECONDS: Final = 0.02
"""`instance_of` holds the lock for a moment."""


class AlreadyUp(Exception):
    """Another process uses this data directory."""

    def __init__(self, instance: "Instance") -> None:
        super().__init__(f"jangar is already up (process {instance.pid})")
        self.instance = instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What a process published about itself; without a server it is still starting."""

    pid: int
    started_at: str = ""
    version: str = ""
    server: str = ""
    kubeconfig: str = ""
    data_dir: str = ""
    url: str = ""
    """URL of the web page and HTTP API, without the token."""

    @property
    def is_ready(self) -> bool:
        return bool(self.server)


class InstanceLock:
    """A lock that this process holds on the directory; publishes information about the process."""

    def __init__(self, place: DataDirectory) -> None:
        self._place = place

    def publish(self, instance: Instance) -> None:
        write_private(self._place.instance, json.dumps(asdict(instance)) + "\n")


@contextmanager
def hold_directory(place: DataDirectory) -> Iterator[InstanceLock]:
    """Lock the directory while the block runs; creates it if it is missing. Raises AlreadyUp and NotPrivate."""
    private_data_directory(place.directory)
    descriptor = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _try_lock(descriptor):
            raise AlreadyUp(_read_instance(place, descriptor))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        place.instance.unlink(missing_ok=True)
        yield InstanceLock(place)
        place.instance.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def instance_of(place: DataDirectory) -> Instance | None:
    """The process that uses this directory now; None if there is none."""
    try:
        descriptor = os.open(place.lock, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_instance(place, descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def page_address(place: DataDirectory, instance: Instance) -> str:
    """The URL that opens the web page. It contains the token: show it only to the owner."""
    try:
        return f"{instance.url}/?token={place.page_token.read_text().strip()}" if instance.url else ""
    except OSError:
        return ""


def _try_lock(descriptor: int) -> bool:
    for _ in range(LOCK_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_RETRY_SECONDS)
        else:
            return True
    return False


def _read_instance(place: DataDirectory, descriptor: int) -> Instance:
    """What the lock holder published; the file of an earlier process is ignored."""
    text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    pid = int(text) if text.isdigit() else 0
    try:
        instance = Instance(**json.loads(place.instance.read_text()))
    except (OSError, ValueError, TypeError):
        return Instance(pid=pid)
    return instance if instance.pid == pid else Instance(pid=pid)
