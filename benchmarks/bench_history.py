"""How long lists of 100,000 runs take, on SQLite and on PostgreSQL: asked of the store, and of `/v1/runs` over HTTP.

The control plane is the shipped process, in front of the embedded API server. Each question is asked so often one after
another; the goals are those of the median, a page 50 ms and a filter 100 ms.
"""

import asyncio
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Ended, Listing, Place, RunRow
from jangar.store.urls import parse_url

ROWS = int(os.environ.get("JANGAR_HISTORY_ROWS", "100000"))
SAMPLES = int(os.environ.get("JANGAR_HISTORY_SAMPLES", "100"))
PAGE_GOAL, FILTER_GOAL = 50.0, 100.0
JANGAR = Path(sys.executable).with_name("jangar")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PHASES = ("Succeeded",) * 17 + ("Failed",) * 2 + ("Cancelled",)


def _ended(number: int) -> Ended:
    # All of them are runs that lists show: the worst case of a list.
    is_root = number % 10 == 0 or os.environ.get("JANGAR_HISTORY_ROOTS", "1") == "1"
    root = f"uid-{number if is_root else number - number % 10:08}"
    at = NOON + timedelta(seconds=number)
    return Ended(
        run=RunRow(
            definition=f"nightly-{number // 10 % 50}",
            message="all steps succeeded" if number % 7 else "step compile failed: NonZeroExit",
            uid=f"uid-{number:08}",
            kind="OrchestrationRun" if is_root else "ToolRun",
            namespace=f"team-{number // 10 % 5}",
            name=f"nightly-{number}",
            version=number,
            phase=PHASES[number % len(PHASES)],
            created_at=at - timedelta(minutes=5),
            started_at=at - timedelta(minutes=4),
            finished_at=at,
            updated_at=at,
            root_uid=root,
            owner_uid=None if is_root else root,
            outputs={"image": f"registry/nightly:{number}"},
            spec={"orchestrationRef": {"name": "nightly"}, "parameters": {"day": str(number)}},
        ),
        log_tail="a line of a log\n" * 20,
    )


