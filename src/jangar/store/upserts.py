"""Storing what ended: the same again changes nothing, and an older version never wins over a newer one."""

import gzip
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from jangar.store.listing import search_text
from jangar.store.rows import Ended, RunRow, StoredObject
from jangar.store.tables import KEYS, LOG_TAILS, OBJECTS, RUNS, STEPS

_CHUNK = 500
"""SQLite takes so many values in a list, and many more."""


def store(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    """All of them or none."""
    if not ended:
        return
    connection.execute(_upsert_runs(connection), [_row(item.run) for item in ended])
    current = _current(connection, ended)
    for chunk in _chunks([item.run.uid for item in current]):
        connection.execute(sa.delete(STEPS).where(STEPS.c.run_uid.in_(chunk)))
    steps = [{"run_uid": item.run.uid, **clean(asdict(step))} for item in current for step in item.steps]
    if steps:
        connection.execute(sa.insert(STEPS), steps)
    _store_objects(connection, current)
    _store_keys(connection, ended)
    _store_tails(connection, ended)


def _store_objects(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    insert = insert_into(connection, OBJECTS)
    new = insert.excluded
    upsert = insert.on_conflict_do_update(
        index_elements=[OBJECTS.c.uid],
        # An object that was seen again after what it executed was deleted keeps that.
        set_={
            "content": new.content,
            "definition": sa.func.coalesce(new.definition, OBJECTS.c.definition),
        },
    )
    rows = [
        {"uid": item.run.uid, "content": packed(item.whole), "definition": item.whole.definition}
        for item in ended
        if item.whole is not None
    ]
    if rows:
        connection.execute(upsert, rows)


def _store_keys(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    """Keeps an idempotency key after its object is deleted."""
    insert = insert_into(connection, KEYS)
    rows = [
        {
            "namespace": item.run.namespace,
            "kind": item.run.kind,
            "key": clean({"key": item.key})["key"],
            "digest": "",
            "name": item.run.name,
            "uid": item.run.uid,
            "created_at": item.run.created_at,
        }
        for item in ended
        if item.key
    ]
    if rows:
        of_key = [KEYS.c.namespace, KEYS.c.kind, KEYS.c.key]
        known = {"uid": insert.excluded.uid, "name": insert.excluded.name}
        connection.execute(
            insert.on_conflict_do_update(index_elements=of_key, set_=known, where=KEYS.c.uid.is_(None)), rows
        )


def _store_tails(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    now = datetime.now(UTC)
    tails = [
        {"uid": item.run.uid, "text": _text(item.log_tail), "stored_at": now}
        for item in ended
        if item.log_tail is not None
    ]
    if tails:
        connection.execute(
            insert_into(connection, LOG_TAILS).on_conflict_do_nothing(index_elements=[LOG_TAILS.c.uid]), tails
        )


def packed(whole: StoredObject) -> bytes:
    return gzip.compress(orjson.dumps(whole.obj), compresslevel=6, mtime=0)


def _row(run: RunRow) -> dict[str, Any]:
    reported = search_text(run.name, run.namespace, run.definition, run.reason, run.message)
    return clean(asdict(run) | {"search": reported})


def insert_into(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def _upsert_runs(connection: sa.Connection) -> sa.Executable:
    insert = insert_into(connection, RUNS)
    new = insert.excluded
    return insert.on_conflict_do_update(
        index_elements=[RUNS.c.uid],
        set_={column.name: new[column.name] for column in RUNS.c if not column.primary_key},
        where=new.version > RUNS.c.version,
    )


def _current(connection: sa.Connection, ended: Sequence[Ended]) -> list[Ended]:
    """Those whose row is now the one given; steps of the others are older than what is there."""
    versions: dict[str, int] = {}
    for chunk in _chunks([item.run.uid for item in ended]):
        found = connection.execute(sa.select(RUNS.c.uid, RUNS.c.version).where(RUNS.c.uid.in_(chunk)))
        versions |= {uid: version for uid, version in found}  # noqa: C416 - rows are not pairs to a type checker
    latest = {item.run.uid: item for item in ended if versions.get(item.run.uid) == item.run.version}
    return list(latest.values())


def _chunks(uids: Sequence[str]) -> list[Sequence[str]]:
    return [uids[at : at + _CHUNK] for at in range(0, len(uids), _CHUNK)]


def clean(row: dict[str, Any]) -> dict[str, Any]:
    """PostgreSQL has no NUL in texts; what else JSON holds is escaped."""
    return {name: _text(value) if isinstance(value, str) else value for name, value in row.items()}


def _text(value: str) -> str:
    return value.replace("\x00", "\ufffd")
