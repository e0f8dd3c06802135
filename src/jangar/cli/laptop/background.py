"""Starts the local control plane in the background: for `jangar up --detach`, and for commands that need one."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import Target, may_auto_start
from jangar.processes.data_directory import DataDirectory, Instance, instance_of, private_data_directory

READY_SECONDS: Final = 90.0
OTHER_START_SECONDS: Final = 60.0
"""How long to wait for a control plane that another command is starting."""
POLL_SECONDS: Final = 0.02


class NotStarted(Exception):
    """The process ended or was not ready in time; the message has its last output."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


def start_detached(
    place: DataDirectory, options: Sequence[str], meanwhile: Callable[[], object] = lambda: None
) -> Instance:
    """Start a control plane and wait until it is ready. Its own session keeps it running when the terminal closes.

    `meanwhile` is called while the process starts. Raises NotStarted.
    """
    private_data_directory(place.directory)
    with os.fdopen(os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        begins = log.tell()
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "jangar.cli", "up", "--data-dir", str(place.directory), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=os.environ | {"JANGAR_DETACHED": "1"},
            start_new_session=True,
        )
    meanwhile()
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        instance = instance_of(place)
        if instance is not None and instance.is_ready and instance.pid == process.pid:
            return instance
        if process.poll() is not None:
            is_mistake = process.returncode == ExitCode.USAGE
            raise NotStarted(
                _last_output(place.log, begins), ExitCode.USAGE if is_mistake else ExitCode.FAILED
            )
        time.sleep(POLL_SECONDS)
    process.terminate()
    raise NotStarted(f"not ready after {READY_SECONDS:.0f} s; see {place.log}")


def _last_output(log: Path, begins: int) -> str:
    with log.open("rb") as file:
        file.seek(begins)
        lines = file.read().decode(errors="replace").strip().splitlines()
    own = [line.removeprefix("jangar up: ") for line in lines if line.startswith("jangar up: ")]
    return "\n".join(own or lines[-5:]) or f"the process exited without output; see {log}"


def start_if_needed(target: Target) -> Instance | None:
    """Start a local control plane if the command needs one; returns it if so. It keeps running afterwards."""
    if not may_auto_start(target):
        return None
    place = DataDirectory.of(target.data_dir, os.environ)
    deadline = time.monotonic() + OTHER_START_SECONDS
    while (instance := instance_of(place)) is not None:
        if instance.is_ready:
            return None
        if time.monotonic() > deadline:
            raise Failure(f"jangar (process {instance.pid}) is not ready after 60 s; see {place.log}")
        time.sleep(POLL_SECONDS)
    try:
        return start_detached(place, [], meanwhile=_import_client)
    except NotStarted as error:
        raise Failure(f"cannot start a control plane: {error}") from error


def _import_client() -> None:
    """Import the client while the server starts: it takes a third of that time."""
    import kubekit.client.api_client  # noqa: PLC0415
    import kubekit.client.http_transport  # noqa: F401, PLC0415
