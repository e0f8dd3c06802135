"""How long history takes to list 100,000 rows, on SQLite and, where it is installed, on PostgreSQL."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Ended, Line, Listing, Place, Position, Query, RunRow
from jangar.store.urls import parse_url

ROWS = int(os.environ.get("JANGAR_HISTORY_ROWS", "100000"))
GOAL_MILLISECONDS = 50.0
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


async def _measure(url: str) -> dict[str, float]:
    history = DatabaseHistory(parse_url(url))
    began = time.perf_counter()
    for start in range(0, ROWS, 1000):
        await history.store([_ended(number) for number in range(start, start + 1000)])
    filling = time.perf_counter() - began
    middle = Position(finished_at=NOON + timedelta(seconds=ROWS // 2), uid=f"uid-{ROWS // 2:08}")
    queries = {
        "newest": Query(),
        "one namespace": Query(namespace="team-3"),
        "from the middle": Query(namespace="team-3", after=middle),
        "failed ones": Query(namespace="team-3", phases=("Failed",)),
        "all kinds": Query(roots_only=False),
        "by name": Query(namespace="team-3", name="nightly-31", roots_only=False),
    }
    found = {"rows stored per second": ROWS / filling}
    for name, query in queries.items():
        found |= await _timed(f"list, {name}", partial(history.page, query))
    for name, listing in LISTINGS.items():
        found |= await _timed(f"page, {name}", partial(history.listed, listing))
    await history.close()
    return found


KIND = "OrchestrationRun"
HALF = Place(created_at=NOON + timedelta(seconds=ROWS // 2), uid="uid-")
LISTINGS = {
    "newest": Listing(kind=KIND),
    "from the middle": Listing(kind=KIND, after=HALF),
    "1000 rows": Listing(kind=KIND, limit=1000),
    "filter: one namespace": Listing(kind=KIND, namespaces=("team-3",)),
    "filter: three namespaces, two phases": Listing(
        kind=KIND, namespaces=("team-0", "team-2", "team-4"), phases=("Failed", "Cancelled")
    ),
    "filter: a phase that nothing has": Listing(kind=KIND, phases=("Nothing",)),
    "filter: one orchestration": Listing(kind=KIND, definition="nightly-7"),
    "filter: text that is found": Listing(kind=KIND, text="NonZeroExit"),
    "filter: text that is not": Listing(kind=KIND, text="no such text"),
    "filter: text that is not, nested too": Listing(kind=KIND, text="no such text", roots_only=False),
}


async def _timed(name: str, ask: Callable[[], Awaitable[list[RunRow] | list[Line]]]) -> dict[str, float]:
    times = []
    for _ in range(20):
        began = time.perf_counter()
        await ask()
        times.append((time.perf_counter() - began) * 1000)
    return {f"{name} (ms, median)": median(times), f"{name} (ms, worst of 20)": max(times)}


def main() -> int:
    """Print what was measured; 1 if a list takes longer than its goal."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.postgres_server import PostgresServer, why_no_postgres  # noqa: PLC0415

    found = {}
    wanted = os.environ.get("JANGAR_HISTORY_DATABASES", "sqlite,postgresql").split(",")
    if "sqlite" in wanted:
        with tempfile.TemporaryDirectory() as directory:
            found["sqlite"] = asyncio.run(_measure(f"sqlite:///{directory}/history.sqlite"))
    if "postgresql" in wanted and (obstacle := why_no_postgres()) is not None:
        print(f"postgresql: {obstacle}")
    elif "postgresql" in wanted:
        server = PostgresServer()
        try:
            found["postgresql"] = asyncio.run(_measure(server.url))
        finally:
            server.stop()
    missed = False
    for name, figures in found.items():
        for what, value in figures.items():
            print(f"{name:12} {what:60} {value:10.1f}")
            goal = GOAL_MILLISECONDS * (2 if "filter" in what else 1)
            missed |= "median" in what and value > goal
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
