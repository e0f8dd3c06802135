"""How often work ran, as a node tells it: every container of a marked pod that was ever seen started."""

import contextlib
from collections import Counter
from threading import Event, Lock, Thread
from typing import Any

from support.kube_http import HttpClient, TooLate

MARK = "MARK"
PATH = "/api/v1/pods"
ROUND = 5.0


class PodLedger:
    """Watches all pods from its making until `stop`; a pod that is deleted meanwhile stays counted."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._started: dict[str, tuple[str, str]] = {}
        self._lock, self._over = Lock(), Event()
        self._thread = Thread(target=self._follow, name="pod-ledger", daemon=True)
        self._thread.start()

    def executions(self, namespace: str) -> Counter[str]:
        with self._lock:
            return Counter(mark for within, mark in self._started.values() if within == namespace)

    def stop(self) -> None:
        self._over.set()
        self._thread.join(ROUND * 3)
        self._client.close()

    def _follow(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, TooLate):
                listed = self._client.request("GET", PATH).body
                for pod in listed["items"]:
                    self._take(pod)
                self._watch(listed["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> None:
        with self._client.stream(f"{PATH}?watch=1&resourceVersion={version}", seconds=ROUND) as stream:
            while not self._over.is_set():
                try:
                    event = stream.next(seconds=ROUND)
                except TooLate:
                    return
                if event is None or event["type"] == "ERROR":
                    return
                self._take(event["object"])

    def _take(self, pod: dict[str, Any]) -> None:
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        if not any({"running", "terminated"} & each.get("state", {}).keys() for each in statuses):
            return
        given = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0].get("env") or ()}
        with self._lock:
            self._started[pod["metadata"]["uid"]] = (pod["metadata"]["namespace"], given.get(MARK) or "")
