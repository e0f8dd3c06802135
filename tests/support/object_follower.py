"""All objects that a watch of one path showed, from construction until `stop`. Independent of the kind."""

import contextlib
from abc import ABC, abstractmethod
from threading import Event, Lock, Thread
from typing import Any

from support.kube_http import HttpClient, TooLate

ROUND = 5.0
AGAIN = 0.2


class ObjectFollower(ABC):
    """Lists and watches in its own thread; every version of every object goes to `take`."""

    def __init__(self, client: HttpClient, path: str) -> None:
        self._client, self._path = client, path
        self._lock, self._over = Lock(), Event()
        self._thread = Thread(target=self._follow, name=f"follows {path}", daemon=True)
        self._thread.start()

    @abstractmethod
    def take(self, version: dict[str, Any]) -> None:
        """One version of one object; called with the lock held."""

    def stop(self) -> None:
        self._over.set()
        self._thread.join(ROUND * 3)
        self._client.close()

    def _follow(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, TooLate):
                answer = self._client.request("GET", self._path)
                if not answer.is_success:  # a kind that is not served yet
                    self._over.wait(AGAIN)
                    continue
                for item in answer.body["items"]:
                    self._take(item)
                self._watch(answer.body["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> None:
        with self._client.stream(f"{self._path}?watch=1&resourceVersion={version}", seconds=ROUND) as stream:
            while not self._over.is_set():
                try:
                    event = stream.next(seconds=ROUND)
                except TooLate:
                    return
                if event is None or event["type"] == "ERROR":
                    return
                self._take(event["object"])

    def _take(self, version: dict[str, Any]) -> None:
        with self._lock:
            self.take(version)
