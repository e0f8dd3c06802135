"""Reads of the history. Lists walk an index and never count.

A list of one kind walks one index for each namespace and phase and merges the walks, so a filter that matches few rows
costs no more than one that matches all.
"""

import gzip
import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final

import orjson
import sqlalchemy as sa

from jangar.store.rows import (
    AuditRow,
    EventRow,
    Known,
    Line,
    Listing,
    LogPart,
    Query,
    RunRow,
    StepRow,
    StoredObject,
)
from jangar.store.tables import AUDIT, EVENTS, LOG_TAILS, OBJECTS, RUNS, STEPS

MAX_VALUES: Final = 500
"""Values of one IN list; SQLite accepts more."""
_RUN_COLUMNS = [column for column in RUNS.c if column.name != "search"]
_STEP_COLUMNS = [column for column in STEPS.c if column.name != "run_uid"]
_LINE_COLUMNS = [RUNS.c[name] for name in Line.__dataclass_fields__]
_EVENT_COLUMNS = [column for column in EVENTS.c if column.name != "digest"]


def page(connection: sa.Connection, query: Query) -> list[RunRow]:
    """The runs that match the query, the last to finish first."""
    equal = {"namespace": query.namespace, "name": query.name, "owner_uid": query.owner_uid}
    conditions = [RUNS.c[column] == value for column, value in equal.items() if value is not None]
    among = {"kind": query.kinds, "phase": query.phases}
    conditions += [RUNS.c[column].in_(values) for column, values in among.items() if values]
    if query.roots_only:
        conditions.append(RUNS.c.owner_uid.is_(None))
    if query.finished_after is not None:
        conditions.append(RUNS.c.finished_at >= query.finished_after)
    if (after := query.after) is not None:
        conditions.append(sa.tuple_(RUNS.c.finished_at, RUNS.c.uid) < sa.tuple_(after.finished_at, after.uid))
    selected = sa.select(*_RUN_COLUMNS).where(*conditions)
    ordered = selected.order_by(RUNS.c.finished_at.desc(), RUNS.c.uid.desc()).limit(query.limit)
    return [RunRow(**row) for row in connection.execute(ordered).mappings()]


def listed(connection: sa.Connection, listing: Listing) -> list[Line]:
    """Runs of one kind, the newest created first."""
    walks = [
        _walk(connection, listing, namespace, phase)
        for namespace, phase in product(
            listing.namespaces if listing.namespaces is not None else (None,), listing.phases or (None,)
        )
    ]
    merged = heapq.merge(*walks, key=lambda line: (line.created_at, line.uid), reverse=True)
    return list(islice(merged, listing.limit))


def _walk(
    connection: sa.Connection, listing: Listing, namespace: str | None, phase: str | None
) -> Iterator[Line]:
    equal = {
        "kind": listing.kind,
        "namespace": namespace,
        "phase": phase,
        "definition": listing.definition,
    }
    conditions = [RUNS.c[column] == value for column, value in equal.items() if value is not None]
    if listing.roots_only:
        conditions.append(RUNS.c.owner_uid.is_(None))
    if listing.created_after is not None:
        conditions.append(RUNS.c.created_at >= listing.created_after)
    if listing.text:
        position: Any = sa.func.instr if connection.dialect.name == "sqlite" else sa.func.strpos
        conditions.append(position(RUNS.c.search, listing.text.casefold()) > 0)
    if (after := listing.after) is not None:
        conditions.append(sa.tuple_(RUNS.c.created_at, RUNS.c.uid) < sa.tuple_(after.created_at, after.uid))
    selected = sa.select(*_LINE_COLUMNS).where(*conditions)
    ordered = selected.order_by(RUNS.c.created_at.desc(), RUNS.c.uid.desc()).limit(listing.limit)
    return iter([Line(**row) for row in connection.execute(ordered).mappings()])


