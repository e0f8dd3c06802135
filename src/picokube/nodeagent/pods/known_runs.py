"""What a stored status remembers and the supervisor does not: such a container ran and must not run again. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from picokube.nodeagent.supervisor.orders import Run, RunKey

PREFIX = "process://"
RECORDS_LOST = "RecordsLost"


def known_runs(pod: Mapping[str, Any], runs: Sequence[Run], *, now: datetime) -> list[Run]:
    """The supervisor's, and for each start that only the status tells of a lost one."""
    status = pod.get("status") or {}
    told = {run.key for run in runs}
    found = list(runs)
    for group in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(group) or ():
            key = _key(each.get("containerID", ""))
            if key is not None and key.pod == pod["metadata"]["uid"] and key not in told:
                found.append(_lost(key, now))
    return found


def _key(container_id: str) -> RunKey | None:
    if not container_id.startswith(PREFIX):
        return None
    pod, container, restart = container_id.removeprefix(PREFIX).split("/")
    return RunKey(pod, container, int(restart))


def _lost(key: RunKey, now: datetime) -> Run:
    return Run(
        key=key,
        state="lost",
        code=137,
        started_at=now.timestamp(),
        finished_at=now.timestamp(),
        reason=RECORDS_LOST,
        message="the agent's records of it are gone; how it ended is not known",
    )
