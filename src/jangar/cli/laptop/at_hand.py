"""A control plane for a command that needs one: the laptop's own is started when nothing else is named."""

import os
import time
from typing import TYPE_CHECKING, Final

from jangar.cli.asking import Failure
from jangar.cli.laptop.detaching import NotStarted, start_detached
from jangar.cli.target import Target, is_left_to_us
from jangar.processes.laptop_instance import instance_of
from jangar.processes.laptop_place import Place

if TYPE_CHECKING:
    from jangar.processes.laptop_instance import Instance

STARTING_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05


def started_for(target: Target) -> "Instance | None":
    """The control plane that was started for this command; None if none was needed. It stays up afterwards."""
    if not is_left_to_us(target):
        return None
    place = Place.of(target.data_dir, os.environ)
    deadline = time.monotonic() + STARTING_SECONDS
    while (there := instance_of(place)) is not None:
        if there.is_ready:
            return None
        if time.monotonic() > deadline:
            raise Failure(f"jangar has been starting for a minute, as process {there.pid}; see {place.log}")
        time.sleep(LOOK_SECONDS)
    try:
        return start_detached(place, [])
    except NotStarted as error:
        raise Failure(f"no control plane could be started: {error}") from error
