"""When a finished job is deleted. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from picokube.nodeagent import timestamps


def expires_at(job: Mapping[str, Any]) -> datetime | None:
    """The end of its time to live; None for a job that stays or still runs."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None:
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return timestamps.read(condition["lastTransitionTime"]) + timedelta(seconds=seconds)
    return None
