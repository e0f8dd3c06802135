"""Asking history: lists by place in an index, never by counting; one run with everything; what is there already."""

import gzip
from collections.abc import Mapping, Sequence

import orjson
import sqlalchemy as sa

from jangar.store.rows import Known, Query, RunRow, StepRow, StoredObject
from jangar.store.tables import LOG_TAILS, OBJECTS, RUNS, STEPS

_CHUNK = 500
_RUN_COLUMNS = [column for column in RUNS.c if column.name != "search"]
_STEP_COLUMNS = [column for column in STEPS.c if column.name != "run_uid"]


def page(connection: sa.Connection, query: Query) -> list[RunRow]:
    """The runs that the query lets through, the last to finish first."""
    chosen = sa.select(*_RUN_COLUMNS).where(*_conditions(query))
    ordered = chosen.order_by(RUNS.c.finished_at.desc(), RUNS.c.uid.desc()).limit(query.limit)
    return [RunRow(**row) for row in connection.execute(ordered).mappings()]


def run(connection: sa.Connection, uid: str) -> RunRow | None:
    row = connection.execute(sa.select(*_RUN_COLUMNS).where(RUNS.c.uid == uid)).mappings().one_or_none()
    return RunRow(**row) if row is not None else None


def steps(connection: sa.Connection, run_uid: str) -> list[StepRow]:
    """In their order."""
    chosen = sa.select(*_STEP_COLUMNS).where(STEPS.c.run_uid == run_uid).order_by(STEPS.c.position)
    return [StepRow(**row) for row in connection.execute(chosen).mappings()]


def log_tail(connection: sa.Connection, uid: str) -> str | None:
    return connection.execute(sa.select(LOG_TAILS.c.text).where(LOG_TAILS.c.uid == uid)).scalar_one_or_none()


def whole(connection: sa.Connection, uid: str) -> StoredObject | None:
    """The object as it was last seen, if it was stored whole."""
    chosen = sa.select(OBJECTS.c.content, OBJECTS.c.definition).where(OBJECTS.c.uid == uid)
    row = connection.execute(chosen).one_or_none()
    return (
        StoredObject(obj=orjson.loads(gzip.decompress(row[0])), definition=row[1])
        if row is not None
        else None
    )


def known(connection: sa.Connection, uids: Sequence[str]) -> Mapping[str, Known]:
    """Which of these are stored, and how far."""
    found: dict[str, Known] = {}
    for at in range(0, len(uids), _CHUNK):
        chosen = (
            sa.select(RUNS.c.uid, RUNS.c.updated_at, LOG_TAILS.c.uid.is_not(None))
            .select_from(RUNS.outerjoin(LOG_TAILS, RUNS.c.uid == LOG_TAILS.c.uid))
            .where(RUNS.c.uid.in_(uids[at : at + _CHUNK]))
        )
        for uid, updated_at, has_log_tail in connection.execute(chosen):
            found[uid] = Known(updated_at=updated_at, has_log_tail=bool(has_log_tail))
    return found


def _conditions(query: Query) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if query.namespace is not None:
        found.append(RUNS.c.namespace == query.namespace)
    if query.roots_only:
        found.append(RUNS.c.owner_uid.is_(None))
    if query.kinds:
        found.append(RUNS.c.kind.in_(query.kinds))
    if query.phases:
        found.append(RUNS.c.phase.in_(query.phases))
    if query.name is not None:
        found.append(RUNS.c.name == query.name)
    if query.owner_uid is not None:
        found.append(RUNS.c.owner_uid == query.owner_uid)
    if query.finished_after is not None:
        found.append(RUNS.c.finished_at >= query.finished_after)
    if (after := query.after) is not None:
        found.append(sa.tuple_(RUNS.c.finished_at, RUNS.c.uid) < sa.tuple_(after.finished_at, after.uid))
    return found
