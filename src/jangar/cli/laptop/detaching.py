"""`jangar up` in the background: started as a process of its own, waited for until it is ready."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jangar.cli.exit_codes import ExitCode
from jangar.processes.data_files import private_data_directory
from jangar.processes.laptop_instance import Instance, instance_of

if TYPE_CHECKING:
    from jangar.processes.data_directory import DataDirectory

READY_SECONDS: Final = 90.0
LOOK_SECONDS: Final = 0.02


class NotStarted(Exception):
    """It ended, or was not ready in time; the message has its last words."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


def start_detached(
    place: "DataDirectory", options: Sequence[str], meanwhile: Callable[[], object] = lambda: None
) -> Instance:
    """A server that is ready. It has a session of its own: closing the terminal does not end it.

    What this process has to do anyway is done `meanwhile`.
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
        time.sleep(LOOK_SECONDS)
    process.terminate()
    raise NotStarted(f"not ready after {READY_SECONDS:.0f} s; see {place.log}")


def _last_output(log: Path, begins: int) -> str:
    with log.open("rb") as file:
        file.seek(begins)
        said = file.read().decode(errors="replace").strip().splitlines()
    own = [line.removeprefix("jangar up: ") for line in said if line.startswith("jangar up: ")]
    words = "\n".join(own or said[-5:])
    return words or f"the process exited without output; see {log}"
