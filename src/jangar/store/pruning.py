"""Deleting what is too old: a bounded number of rows in a short transaction, by one process at a time.

A step of another run goes with the run at the top, not before it. What has no row of a run to go with, such as an
event of a definition, is found by a read of its own, which holds up no writer.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from jangar.store import log_parts
from jangar.store.rows import Before
from jangar.store.tables import AUDIT, EVENTS, KEYS, LOG_TAILS, OBJECTS, RUNS, STEPS

STEPS_AT_ONCE: Final = 10_000
"""So many steps one transaction deletes, or those of one run."""
_TURN: Final = 7_243_094_417
"""Of PostgreSQL's advisory locks the one that says who deletes; SQLite lets one write at a time anyway."""
_OF_ROOT = RUNS.alias("top")


class Remnants(NamedTuple):
    """What belongs to no run that is stored."""

    events: Sequence[tuple[str, str]] = ()
    keys: Sequence[tuple[str, str, str]] = ()


def prune(connection: sa.Connection, before: Before, limit: int) -> dict[str, int]:
    """How many rows of what were deleted; all zero if nothing is left, or somebody else is at it."""
    found: dict[str, int] = {}
    if not _is_our_turn(connection):
        return found
    if before.runs is not None:
        found |= _runs(connection, before.runs, limit)
    if before.tails is not None:
        old = sa.select(LOG_TAILS.c.uid).where(LOG_TAILS.c.stored_at < before.tails)
        _add(found, "log_tails", _gone(connection, LOG_TAILS.c.uid, old.limit(limit)))
    if before.audits is not None:
        old_rows = sa.select(AUDIT.c.number).where(AUDIT.c.at < before.audits)
        _add(found, "audit", _gone(connection, AUDIT.c.number, old_rows.limit(limit)))
    return found


def remnants(connection: sa.Connection, before: datetime, limit: int) -> Remnants:
    """Changes nothing."""
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
    return Remnants(
        events=[(row[0], row[1]) for row in connection.execute(events)],
        keys=[(row[0], row[1], row[2]) for row in connection.execute(keys)],
    )


def prune_remnants(connection: sa.Connection, found: Remnants) -> dict[str, int]:
    if not _is_our_turn(connection):
        return {}
    for uid, digest in found.events:
        connection.execute(sa.delete(EVENTS).where(EVENTS.c.uid == uid, EVENTS.c.digest == digest))
    _forget(connection, found.keys)
    return {"events": len(found.events), "keys": len(found.keys)}


def _is_our_turn(connection: sa.Connection) -> bool:
    if connection.dialect.name == "sqlite":
        return True
    return bool(connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(_TURN))).scalar_one())


def _runs(connection: sa.Connection, before: datetime, limit: int) -> dict[str, int]:
    stays = sa.exists().where(_OF_ROOT.c.uid == RUNS.c.root_uid, _OF_ROOT.c.finished_at >= before)
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
        if chosen and steps > STEPS_AT_ONCE:
            break
        chosen.append(row)
    uids = [row.uid for row in chosen]
    if not uids:
        return {"runs": 0}
    found: dict[str, int] = {}
    for what, column in (
        ("steps", STEPS.c.run_uid),
        ("events", EVENTS.c.uid),
        ("log_tails", LOG_TAILS.c.uid),
        ("objects", OBJECTS.c.uid),
        ("runs", RUNS.c.uid),
    ):
        found[what] = connection.execute(sa.delete(column.table).where(column.in_(uids))).rowcount
    log_parts.forget(connection, uids)
    keys = [(row.namespace, row.kind, key) for row in chosen if (key := _key(row.spec or {}))]
    found["keys"] = _forget(connection, keys, uids)
    return found


def _key(spec: dict[str, Any]) -> str | None:
    return spec.get("deliveryId") or spec.get("idempotencyKey")


def _forget(
    connection: sa.Connection, keys: Sequence[tuple[str, str, str]], uids: Sequence[str] | None = None
) -> int:
    """Keys by their place in the index; with uids only if they made one of these."""
    gone = 0
    for namespace, kind, key in keys:
        of_key = (KEYS.c.namespace == namespace, KEYS.c.kind == kind, KEYS.c.key == key)
        made = () if uids is None else (KEYS.c.uid.in_(uids),)
        gone += connection.execute(sa.delete(KEYS).where(*of_key, *made)).rowcount
    return gone


def _gone(connection: sa.Connection, column: sa.Column[Any], chosen: sa.Select[Any]) -> int:
    found = [row[0] for row in connection.execute(chosen)]
    return connection.execute(sa.delete(column.table).where(column.in_(found))).rowcount if found else 0


def _add(counts: dict[str, int], what: str, number: int) -> None:
    counts[what] = counts.get(what, 0) + number
