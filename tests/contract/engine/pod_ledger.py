"""Executions as a node reports them: every container of a marked pod that was observed as started."""

from collections import Counter
from typing import Any

from support.kube_http import HttpClient
from support.object_follower import ObjectFollower

MARK = "MARK"
STEPS = ("agents.proompteng.ai/step", "jangar.proompteng.ai/step")
AGENT_RUN = "agents.proompteng.ai/agent-run"
AGENT_MARK = "work"


class PodLedger(ObjectFollower):
    """Watches all pods from construction until `stop`; deleted pods stay counted."""

    def __init__(self, client: HttpClient) -> None:
        self._started: dict[str, tuple[str, str]] = {}
        super().__init__(client, "/api/v1/pods")

    def executions(self, namespace: str) -> Counter[str]:
        with self._lock:
            return Counter(mark for within, mark in self._started.values() if within == namespace)

    def take(self, pod: dict[str, Any]) -> None:
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        if not any({"running", "terminated"} & status.get("state", {}).keys() for status in statuses):
            return
        self._started[pod["metadata"]["uid"]] = (pod["metadata"]["namespace"], _mark(pod))


def _mark(pod: dict[str, Any]) -> str:
    """The value of the tool's variable; for an agent, whose variables are the runner's, the name of its step."""
    given = {item["name"]: item.get("value") for item in pod["spec"]["containers"][0].get("env") or ()}
    labels = pod["metadata"].get("labels") or {}
    steps = [labels[name] for name in STEPS if labels.get(name)]
    return given.get(MARK) or next(iter(steps), AGENT_MARK if AGENT_RUN in labels else "")
