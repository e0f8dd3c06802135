"""The data directory of the local control plane: its paths and permissions, and the one process that uses it.

A kernel file lock decides which process that is; the kernel releases it when the process ends. The file next to the
lock only describes the process.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from jangar.settings.laptop import DATA_DIR
from kubekit.private_files import private_directory, write_private

FOLDER = "jangar"


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """One data directory."""

    directory: Path

    @classmethod
    def of(cls, directory: Path | None, environment: Mapping[str, str]) -> "DataDirectory":
        """The given directory, or $JANGAR_DATA_DIR, or `$XDG_DATA_HOME/jangar` (default: `~/.local/share/jangar`)."""
        if directory is None and (named := DATA_DIR.read(environment)):
            directory = Path(named)
        if directory is None:
            home = Path(environment.get("HOME") or Path.home())
            data_home = environment.get("XDG_DATA_HOME") or ""
            # The XDG specification requires relative paths to be ignored.
            data = Path(data_home) if data_home.startswith("/") else home / ".local" / "share"
            directory = data / FOLDER
        return cls(directory.absolute())

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def lock(self) -> Path:
        """Locked by the process that uses the directory."""
        return self.directory / "laptop.lock"

    @property
    def instance(self) -> Path:
        """Information that the process publishes about itself."""
        return self.directory / "laptop.json"

    @property
    def kinds(self) -> Path:
        """Fingerprint of the CRDs that were installed last."""
        return self.directory / "installed-kinds"

    @property
    def history(self) -> Path:
        """The history database."""
        return self.directory / "history.sqlite"

    @property
    def page_token(self) -> Path:
        """Token that opens the web page; deleting it ends all sessions at the next start."""
        return self.directory / "page-token"

    @property
    def page_port(self) -> Path:
        """Last port of the web page; reusing it lets open browser tabs reconnect."""
        return self.directory / "page-port"


DATA_FILE_PREFIXES: Final = (
    "objects.db",
    "history.sqlite",
    "tokens.json",
    "kubeconfig",
    "page-token",
    "page-port",
    "server.log",
    "laptop.json",
    "laptop.lock",
    "installed-kinds",
    "node-agent-of",
)
"""Prefixes of the file names that Jangar creates."""


def private_data_directory(directory: Path) -> None:
    """Create the directory if it is missing and remove access of other users. Raises NotPrivate and OSError."""
    private_directory(directory, DATA_FILE_PREFIXES)


STATE_PATH: Final = "/jangar/state"
"""Route of the process that returns its state to administrators, next to the Kubernetes API."""
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
