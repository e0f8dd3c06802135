"""Live and past runs as one list. A run that has ended is in both while its object is there: then that counts."""

from collections.abc import Sequence
from typing import NamedTuple

from jangar.operations.live_runs import LiveRuns
from jangar.operations.past_runs import PastRuns
from jangar.operations.run_list import Row, RunOptions, cursor, page, place
from jangar.store.errors import StoreError


class RunPage(NamedTuple):
    """Some rows, and where the next ones begin."""

    rows: Sequence[Row]
    next: str | None
    is_whole: bool = True
    """Whether history could be asked, where there is one."""


async def run_page(
    live: LiveRuns, past: PastRuns | None, wanted: RunOptions, *, after: tuple[str, str] | None, limit: int
) -> RunPage:
    """So many rows behind a place, the newest first."""
    found, _ = page(live.newest_first(), wanted, after=after, limit=limit + 1)
    is_whole = True
    if past is not None:
        # What is older than the last live row of a full page cannot be on it.
        until = place(found[-1]) if len(found) > limit else None
        try:
            old = await _gone(live, past, wanted, after=after, until=until, limit=limit + 1)
        except StoreError:
            old, is_whole = [], False
        found = sorted([*found, *old], key=place, reverse=True)
    following = cursor(place(found[limit - 1])) if len(found) > limit else None
    return RunPage(found[:limit], following, is_whole)


async def _gone(
    live: LiveRuns,
    past: PastRuns,
    wanted: RunOptions,
    *,
    after: tuple[str, str] | None,
    until: tuple[str, str] | None,
    limit: int,
) -> list[Row]:
    found: list[Row] = []
    while True:
        rows = await past.listed(wanted, after=after, limit=limit)
        for row in rows:
            if until is not None and place(row) < until:
                return found
            if not live.has(str(row["uid"])):
                found.append(row)
                if len(found) == limit:
                    return found
        if len(rows) < limit:
            return found
        after = place(rows[-1])
