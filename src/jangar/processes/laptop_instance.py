"""The one control plane of a data directory: who holds it, and what is known of the holder.

A lock of the kernel decides, and goes with its process however that ends; the file beside it only tells.
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

TRIES: Final = 10
TRY_SECONDS: Final = 0.02
"""Somebody who only looks holds the lock for a moment."""


class AlreadyUp(Exception):
    """Another process runs with this directory."""

    def __init__(self, instance: "Instance") -> None:
        super().__init__(f"jangar is up already, as process {instance.pid}")
        self.instance = instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """What a process told about itself; without a server it is still starting."""

    pid: int
    started_at: str = ""
    version: str = ""
    server: str = ""
    kubeconfig: str = ""
    data_dir: str = ""
    url: str = ""
    """Of the web page and the HTTP API, without the token that opens it."""

    @property
    def is_ready(self) -> bool:
        return bool(self.server)


class Holding:
    """The directory is ours; what we tell about ourselves can be read by others."""

    def __init__(self, place: DataDirectory) -> None:
        self._place = place

    def tell(self, instance: Instance) -> None:
        write_private(self._place.instance, json.dumps(asdict(instance)) + "\n")


@contextmanager
def holding(place: DataDirectory) -> Iterator[Holding]:
    """Own the directory, made if it is not there, until the block ends. Raises AlreadyUp and NotPrivate."""
    private_data_directory(place.directory)
    descriptor = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(descriptor):
            raise AlreadyUp(_told(place, descriptor))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        place.instance.unlink(missing_ok=True)
        yield Holding(place)
        place.instance.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def instance_of(place: DataDirectory) -> Instance | None:
    """The process that runs with this directory now; None if none does."""
    try:
        descriptor = os.open(place.lock, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _told(place, descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def page_address(place: DataDirectory, instance: Instance) -> str:
    """What opens the web page, for its owner alone: the token stands in it."""
    try:
        return f"{instance.url}/?token={place.page_token.read_text().strip()}" if instance.url else ""
    except OSError:
        return ""


def _locked(descriptor: int) -> bool:
    for _ in range(TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(TRY_SECONDS)
        else:
            return True
    return False


def _told(place: DataDirectory, descriptor: int) -> Instance:
    """What the holder wrote; what a process before it left behind does not count."""
    written = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    pid = int(written) if written.isdigit() else 0
    try:
        instance = Instance(**json.loads(place.instance.read_text()))
    except (OSError, ValueError, TypeError):
        return Instance(pid=pid)
    return instance if instance.pid == pid else Instance(pid=pid)
