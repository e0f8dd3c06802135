"""Adds runs that only the pod status records, not the supervisor. Such a container must not run again. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from picokube.nodeagent.supervisor.protocol import Run, RunKey

PREFIX = "process://"
RECORDS_LOST = "RecordsLost"


def known_runs(pod: Mapping[str, Any], runs: Sequence[Run], *, now: datetime) -> list[Run]:
    """The supervisor's runs, and a lost run for each start that only the status records."""
    status = pod.get("status") or {}
    recorded = {run.key for run in runs}
    all_runs = list(runs)
    for group in ("initContainerStatuses", "containerStatuses"):
        for container_status in status.get(group) or ():
            key = _parse_container_id(container_status.get("containerID", ""))
            if key is not None and key.pod == pod["metadata"]["uid"] and key not in recorded:
                all_runs.append(_lost_run(key, now))
    return all_runs


def _parse_container_id(container_id: str) -> RunKey | None:
    if not container_id.startswith(PREFIX):
        return None
    pod, container, restart = container_id.removeprefix(PREFIX).split("/")
    return RunKey(pod, container, int(restart))


def _lost_run(key: RunKey, now: datetime) -> Run:
    return Run(
        key=key,
        state="lost",
        code=137,
        started_at=now.timestamp(),
        finished_at=now.timestamp(),
        reason=RECORDS_LOST,
        message="the node agent's record of the container is missing; its exit code is unknown",
    )
