"""History in a database. Heavy to import, as all that knows SQL: callers do so when they first need it.

Nothing is opened or changed before the first question. A writer brings the tables to the version it knows, and a
reader changes nothing.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import sqlalchemy as sa

from jangar.store import listing as lists
from jangar.store import log_parts, pruning, queries, trails, upserts
from jangar.store.database import database_at
from jangar.store.errors import NoSpace, NotHistory
from jangar.store.migrations.location import NEWEST
from jangar.store.rows import (
    AuditRow,
    Before,
    Ended,
    EventRow,
    KeyRow,
    Known,
    Line,
    Listing,
    LogPart,
    Query,
    RunRow,
    StepRow,
    StoredObject,
)
from jangar.store.urls import DatabaseAddress
from jangar.store.versions import version_of
from kubekit.private_files import release_pages

T = TypeVar("T")
PRUNED_AT_ONCE = 200
RELEASED_AT_ONCE = 4096
SPARE_PAGES = 256
NO_SPACE = "(no log: no space left on device)\n"


class DatabaseHistory:
    """One database's."""

    def __init__(self, address: DatabaseAddress, *, read_only: bool = False) -> None:
        self._database = database_at(address, read_only=read_only)
        self._prepare = _check if read_only else _bring_up
        self._is_ready = False
        self._preparing = asyncio.Lock()

    async def store(self, ended: Sequence[Ended]) -> None:
        try:
            await self._ask(partial(_store, ended=ended))
        except NoSpace:
            # What became of the work counts for more than its log.
            await self._ask(partial(_store, ended=[_without_log(item) for item in ended]))

    async def known(self, uids: Sequence[str]) -> Mapping[str, Known]:
        return await self._read(partial(queries.known, uids=uids))

    async def page(self, query: Query) -> list[RunRow]:
        return await self._read(partial(queries.page, query=query))

    async def listed(self, listing: Listing) -> list[Line]:
        return await self._read(partial(lists.listed, listing=listing))

    async def namespaces(self, kind: str) -> list[str]:
        return await self._read(partial(lists.namespaces, kind=kind))

    async def run(self, uid: str) -> RunRow | None:
        return await self._read(partial(queries.run, uid=uid))

    async def steps(self, run_uid: str) -> list[StepRow]:
        return await self._read(partial(queries.steps, run_uid=run_uid))

    async def log_tail(self, uid: str) -> str | None:
        return await self._read(partial(_log_tail, uid=uid))

    async def add_log_parts(self, uid: str, parts: Sequence[LogPart]) -> None:
        await self._ask(partial(log_parts.add, uid=uid, parts=parts))

    async def log_parts(self, uid: str) -> list[LogPart]:
        return await self._read(partial(log_parts.read, uid=uid))

    async def whole(self, uid: str) -> StoredObject | None:
        return await self._read(partial(queries.whole, uid=uid))

    async def add_events(self, rows: Sequence[EventRow]) -> None:
        await self._ask(partial(trails.add_events, rows=rows))

    async def events(self, uid: str, limit: int) -> list[EventRow]:
        return await self._read(partial(trails.events, uid=uid, limit=limit))

    async def add_audit(self, rows: Sequence[AuditRow]) -> None:
        await self._ask(partial(trails.add_audit, rows=rows))

    async def audit(self, namespaces: Sequence[str] | None, before: int | None, limit: int) -> list[AuditRow]:
        return await self._read(partial(trails.audit, namespaces=namespaces, before=before, limit=limit))

    async def reserve(self, wanted: KeyRow) -> KeyRow:
        return await self._ask(partial(trails.reserve, wanted=wanted))

    async def settle(self, made: KeyRow) -> None:
        await self._ask(partial(trails.settle, made=made))

    async def forget(self, unused: KeyRow) -> None:
        await self._ask(partial(trails.forget, unused=unused))

    async def prune(self, before: Before, *, limit: int = PRUNED_AT_ONCE) -> Mapping[str, int]:
        gone = await self._ask(partial(pruning.prune, before=before, limit=limit))
        if before.runs is None or any(gone.values()):
            return gone
        await self._database.run(_release_pages)
        left = await self._read(partial(pruning.remnants, before=before.runs, limit=limit))
        return await self._ask(partial(pruning.prune_remnants, found=left)) if any(left) else gone

    async def migrate(self, version: str) -> None:
        """Forward or back to a version, or to `base`: no tables at all."""
        from jangar.store.migrations.running import migrate  # noqa: PLC0415 - needed once in the life of a database

        await self._database.run(partial(migrate, version=version))
        self._is_ready = False

    async def version(self) -> str | None:
        """The version that the database is at."""
        return await self._database.run(version_of)

    async def close(self) -> None:
        await self._database.close()

    async def _ask(self, work: Callable[[sa.Connection], T]) -> T:
        await self._prepared()
        return await self._database.run(work)

    async def _read(self, work: Callable[[sa.Connection], T]) -> T:
        await self._prepared()
        return await self._database.read(work)

    async def _prepared(self) -> None:
        async with self._preparing:
            if not self._is_ready:
                await self._database.run(self._prepare)
                self._is_ready = True


def _check(connection: sa.Connection) -> None:
    at = version_of(connection)
    if at is None:
        raise NotHistory("this database has no history")
    if at != NEWEST:
        raise NotHistory(f"the history has version {at}, but this program reads {NEWEST}")


def _bring_up(connection: sa.Connection) -> None:
    if version_of(connection) != NEWEST:
        from jangar.store.migrations.running import migrate  # noqa: PLC0415 - needed once in the life of a database

        migrate(connection)


def _store(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    upserts.store(connection, ended)
    log_parts.forget(connection, [item.run.uid for item in ended if item.log_tail is not None])


def _without_log(ended: Ended) -> Ended:
    return ended if ended.log_tail is None else replace(ended, log_tail=NO_SPACE)


def _release_pages(connection: sa.Connection) -> None:
    """Give the space of deleted rows back to the file system; PostgreSQL does so by itself."""
    if connection.dialect.name == "sqlite":
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)  # noqa: S101 - by its dialect
        release_pages(raw, pages=RELEASED_AT_ONCE, spare=SPARE_PAGES)


def _log_tail(connection: sa.Connection, uid: str) -> str | None:
    whole = queries.log_tail(connection, uid)
    if whole is not None:
        return whole
    return "".join(item.text for item in log_parts.read(connection, uid)) or None
