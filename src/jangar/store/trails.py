"""What was told about objects, who changed what, and which keys were used. Rows are added; no other row is changed."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

import sqlalchemy as sa

from jangar.store.rows import AuditRow, EventRow, KeyRow
from jangar.store.tables import AUDIT, EVENTS, KEYS
from jangar.store.upserts import clean, insert_into


def add_events(connection: sa.Connection, rows: Sequence[EventRow]) -> None:
    """The same told again is one row with the higher count."""
    if not rows:
        return
    insert = insert_into(connection, EVENTS)
    new, higher = insert.excluded, sa.func.max if connection.dialect.name == "sqlite" else sa.func.greatest
    upsert = insert.on_conflict_do_update(
        index_elements=[EVENTS.c.uid, EVENTS.c.digest],
        set_={
            "count": higher(EVENTS.c.count, new.count),
            "last_at": higher(EVENTS.c.last_at, new.last_at),
        },
    )
    connection.execute(upsert, [{"digest": _digest(row), **clean(asdict(row))} for row in rows])


def events(connection: sa.Connection, uid: str, limit: int) -> list[EventRow]:
    """The last ones, in the order in which they were last told."""
    columns = [column for column in EVENTS.c if column.name != "digest"]
    chosen = sa.select(*columns).where(EVENTS.c.uid == uid).order_by(EVENTS.c.last_at.desc()).limit(limit)
    return [EventRow(**row) for row in connection.execute(chosen).mappings()][::-1]


def add_audit(connection: sa.Connection, rows: Sequence[AuditRow]) -> None:
    if rows:
        reported = [clean(asdict(row)) for row in rows]
        for item in reported:
            del item["number"]
        connection.execute(sa.insert(AUDIT), reported)


def audit(
    connection: sa.Connection, namespaces: Sequence[str] | None, before: int | None, limit: int
) -> list[AuditRow]:
    """The newest first."""
    chosen = sa.select(AUDIT)
    if namespaces is not None:
        chosen = chosen.where(AUDIT.c.namespace.in_(namespaces))
    if before is not None:
        chosen = chosen.where(AUDIT.c.number < before)
    ordered = chosen.order_by(AUDIT.c.number.desc()).limit(limit)
    return [AuditRow(**row) for row in connection.execute(ordered).mappings()]


def reserve(connection: sa.Connection, wanted: KeyRow) -> KeyRow:
    """The row of this key: the one given, or the one that came first."""
    insert = insert_into(connection, KEYS).on_conflict_do_nothing(
        index_elements=[KEYS.c.namespace, KEYS.c.kind, KEYS.c.key]
    )
    connection.execute(insert, [asdict(wanted)])
    chosen = sa.select(KEYS).where(*_of(wanted))
    return KeyRow(**connection.execute(chosen).mappings().one())


def settle(connection: sa.Connection, made: KeyRow) -> None:
    """What was made with a key is known now."""
    connection.execute(sa.update(KEYS).where(*_of(made)).values(uid=made.uid, name=made.name))


def forget(connection: sa.Connection, unused: KeyRow) -> None:
    """Nothing was made with it after all; a key that something was made with stays."""
    connection.execute(sa.delete(KEYS).where(*_of(unused), KEYS.c.uid.is_(None)))


def _of(row: KeyRow) -> tuple[sa.ColumnElement[bool], ...]:
    return (KEYS.c.namespace == row.namespace, KEYS.c.kind == row.kind, KEYS.c.key == row.key)


def _digest(row: EventRow) -> str:
    return hashlib.sha256(f"{row.type}\n{row.reason}\n{row.source}\n{row.message}".encode()).hexdigest()
