"""A process that stores rows until it is killed, and prints each batch that is stored (test_history_crashes)."""

import asyncio
import sys
from dataclasses import replace

from contract.store.history_rows import ended, step
from jangar.store.database_history import DatabaseHistory
from jangar.store.urls import parse_url

BATCH = 7


def numbered(number: int):
    """The same row for every process: a second one repeats the writes of the first."""
    row = ended(
        f"r{number}",
        at=number,
        steps=[step(0, f"a{number}"), step(1, f"b{number}")],
        log_tail=f"log {number}",
    )
    return replace(row, run=replace(row.run, version=number + 1))


async def _write(url: str, first: int) -> None:
    history = DatabaseHistory(parse_url(url))
    while True:
        await history.store([numbered(number) for number in range(first, first + BATCH)])
        first += BATCH
        print(first, flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_write(sys.argv[1], int(sys.argv[2])))
