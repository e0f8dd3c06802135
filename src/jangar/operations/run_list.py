"""Lists runs. A page's cursor names its last row, so new runs do not shift later pages."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from jangar.api.phases import Phase
from jangar.operations.caller import Caller
from jangar.operations.run_documents import list_item
from jangar.operations.run_reading import RUNS
from jangar.store.errors import StoreError
from kubekit.client.api_client import Obj
from kubekit.times import parse_rfc3339, rfc3339

UID = re.compile(r"[-0-9A-Za-z]{1,64}")
Row = Mapping[str, Any]
"""A run as `run_documents.list_item` makes it."""
RowKey = tuple[str, str]
"""Creation time and uid, by which rows are sorted."""


class BadCursor(ValueError):
    """The text is no cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs a list contains."""

    namespaces: frozenset[str] | None = None
    """None for all."""
    phases: frozenset[Phase] = frozenset()
    orchestration: str | None = None
    text: str = ""
    """Case-insensitive text in the name, namespace, orchestration, reason or message."""
    since: datetime | None = None
    nested: bool = False
    """Include runs that are a step of another run."""

    def matches(self, row: Row) -> bool:
        return (
            (self.namespaces is None or row["namespace"] in self.namespaces)
            and (not self.phases or row["phase"] in self.phases)
            and (self.orchestration is None or row["orchestration"] == self.orchestration)
            and (self.nested or row["parent"] is None)
            and (self.since is None or datetime.fromisoformat(row["createdAt"]) >= self.since)
            and (not self.text or self._matches_text(row))
        )

    def _matches_text(self, row: Row) -> bool:
        text = self.text.casefold()
        fields = ("name", "orchestration", "reason", "message", "namespace")
        return any(text in str(row[field] or "").casefold() for field in fields)


class RunPage(NamedTuple):
    """Some rows, and the cursor of the next page."""

    rows: Sequence[Row]
    next: str | None
    is_complete: bool = True
    """False if the history is unreachable."""


class LiveRows(Protocol):
    """Rows of live runs."""

    def newest_first(self) -> Iterator[Row]: ...

    def has(self, uid: str) -> bool: ...


class PastRows(Protocol):
    """Rows of ended runs. Raises StoreError."""

    async def listed(self, wanted: RunFilter, *, after: RowKey | None, limit: int) -> Sequence[Row]: ...


async def list_runs(
    caller: Caller, wanted: RunFilter, *, namespace: str | None, labels: str = ""
) -> "tuple[list[Obj], int]":
    """The matching run objects of the API, oldest first, and the number of runs before filtering."""
    runs = await caller.client.list(RUNS, namespace, labels=labels)
    matching = sorted(
        (run for run in runs if wanted.matches(list_item(run))),
        key=lambda run: (run["metadata"]["creationTimestamp"], run["metadata"]["name"]),
    )
    return matching, len(runs)


async def list_run_page(
    live: LiveRows, past: PastRows | None, wanted: RunFilter, *, after: RowKey | None, limit: int
) -> RunPage:
    """Rows after a key from the cache and the history, newest first. A run that is in both counts as live."""
    rows, _ = page(live.newest_first(), wanted, after=after, limit=limit + 1)
    is_complete = True
    if past is not None:
        # Rows older than the last live row of a full page cannot be on this page.
        until = row_key(rows[-1]) if len(rows) > limit else None
        try:
            old = await _past_rows(live, past, wanted, after=after, until=until, limit=limit + 1)
        except StoreError:
            old, is_complete = [], False
        rows = sorted([*rows, *old], key=row_key, reverse=True)
    following = format_cursor(row_key(rows[limit - 1])) if len(rows) > limit else None
    return RunPage(rows[:limit], following, is_complete)


async def _past_rows(
    live: LiveRows,
    past: PastRows,
    wanted: RunFilter,
    *,
    after: RowKey | None,
    until: RowKey | None,
    limit: int,
) -> list[Row]:
    found: list[Row] = []
    while True:
        rows = await past.listed(wanted, after=after, limit=limit)
        for row in rows:
            if until is not None and row_key(row) < until:
                return found
            if not live.has(str(row["uid"])):
                found.append(row)
                if len(found) == limit:
                    return found
        if len(rows) < limit:
            return found
        after = row_key(rows[-1])


def row_key(row: Row) -> RowKey:
    """Position of a row in the list. Unique, because two runs may be created in one second."""
    return (str(row["createdAt"]), str(row["uid"]))


def page(
    rows: Iterable[Row], wanted: RunFilter, *, after: RowKey | None, limit: int
) -> tuple[list[Row], str | None]:
    """Up to `limit` matching rows after a key, and the cursor of the next page. `rows` are newest first."""
    found: list[Row] = []
    for row in rows:
        if after is not None and row_key(row) >= after:
            continue
        if wanted.matches(row):
            if len(found) == limit:
                return found, format_cursor(row_key(found[-1]))
            found.append(row)
    return found, None


def format_cursor(key: RowKey) -> str:
    return base64.urlsafe_b64encode("\n".join(key).encode()).decode().rstrip("=")


def parse_cursor(text: str) -> RowKey:
    """Raises BadCursor."""
    try:
        created, uid = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split("\n")
        created = rfc3339(parse_rfc3339(created))
    except (ValueError, binascii.Error, OverflowError) as error:
        raise BadCursor("invalid cursor: list again without a cursor") from error
    if UID.fullmatch(uid) is None:
        raise BadCursor("invalid cursor: list again without a cursor")
    return created, uid
