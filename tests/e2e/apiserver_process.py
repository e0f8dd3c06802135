"""`jangar apiserver` as a process that a test starts, kills and restarts on the same directory."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from support.api_servers import _is_up, _read_kubeconfig
from support.child_processes import Child
from support.kube_http import Answer, HttpClient, Stream

JANGAR = Path(sys.executable).with_name("jangar")
START = 30.0
JSON = {"Content-Type": "application/json"}
MERGE = "application/merge-patch+json"


class ServerProcess:
    """One server on one directory; `start` may be called again after it ended."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.kubeconfig = directory / "kubeconfig"
        self._options = options
        self._child: Child | None = None
        self.start_seconds = self.start_cpu_seconds = 0.0

    @property
    def child(self) -> Child:
        assert self._child is not None, "the server was not started"
        return self._child

    @property
    def pid(self) -> int:
        return self.child.pid

    def launch(self) -> Child:
        """Start the process without waiting until it is ready."""
        return Child(
            "apiserver",
            [
                JANGAR,
                "apiserver",
                *("--data-dir", self.data),
                *("--port", "0"),
                *("--kubeconfig", self.kubeconfig),
                *self._options,
            ],
            self.directory,
            env={"HOME": str(self.directory / "home")},
        )

    def start(self) -> "ServerProcess":
        self.kubeconfig.unlink(missing_ok=True)
        began = time.monotonic()
        self._child = self.launch()
        self.child.wait_until(self.kubeconfig.exists, seconds=START)
        self.url, self.token, self.ca = _read_kubeconfig(self.kubeconfig)
        self.child.wait_until(lambda: _is_up(self.client(), "/readyz"), seconds=START)
        self.start_seconds = time.monotonic() - began
        self.start_cpu_seconds = self.cpu_seconds
        return self

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the process, independent of other processes."""
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def client(self, *, token: str | None = None) -> HttpClient:
        return HttpClient(url=self.url, token=self.token if token is None else token, ca=self.ca)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.child.stop(first=signal.SIGKILL)

    def stop(self) -> float:
        """Send SIGTERM; return the seconds until it ended."""
        began = time.monotonic()
        self.child.stop()
        return time.monotonic() - began

    @property
    def exit_code(self) -> int | None:
        return self.child._process.poll()

    @property
    def log(self) -> str:
        return self.child.log.read_text(errors="replace")

    @property
    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


@contextmanager
def running(directory: Path, *options: str) -> Iterator[ServerProcess]:
    server = ServerProcess(directory, *options)
    try:
        yield server.start()
    finally:
        if server._child is not None:
            server.kill()


def send(
    client: HttpClient, method: str, path: str, body: Any = None, media: str = JSON["Content-Type"]
) -> Answer:
    content = None if body is None else json.dumps(body).encode()
    return client.request(method, path, content, {"Content-Type": media} if content else {})


def sent(
    client: HttpClient, method: str, path: str, body: Any = None, media: str = JSON["Content-Type"]
) -> Any:
    """The body of a successful response."""
    answer = send(client, method, path, body, media)
    assert answer.is_success, f"{method} {path}: {answer.status} {answer.content[:1000]!r}"
    return answer.body


class Served(Protocol):
    """A server that accepts requests."""

    def client(self) -> HttpClient: ...


def in_parallel(server: Served, requests: Sequence[tuple[str, str, Any]], *, callers: int = 8) -> None:
    """Send all requests in parallel; each must succeed."""
    numbers, failures = count(), []

    def call() -> None:
        client = server.client()
        while (number := next(numbers)) < len(requests) and not failures:
            method, path, body = requests[number]
            answer = send(client, method, path, body, MERGE if method == "PATCH" else JSON["Content-Type"])
            if not answer.is_success:
                failures.append(f"{method} {path}: {answer.status} {answer.content[:500]!r}")
        client.close()

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def story(watch: Stream, last: int) -> list[tuple[int, str, str]]:
    """A watch up to a revision: revision, type and name of each event."""
    reported: list[tuple[int, str, str]] = []
    while not reported or reported[-1][0] != last:
        event = watch.next(seconds=20)
        assert event is not None, "the watch ended"
        assert event["type"] != "ERROR", event
        meta = event["object"]["metadata"]
        reported.append((int(meta["resourceVersion"]), event["type"], meta["name"]))
    return reported
