"""Whether containers on this machine can start `jangar runner`: they run as another user where the agent is root."""

import os
import sys

from picokube.nodeagent.pods.container_view import inaccessible_parent
from picokube.nodeagent.supervisor import libc
from picokube.nodeagent.supervisor.isolation import best_isolation


def why_no_runner() -> str | None:
    """What keeps them from it; None when nothing does."""
    if os.geteuid() != 0 or (closed := inaccessible_parent(sys.base_prefix)) is None:
        return None
    libc.load()
    if best_isolation().has_mounts:
        return None
    return f"{closed} is closed to other users, and this machine allows no mount namespace to open a way"
