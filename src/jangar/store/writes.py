"""Writes to the history. All are idempotent, and an older version of a row never replaces a newer one."""

import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from jangar.store.queries import chunks, log_parts, log_parts_uid
from jangar.store.rows import AuditRow, Ended, EventRow, KeyRow, LogPart, RunRow, StoredObject
from jangar.store.tables import AUDIT, EVENTS, KEYS, LOG_TAILS, OBJECTS, RUNS, STEPS

MAX_SEARCH_LENGTH: Final = 600
MAX_LOG_PARTS_BYTES: Final = 1024 * 1024
"""Size of the logs of one active work; the oldest are dropped first."""
_KEY_COLUMNS: Final = (KEYS.c.namespace, KEYS.c.kind, KEYS.c.key)


def store(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    """Store all of them or none."""
    if not ended:
        return
    connection.execute(_upsert_runs(connection), [_run_values(item.run) for item in ended])
    current = _current(connection, ended)
    for uids in chunks([item.run.uid for item in current]):
        connection.execute(sa.delete(STEPS).where(STEPS.c.run_uid.in_(uids)))
    steps = [{"run_uid": item.run.uid, **_clean(asdict(step))} for item in current for step in item.steps]
    if steps:
        connection.execute(sa.insert(STEPS), steps)
    _store_objects(connection, current)
    _store_keys(connection, ended)
    _store_log_tails(connection, ended)
    forget_log_parts(connection, [item.run.uid for item in ended if item.log_tail is not None])


def _upsert_runs(connection: sa.Connection) -> sa.Executable:
    insert = _insert_into(connection, RUNS)
    new = insert.excluded
    return insert.on_conflict_do_update(
        index_elements=[RUNS.c.uid],
        set_={column.name: new[column.name] for column in RUNS.c if not column.primary_key},
        where=new.version > RUNS.c.version,
    )


def _run_values(run: RunRow) -> dict[str, Any]:
    texts = (run.name, run.namespace, run.definition or "", run.reason or "", run.message or "")
    return _clean(asdict(run) | {"search": " ".join(texts)[:MAX_SEARCH_LENGTH].casefold()})


def _current(connection: sa.Connection, ended: Sequence[Ended]) -> list[Ended]:
    """Those whose row now has the given version; the steps of the others are outdated."""
    versions: dict[str, int] = {}
    for uids in chunks([item.run.uid for item in ended]):
        rows = connection.execute(sa.select(RUNS.c.uid, RUNS.c.version).where(RUNS.c.uid.in_(uids)))
        versions |= {uid: version for uid, version in rows}  # noqa: C416 - rows are not pairs to a type checker
    latest = {item.run.uid: item for item in ended if versions.get(item.run.uid) == item.run.version}
    return list(latest.values())


def _store_objects(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    insert = _insert_into(connection, OBJECTS)
    new = insert.excluded
    upsert = insert.on_conflict_do_update(
        index_elements=[OBJECTS.c.uid],
        # If the definition was deleted before the object was seen again, the stored one is kept.
        set_={
            "content": new.content,
            "definition": sa.func.coalesce(new.definition, OBJECTS.c.definition),
        },
    )
    rows = [
        {"uid": item.run.uid, "content": _pack(item.whole), "definition": item.whole.definition}
        for item in ended
        if item.whole is not None
    ]
    if rows:
        connection.execute(upsert, rows)


def _pack(whole: StoredObject) -> bytes:
    return gzip.compress(orjson.dumps(whole.obj), compresslevel=6, mtime=0)


def _store_keys(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    """Keep idempotency keys after their objects are deleted."""
    insert = _insert_into(connection, KEYS)
    rows = [
        {
            "namespace": item.run.namespace,
            "kind": item.run.kind,
            "key": _clean_text(item.key),
            "digest": "",
            "name": item.run.name,
            "uid": item.run.uid,
            "created_at": item.run.created_at,
        }
        for item in ended
        if item.key
    ]
    if rows:
        changed = {"uid": insert.excluded.uid, "name": insert.excluded.name}
        upsert = insert.on_conflict_do_update(
            index_elements=_KEY_COLUMNS, set_=changed, where=KEYS.c.uid.is_(None)
        )
        connection.execute(upsert, rows)


def _store_log_tails(connection: sa.Connection, ended: Sequence[Ended]) -> None:
    now = datetime.now(UTC)
    tails = [
        {"uid": item.run.uid, "text": _clean_text(item.log_tail), "stored_at": now}
        for item in ended
        if item.log_tail is not None
    ]
    if tails:
        insert = _insert_into(connection, LOG_TAILS)
        connection.execute(insert.on_conflict_do_nothing(index_elements=[LOG_TAILS.c.uid]), tails)


def add_log_parts(connection: sa.Connection, uid: str, parts: Sequence[LogPart]) -> None:
    """Append the logs of Jobs of active work, once per Job; does nothing if the log of the work is stored.

    They are in one row in the database, so that a process that takes over finds them.
    """
    if connection.execute(sa.select(LOG_TAILS.c.uid).where(LOG_TAILS.c.uid == uid)).first() is not None:
        return
    before = log_parts(connection, uid)
    known = {part.job for part in before}
    new = [part for part in parts if part.job not in known]
    if not new:
        return
    row = {
        "uid": log_parts_uid(uid),
        "text": orjson.dumps([(part.job, part.text) for part in _newest([*before, *new])]).decode(),
        "stored_at": datetime.now(UTC),
    }
    insert = _insert_into(connection, LOG_TAILS)
    changed = {"text": insert.excluded.text, "stored_at": insert.excluded.stored_at}
    connection.execute(insert.on_conflict_do_update(index_elements=[LOG_TAILS.c.uid], set_=changed), [row])


def _newest(parts: Sequence[LogPart]) -> list[LogPart]:
    left = MAX_LOG_PARTS_BYTES
    kept: list[LogPart] = []
    for part in reversed(parts):
        left -= len(part.text.encode())
        if left < 0 and kept:
            break
        kept.append(part)
    return kept[::-1]


def forget_log_parts(connection: sa.Connection, uids: Sequence[str]) -> None:
    """Delete the log parts of this work: its whole log is stored, or it is deleted itself."""
    rows = [log_parts_uid(uid) for uid in uids]
    connection.execute(sa.delete(LOG_TAILS).where(LOG_TAILS.c.uid.in_(rows)))


def add_events(connection: sa.Connection, rows: Sequence[EventRow]) -> None:
    """Store Events; a repeated one raises the count of its row."""
    if not rows:
        return
    insert = _insert_into(connection, EVENTS)
    new, higher = insert.excluded, sa.func.max if connection.dialect.name == "sqlite" else sa.func.greatest
    upsert = insert.on_conflict_do_update(
        index_elements=[EVENTS.c.uid, EVENTS.c.digest],
        set_={
            "count": higher(EVENTS.c.count, new.count),
            "last_at": higher(EVENTS.c.last_at, new.last_at),
        },
    )
    connection.execute(upsert, [{"digest": _digest(row), **_clean(asdict(row))} for row in rows])


def _digest(row: EventRow) -> str:
    return hashlib.sha256(f"{row.type}\n{row.reason}\n{row.source}\n{row.message}".encode()).hexdigest()


def add_audit(connection: sa.Connection, rows: Sequence[AuditRow]) -> None:
    """Append audit rows; the database numbers them."""
    values = [_clean(asdict(row)) for row in rows]
    for value in values:
        del value["number"]
    if values:
        connection.execute(sa.insert(AUDIT), values)


def reserve_key(connection: sa.Connection, wanted: KeyRow) -> KeyRow:
    """The row of this idempotency key: the given one, or the one that was first."""
    insert = _insert_into(connection, KEYS).on_conflict_do_nothing(index_elements=_KEY_COLUMNS)
    connection.execute(insert, [asdict(wanted)])
    return KeyRow(**connection.execute(sa.select(KEYS).where(*_is_key(wanted))).mappings().one())


def settle_key(connection: sa.Connection, created: KeyRow) -> None:
    """Record the object that was created with a key."""
    connection.execute(sa.update(KEYS).where(*_is_key(created)).values(uid=created.uid, name=created.name))


def forget_key(connection: sa.Connection, unused: KeyRow) -> None:
    """Delete a key with which nothing was created."""
    connection.execute(sa.delete(KEYS).where(*_is_key(unused), KEYS.c.uid.is_(None)))


def _is_key(row: KeyRow) -> tuple[sa.ColumnElement[bool], ...]:
    return (KEYS.c.namespace == row.namespace, KEYS.c.kind == row.kind, KEYS.c.key == row.key)


def _insert_into(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def _clean(row: dict[str, Any]) -> dict[str, Any]:
    """The row without NUL, which PostgreSQL rejects in texts; in JSON it is escaped."""
    return {name: _clean_text(value) if isinstance(value, str) else value for name, value in row.items()}


def _clean_text(text: str) -> str:
    return text.replace("\x00", "\ufffd")
