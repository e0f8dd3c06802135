"""A control plane for a command that needs one: the laptop's own is started when nothing else is named."""

import os
import time
from typing import TYPE_CHECKING, Final

from jangar.cli.api_session import Failure
from jangar.cli.laptop.detaching import NotStarted, start_detached
from jangar.cli.target import Target, may_auto_start
from jangar.processes.data_directory import DataDirectory
from jangar.processes.laptop_instance import instance_of

if TYPE_CHECKING:
    from jangar.processes.laptop_instance import Instance

STARTING_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05


def start_if_needed(target: Target) -> "Instance | None":
    """The control plane that was started for this command; None if none was needed. It stays up afterwards."""
    if not may_auto_start(target):
        return None
    place = DataDirectory.of(target.data_dir, os.environ)
    deadline = time.monotonic() + STARTING_SECONDS
    while (there := instance_of(place)) is not None:
        if there.is_ready:
            return None
        if time.monotonic() > deadline:
            raise Failure(f"jangar (process {there.pid}) is not ready after 60 s; see {place.log}")
        time.sleep(LOOK_SECONDS)
    try:
        return start_detached(place, [], meanwhile=_get_ready)
    except NotStarted as error:
        raise Failure(f"cannot start a control plane: {error}") from error


def _get_ready() -> None:
    """Load what talks to the server and shows the run: it takes a third as long as the server's start."""
    import kubekit.client.api_client  # noqa: PLC0415
    import kubekit.client.http_transport  # noqa: F401, PLC0415
