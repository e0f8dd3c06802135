"""The history in a database. Import it when it is first needed: SQLAlchemy is slow to import.

The database is opened by the first call. A writer migrates the tables to its version; a reader changes nothing.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import sqlalchemy as sa

from jangar.store import pruning, queries, writes
from jangar.store.database import database_at
from jangar.store.errors import NoSpace, NotHistory
from jangar.store.migrations.running import NEWEST, migrate, version_of
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
from kubekit.private_files import release_pages

T = TypeVar("T")
PRUNE_LIMIT = 200
RELEASE_LIMIT = 4096
SPARE_PAGES = 256
NO_SPACE = "(no log: no space left on device)\n"


class DatabaseHistory:
    """The history in one database."""

    def __init__(self, address: DatabaseAddress, *, read_only: bool = False) -> None:
        self._database = database_at(address, read_only=read_only)
        self._prepare = _check if read_only else _migrate_to_newest
        self._is_ready = False
        self._preparing = asyncio.Lock()

    async def store(self, ended: Sequence[Ended]) -> None:
        try:
            await self._write(partial(writes.store, ended=ended))
        except NoSpace:
            # Store the outcomes without the logs: outcomes matter more.
            await self._write(partial(writes.store, ended=[_without_log(item) for item in ended]))

    async def known(self, uids: Sequence[str]) -> Mapping[str, Known]:
        return await self._read(partial(queries.known, uids=uids))

    async def page(self, query: Query) -> list[RunRow]:
        return await self._read(partial(queries.page, query=query))

    async def listed(self, listing: Listing) -> list[Line]:
        return await self._read(partial(queries.listed, listing=listing))

    async def namespaces(self, kind: str) -> list[str]:
        return await self._read(partial(queries.namespaces, kind=kind))

    async def run(self, uid: str) -> RunRow | None:
        return await self._read(partial(queries.run, uid=uid))

    async def steps(self, run_uid: str) -> list[StepRow]:
        return await self._read(partial(queries.steps, run_uid=run_uid))

    async def log_tail(self, uid: str) -> str | None:
        return await self._read(partial(queries.log_tail, uid=uid))

    async def add_log_parts(self, uid: str, parts: Sequence[LogPart]) -> None:
        await self._write(partial(writes.add_log_parts, uid=uid, parts=parts))

    async def log_parts(self, uid: str) -> list[LogPart]:
        return await self._read(partial(queries.log_parts, uid=uid))

    async def whole(self, uid: str) -> StoredObject | None:
        return await self._read(partial(queries.whole, uid=uid))

    async def add_events(self, rows: Sequence[EventRow]) -> None:
        await self._write(partial(writes.add_events, rows=rows))

    async def events(self, uid: str, limit: int) -> list[EventRow]:
        return await self._read(partial(queries.events, uid=uid, limit=limit))

    async def add_audit(self, rows: Sequence[AuditRow]) -> None:
        await self._write(partial(writes.add_audit, rows=rows))

    async def audit(self, namespaces: Sequence[str] | None, before: int | None, limit: int) -> list[AuditRow]:
        return await self._read(partial(queries.audit, namespaces=namespaces, before=before, limit=limit))

    async def reserve(self, wanted: KeyRow) -> KeyRow:
        return await self._write(partial(writes.reserve_key, wanted=wanted))

    async def settle(self, created: KeyRow) -> None:
        await self._write(partial(writes.settle_key, created=created))

    async def forget(self, unused: KeyRow) -> None:
        await self._write(partial(writes.forget_key, unused=unused))

    async def prune(self, before: Before, *, limit: int = PRUNE_LIMIT) -> Mapping[str, int]:
        deleted = await self._write(partial(pruning.prune, before=before, limit=limit))
        if before.runs is None or any(deleted.values()):
            return deleted
        await self._database.run(_release_pages)
        orphans = await self._read(partial(pruning.orphans, before=before.runs, limit=limit))
        return await self._write(partial(pruning.prune_orphans, orphans=orphans)) if any(orphans) else deleted

    async def migrate(self, version: str) -> None:
        """Migrate forward or back to a version, or to `base`: no tables."""
        await self._database.run(partial(migrate, version=version))
        self._is_ready = False

    async def version(self) -> str | None:
        """The version of the database."""
        return await self._database.run(version_of)

    async def close(self) -> None:
        await self._database.close()

    async def _write(self, work: Callable[[sa.Connection], T]) -> T:
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
    version = version_of(connection)
    if version is None:
        raise NotHistory("this database has no history")
    if version != NEWEST:
        raise NotHistory(f"the history has version {version}, but this program reads {NEWEST}")


def _migrate_to_newest(connection: sa.Connection) -> None:
    if version_of(connection) != NEWEST:
        migrate(connection)


def _without_log(ended: Ended) -> Ended:
    return ended if ended.log_tail is None else replace(ended, log_tail=NO_SPACE)


def _release_pages(connection: sa.Connection) -> None:
    """Return the space of deleted rows to the file system; PostgreSQL does this itself."""
    if connection.dialect.name == "sqlite":
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)  # noqa: S101 - by its dialect
        release_pages(raw, pages=RELEASE_LIMIT, spare=SPARE_PAGES)
