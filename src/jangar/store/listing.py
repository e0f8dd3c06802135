"""Runs of one kind, the newest created first, page by page from a place: by an index whatever is filtered.

The database walks one index for each namespace and phase that is asked for, and the pages of these walks are merged:
so a filter that lets little through costs no more than one that lets all through.
"""

import heapq
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import sqlalchemy as sa

from jangar.store.rows import Line, Listing
from jangar.store.tables import RUNS

MAX_SEARCH = 600
_COLUMNS = [RUNS.c[name] for name in Line.__dataclass_fields__]


def search_text(name: str, namespace: str, *others: str | None) -> str:
    """What a text is looked for in."""
    return " ".join([name, namespace, *(other or "" for other in others)])[:MAX_SEARCH].casefold()


def listed(connection: sa.Connection, listing: Listing) -> list[Line]:
    """At most so many as asked for."""
    walks = [
        _walk(connection, listing, namespace, phase)
        for namespace, phase in product(
            listing.namespaces if listing.namespaces is not None else (None,), listing.phases or (None,)
        )
    ]
    merged = heapq.merge(*walks, key=lambda item: (item.created_at, item.uid), reverse=True)
    return list(islice(merged, listing.limit))


def _walk(
    connection: sa.Connection, listing: Listing, namespace: str | None, phase: str | None
) -> Iterator[Line]:
    chosen = sa.select(*_COLUMNS).where(RUNS.c.kind == listing.kind, *_conditions(connection, listing))
    if namespace is not None:
        chosen = chosen.where(RUNS.c.namespace == namespace)
    if phase is not None:
        chosen = chosen.where(RUNS.c.phase == phase)
    ordered = chosen.order_by(RUNS.c.created_at.desc(), RUNS.c.uid.desc()).limit(listing.limit)
    return iter([Line(**row) for row in connection.execute(ordered).mappings()])


def _conditions(connection: sa.Connection, listing: Listing) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if listing.roots_only:
        found.append(RUNS.c.owner_uid.is_(None))
    if listing.definition is not None:
        found.append(RUNS.c.definition == listing.definition)
    if listing.created_after is not None:
        found.append(RUNS.c.created_at >= listing.created_after)
    if listing.text:
        within: Any = sa.func.instr if connection.dialect.name == "sqlite" else sa.func.strpos
        found.append(within(RUNS.c.search, listing.text.casefold()) > 0)
    if (after := listing.after) is not None:
        found.append(sa.tuple_(RUNS.c.created_at, RUNS.c.uid) < sa.tuple_(after.created_at, after.uid))
    return found


def namespaces(connection: sa.Connection, kind: str) -> list[str]:
    """Those that have a run, each found by one step in an index."""
    found: list[str] = []
    last = ""
    while True:
        following = (
            sa.select(RUNS.c.namespace)
            .where(RUNS.c.kind == kind, RUNS.c.owner_uid.is_(None), RUNS.c.namespace > last)
            .order_by(RUNS.c.namespace)
            .limit(1)
        )
        next_one = connection.execute(following).scalar_one_or_none()
        if next_one is None:
            return found
        found.append(last := next_one)
