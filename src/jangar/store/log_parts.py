"""Ends of logs of work that goes on: of each of its Jobs that has ended, until the work itself is stored.

One row of all of them stands beside the rows of ended work, so that a process that takes over finds them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import orjson
import sqlalchemy as sa

from jangar.store.rows import LogPart
from jangar.store.tables import LOG_TAILS
from jangar.store.upserts import insert_into

MAX_BYTES: Final = 1024 * 1024
"""Of one row: the oldest go first."""


def place_of(uid: str) -> str:
    return f"{uid}/parts"


def read(connection: sa.Connection, uid: str) -> list[LogPart]:
    chosen = sa.select(LOG_TAILS.c.text).where(LOG_TAILS.c.uid == place_of(uid))
    text = connection.execute(chosen).scalar_one_or_none()
    return (
        [LogPart(job=job, text=reported) for job, reported in orjson.loads(text)] if text is not None else []
    )


def add(connection: sa.Connection, uid: str, parts: Sequence[LogPart]) -> None:
    """After those that are there; one of the same Job is the same one. Not once the work's own row has its log."""
    if connection.execute(sa.select(LOG_TAILS.c.uid).where(LOG_TAILS.c.uid == uid)).first() is not None:
        return
    before = read(connection, uid)
    known = {item.job for item in before}
    new = [part for part in parts if part.job not in known]
    if not new:
        return
    kept = _newest([*before, *new])
    row = {
        "uid": place_of(uid),
        "text": orjson.dumps([(item.job, item.text) for item in kept]).decode(),
        "stored_at": datetime.now(UTC),
    }
    insert = insert_into(connection, LOG_TAILS)
    changed = {"text": insert.excluded.text, "stored_at": insert.excluded.stored_at}
    connection.execute(insert.on_conflict_do_update(index_elements=[LOG_TAILS.c.uid], set_=changed), [row])


def forget(connection: sa.Connection, uids: Sequence[str]) -> None:
    """The logs of these are stored whole now, or not wanted any more."""
    connection.execute(sa.delete(LOG_TAILS).where(LOG_TAILS.c.uid.in_([place_of(uid) for uid in uids])))


def _newest(parts: Sequence[LogPart]) -> list[LogPart]:
    room = MAX_BYTES
    kept: list[LogPart] = []
    for part in reversed(parts):
        room -= len(part.text.encode())
        if room < 0 and kept:
            break
        kept.append(part)
    return kept[::-1]
