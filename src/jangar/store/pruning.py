"""Deletes old rows: a bounded number in a short transaction, by one process at a time.

Nested runs are deleted with their root run. Orphans, rows that belong to no stored run such as the Events of a
definition, are found by a separate read, which blocks no writer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from jangar.store.rows import Before
from jangar.store.tables import AUDIT, EVENTS, KEYS, LOG_TAILS, OBJECTS, RUNS, STEPS
from jangar.store.writes import forget_log_parts

MAX_STEPS: Final = 10_000
"""Steps that one transaction deletes, unless a single run has more."""
_TURN: Final = 7_243_094_417
"""Key of the PostgreSQL advisory lock that the deleting process holds. SQLite has one writer anyway."""
_ROOT = RUNS.alias("top")


class Orphans(NamedTuple):
    """Keys of rows that belong to no stored run."""

    events: Sequence[tuple[str, str]] = ()
    keys: Sequence[tuple[str, str, str]] = ()


def prune(connection: sa.Connection, before: Before, limit: int) -> dict[str, int]:
    """Deleted rows by table; all zero if nothing is left, or another process is deleting."""
    deleted: dict[str, int] = {}
    if not _try_lock(connection):
        return deleted
    if before.runs is not None:
        deleted |= _delete_runs(connection, before.runs, limit)
    if before.tails is not None:
        old = sa.select(LOG_TAILS.c.uid).where(LOG_TAILS.c.stored_at < before.tails)
        tails = _delete(connection, LOG_TAILS.c.uid, old.limit(limit))
        deleted["log_tails"] = deleted.get("log_tails", 0) + tails
    if before.audits is not None:
        old_rows = sa.select(AUDIT.c.number).where(AUDIT.c.at < before.audits)
        deleted["audit"] = _delete(connection, AUDIT.c.number, old_rows.limit(limit))
    return deleted


def orphans(connection: sa.Connection, before: datetime, limit: int) -> Orphans:
    """Old orphans, at most `limit` of each table."""
    events = (
        sa.select(EVENTS.c.uid, EVENTS.c.digest)
        .where(EVENTS.c.last_at < before, ~sa.exists().where(RUNS.c.uid == EVENTS.c.uid))
        .limit(limit)
    )
    keys = (
        sa.select(KEYS.c.namespace, KEYS.c.kind, KEYS.c.key)
        .where(KEYS.c.created_at < before, ~sa.exists().where(RUNS.c.uid == KEYS.c.uid))
        .limit(limit)
    )
    return Orphans(
        events=[(row[0], row[1]) for row in connection.execute(events)],
        keys=[(row[0], row[1], row[2]) for row in connection.execute(keys)],
    )


def prune_orphans(connection: sa.Connection, orphans: Orphans) -> dict[str, int]:
    """Deleted rows by table."""
    if not _try_lock(connection):
        return {}
    for uid, digest in orphans.events:
        connection.execute(sa.delete(EVENTS).where(EVENTS.c.uid == uid, EVENTS.c.digest == digest))
    _delete_keys(connection, orphans.keys)
    return {"events": len(orphans.events), "keys": len(orphans.keys)}


def _try_lock(connection: sa.Connection) -> bool:
    if connection.dialect.name == "sqlite":
        return True
    return bool(connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(_TURN))).scalar_one())


def _delete_runs(connection: sa.Connection, before: datetime, limit: int) -> dict[str, int]:
    stays = sa.exists().where(_ROOT.c.uid == RUNS.c.root_uid, _ROOT.c.finished_at >= before)
    old = (
        sa.select(RUNS.c.uid, RUNS.c.namespace, RUNS.c.kind, RUNS.c.spec, RUNS.c.steps_total)
        .where(RUNS.c.finished_at < before, ~stays)
        .order_by(RUNS.c.finished_at, RUNS.c.uid)
        .limit(limit)
    )
    chosen: list[Any] = []
    steps = 0
    for row in connection.execute(old).all():
        steps += row.steps_total or 0
        if chosen and steps > MAX_STEPS:
            break
        chosen.append(row)
    uids = [row.uid for row in chosen]
    if not uids:
        return {"runs": 0}
    deleted: dict[str, int] = {}
    for table, column in (
        ("steps", STEPS.c.run_uid),
        ("events", EVENTS.c.uid),
        ("log_tails", LOG_TAILS.c.uid),
        ("objects", OBJECTS.c.uid),
        ("runs", RUNS.c.uid),
    ):
        deleted[table] = connection.execute(sa.delete(column.table).where(column.in_(uids))).rowcount
    forget_log_parts(connection, uids)
    keys = [(row.namespace, row.kind, key) for row in chosen if (key := _key(row.spec or {}))]
    deleted["keys"] = _delete_keys(connection, keys, uids)
    return deleted


def _key(spec: dict[str, Any]) -> str | None:
    return spec.get("deliveryId") or spec.get("idempotencyKey")


def _delete_keys(
    connection: sa.Connection, keys: Sequence[tuple[str, str, str]], uids: Sequence[str] | None = None
) -> int:
    """Delete keys, with `uids` only those that created one of these; returns their number."""
    deleted = 0
    for namespace, kind, key in keys:
        of_key = (KEYS.c.namespace == namespace, KEYS.c.kind == kind, KEYS.c.key == key)
        created = () if uids is None else (KEYS.c.uid.in_(uids),)
        deleted += connection.execute(sa.delete(KEYS).where(*of_key, *created)).rowcount
    return deleted


def _delete(connection: sa.Connection, column: sa.Column[Any], chosen: sa.Select[Any]) -> int:
    found = [row[0] for row in connection.execute(chosen)]
    return connection.execute(sa.delete(column.table).where(column.in_(found))).rowcount if found else 0