def namespaces(connection: sa.Connection, kind: str) -> list[str]:
    """The namespaces that have a run of this kind; one index step finds each."""
    names: list[str] = []
    last = ""
    while True:
        following = (
            sa.select(RUNS.c.namespace)
            .where(RUNS.c.kind == kind, RUNS.c.owner_uid.is_(None), RUNS.c.namespace > last)
            .order_by(RUNS.c.namespace)
            .limit(1)
        )
        name = connection.execute(following).scalar_one_or_none()
        if name is None:
            return names
        names.append(last := name)


def run(connection: sa.Connection, uid: str) -> RunRow | None:
    row = connection.execute(sa.select(*_RUN_COLUMNS).where(RUNS.c.uid == uid)).mappings().one_or_none()
    return RunRow(**row) if row is not None else None


def steps(connection: sa.Connection, run_uid: str) -> list[StepRow]:
    """The steps of a run in their order."""
    selected = sa.select(*_STEP_COLUMNS).where(STEPS.c.run_uid == run_uid).order_by(STEPS.c.position)
    return [StepRow(**row) for row in connection.execute(selected).mappings()]


def whole(connection: sa.Connection, uid: str) -> StoredObject | None:
    """The object as it was last seen; None if only its row was stored."""
    selected = sa.select(OBJECTS.c.content, OBJECTS.c.definition).where(OBJECTS.c.uid == uid)
    row = connection.execute(selected).one_or_none()
    if row is None:
        return None
    return StoredObject(obj=orjson.loads(gzip.decompress(row[0])), definition=row[1])


def known(connection: sa.Connection, uids: Sequence[str]) -> Mapping[str, Known]:
    """Which of these objects are stored, and in which version."""
    stored: dict[str, Known] = {}
    for uids_chunk in chunks(uids):
        selected = (
            sa.select(RUNS.c.uid, RUNS.c.updated_at, LOG_TAILS.c.uid.is_not(None))
            .select_from(RUNS.outerjoin(LOG_TAILS, RUNS.c.uid == LOG_TAILS.c.uid))
            .where(RUNS.c.uid.in_(uids_chunk))
        )
        for uid, updated_at, has_log_tail in connection.execute(selected):
            stored[uid] = Known(updated_at=updated_at, has_log_tail=bool(has_log_tail))
    return stored


def chunks(uids: Sequence[str]) -> list[Sequence[str]]:
    return [uids[at : at + MAX_VALUES] for at in range(0, len(uids), MAX_VALUES)]


def log_tail(connection: sa.Connection, uid: str) -> str | None:
    """The log of ended work; of active work the logs of its Jobs that ended."""
    text = _log_text(connection, uid)
    return text if text is not None else "".join(part.text for part in log_parts(connection, uid)) or None


def log_parts(connection: sa.Connection, uid: str) -> list[LogPart]:
    """The logs of the Jobs of active work, the oldest first."""
    text = _log_text(connection, log_parts_uid(uid))
    return [LogPart(job=job, text=log) for job, log in orjson.loads(text)] if text is not None else []


def log_parts_uid(uid: str) -> str:
    """The key of the row with the log parts of this work."""
    return f"{uid}/parts"


def _log_text(connection: sa.Connection, uid: str) -> str | None:
    return connection.execute(sa.select(LOG_TAILS.c.text).where(LOG_TAILS.c.uid == uid)).scalar_one_or_none()


def events(connection: sa.Connection, uid: str, limit: int) -> list[EventRow]:
    """The last Events of an object, the oldest first."""
    selected = sa.select(*_EVENT_COLUMNS).where(EVENTS.c.uid == uid)
    ordered = selected.order_by(EVENTS.c.last_at.desc()).limit(limit)
    return [EventRow(**row) for row in connection.execute(ordered).mappings()][::-1]


def audit(
    connection: sa.Connection, namespaces: Sequence[str] | None, before: int | None, limit: int
) -> list[AuditRow]:
    """Audit rows, the newest first."""
    selected = sa.select(AUDIT)
    if namespaces is not None:
        selected = selected.where(AUDIT.c.namespace.in_(namespaces))
    if before is not None:
        selected = selected.where(AUDIT.c.number < before)
    ordered = selected.order_by(AUDIT.c.number.desc()).limit(limit)
    return [AuditRow(**row) for row in connection.execute(ordered).mappings()]