KIND = "OrchestrationRun"
HALF = Place(created_at=NOON + timedelta(seconds=ROWS // 2), uid="uid-")
LISTINGS = {
    "newest": Listing(kind=KIND),
    "from the middle": Listing(kind=KIND, after=HALF),
    "1000 rows": Listing(kind=KIND, limit=1000),
    "filter: one namespace": Listing(kind=KIND, namespaces=("team-3",)),
    "filter: one phase": Listing(kind=KIND, phases=("Cancelled",)),
    "filter: three namespaces, two phases": Listing(
        kind=KIND, namespaces=("team-0", "team-2", "team-4"), phases=("Failed", "Cancelled")
    ),
    "filter: a phase that nothing has": Listing(kind=KIND, phases=("Nothing",)),
    "filter: one orchestration": Listing(kind=KIND, definition="nightly-7"),
    "filter: since an hour before the last": Listing(
        kind=KIND, created_after=NOON + timedelta(seconds=ROWS - 3600)
    ),
    "filter: nested too": Listing(kind=KIND, roots_only=False),
    "filter: text that is found": Listing(kind=KIND, text="NonZeroExit"),
    "filter: text of one run": Listing(kind=KIND, text="nightly-777 "),
    "filter: text that is not": Listing(kind=KIND, text="no such text"),
    "filter: text that is not, nested too": Listing(kind=KIND, text="no such text", roots_only=False),
    "filter: text that is not, one phase": Listing(kind=KIND, text="no such text", phases=("Succeeded",)),
}
QUERIES = {
    "newest": "",
    "1000 rows": "limit=1000",
    "filter: one namespace": "namespace=team-3",
    "filter: one phase": "phase=Cancelled",
    "filter: one namespace, two phases": "namespace=team-2&phase=Failed,Cancelled",
    "filter: one orchestration": "orchestration=nightly-7",
    "filter: since an hour": "sinceSeconds=3600",
    "filter: nested too": "nested=true",
    "filter: text that is found": "q=NonZeroExit",
    "filter: text of one run": "q=nightly-777%20",
    "filter: text that is not": "q=no%20such%20text",
    "filter: text that is not, nested too": "q=no%20such%20text&nested=true",
    "filter: text that is not, one phase": "q=no%20such%20text&phase=Succeeded",
}


class Figure(NamedTuple):
    """Milliseconds that a question took."""

    database: str
    way: str
    what: str
    p50: float
    p99: float

    @property
    def goal(self) -> float:
        return FILTER_GOAL if self.what.startswith("filter") else PAGE_GOAL

    @property
    def is_met(self) -> bool:
        return self.p50 <= self.goal

    def __str__(self) -> str:
        verdict = "met" if self.is_met else "MISSED"
        figures = f"{self.p50:.1f} | {self.p99:.1f} | {self.goal:.0f}"
        return f"| {self.database} | {self.way} | {self.what} | {figures} | {verdict} |"


def _figure(database: str, way: str, what: str, times: list[float]) -> Figure:
    times.sort()
    return Figure(
        database, way, what, times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
    )


async def _fill(url: str) -> float:
    """Rows stored in a second."""
    history = DatabaseHistory(parse_url(url))
    began = time.perf_counter()
    for start in range(0, ROWS, 1000):
        await history.store([_ended(number) for number in range(start, start + 1000)])
    took = time.perf_counter() - began
    await history.close()
    return ROWS / took


async def _of_store(database: str, url: str) -> list[Figure]:
    history = DatabaseHistory(parse_url(url))
    found = [
        _figure(database, "store", name, await _timed(partial(history.listed, listing)))
        for name, listing in LISTINGS.items()
    ]
    await history.close()
    return found


async def _timed(ask: Callable[[], Awaitable[Any]]) -> list[float]:
    await ask()
    times = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        await ask()
        times.append((time.perf_counter() - began) * 1000)
    return times


def _of_http(database: str, url: str) -> Iterator[Figure]:
    """The shipped process, asked on a kept connection."""
    from support.api_servers import EmbeddedApiServer  # noqa: PLC0415
    from support.child_processes import Child, free_port  # noqa: PLC0415

    server, port = EmbeddedApiServer(), free_port()
    process = None
    try:
        subprocess.run(
            [JANGAR, "crds", "install", "--kubeconfig", server.kubeconfig],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        words = ["control-plane", "--kubeconfig", server.kubeconfig, "-n", "*", "--port", str(port)]
        process = Child(
            "control-plane", [JANGAR, *words], Path(tempfile.mkdtemp()), env={"DATABASE_URL": url}
        )
        connection = http.client.HTTPConnection(f"127.0.0.1:{port}", timeout=60)
        process.wait_until(lambda: _get(connection, "/ready", "")[0] == 200, seconds=60)
        for name, query in QUERIES.items():
            times = []
            for _ in range(SAMPLES + 1):
                began = time.perf_counter()
                status, body = _get(connection, f"/v1/runs?{query}", server.token)
                times.append((time.perf_counter() - began) * 1000)
                assert status == 200, body
            assert b'"history":"well"' in body
            yield _figure(database, "HTTP", name, times[1:])
    finally:
        if process is not None:
            process.stop()
        server.stop()


def _get(connection: http.client.HTTPConnection, path: str, token: str) -> tuple[int, bytes]:
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        connection.close()
        time.sleep(0.1)
        return 0, b""


def _measured(database: str, url: str) -> bool:
    """Print a line for each question; whether every goal is met."""
    filled = asyncio.run(_fill(url))
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    reported = f"{ROWS} runs stored, {filled:.0f} a second; {crowd:.1f} programs want each processor"
    print(f"{database}: {reported}", file=sys.stderr)
    is_met = True
    for figure in (*asyncio.run(_of_store(database, url)), *_of_http(database, url)):
        print(figure, flush=True)
        is_met &= figure.is_met
    return is_met


def main() -> int:
    """1 if a list takes longer than its goal."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.postgres_server import PostgresServer, why_no_postgres  # noqa: PLC0415

    print("| database | asked of | what | p50 (ms) | p99 (ms) | goal (ms) | |")
    print("|---|---|---|---|---|---|---|")
    wanted = os.environ.get("JANGAR_HISTORY_DATABASES", "sqlite,postgresql").split(",")
    is_met = True
    if "sqlite" in wanted:
        with tempfile.TemporaryDirectory() as directory:
            is_met &= _measured("sqlite", f"sqlite:///{directory}/history.sqlite")
    if "postgresql" in wanted and (obstacle := why_no_postgres()) is not None:
        print(f"postgresql: {obstacle}", file=sys.stderr)
    elif "postgresql" in wanted:
        server = PostgresServer()
        try:
            is_met &= _measured("postgresql", server.url)
        finally:
            server.stop()
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
