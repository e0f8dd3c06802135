"""Whether containers on this machine can start `jangar runner`: they run as another user if the agent is root."""

import os
import sys

from picokube.nodeagent.pods.container_request import inaccessible_parent
from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.isolation import best_isolation


def why_no_runner() -> str | None:
    """The reason why they cannot; None if they can."""
    if os.geteuid() != 0 or (closed := inaccessible_parent(sys.base_prefix)) is None:
        return None
    kernel.load_libc()
    if best_isolation().has_mounts:
        return None
    return f"{closed} is closed to other users, and this machine allows no mount namespace to open a way"
