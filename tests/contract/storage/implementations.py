"""Every implementation of the store, and helpers for all of them."""

import asyncio
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import Event, EventType, Key, Put, Remove, Store, StoreSettings

# Small, so that a test of a dozen events meets every boundary.
SMALL = StoreSettings(
    batch_changes=3,
    history_events=4,
    watch_queue_events=8,
    heartbeat=timedelta(milliseconds=1),
    prune_rows=2,
)


@dataclass(frozen=True, kw_only=True)
class Implementation:
    """Opens a store at a path, repeatedly; an in-memory store cannot be opened again."""

    name: str
    inline: bool
    durable: bool

    def open(self, directory: Path, **changed) -> Store:
        settings = {name: getattr(SMALL, name) for name in SMALL.__slots__} | changed
        path = directory / "store.db" if self.durable else ":memory:"
        return SqliteStore.open(path, StoreSettings(**settings | {"inline": self.inline}))


IMPLEMENTATIONS = (
    Implementation(name="sqlite-thread", inline=False, durable=True),
    Implementation(name="sqlite-inline", inline=True, durable=True),
    Implementation(name="sqlite-memory", inline=True, durable=False),
)


def run(scenario) -> None:
    """Run a whole test in one loop with a timeout."""

    async def bounded():
        async with asyncio.timeout(30):
            await scenario

    asyncio.run(bounded())


def pod(name: str, namespace: str = "default") -> Key:
    return Key("pods", namespace, name)


def job(name: str, namespace: str = "default") -> Key:
    return Key("jobs.batch", namespace, name)


def put(value: object = "", *, uid: str = "uid", labels=None, owners=()):
    """A change that stores a value unconditionally."""

    def render(revision: int) -> bytes:
        return json.dumps({"value": value, "revision": revision}).encode()

    return lambda _: Put(uid=uid, render=render, labels=labels or {}, owners=owners)


def remove(_):
    return Remove(render=lambda revision: json.dumps({"value": None, "revision": revision}).encode())


def leave(_):
    return None


def value_of(stored) -> object:
    body = json.loads(stored.data)
    assert body["revision"] == stored.revision, "the bytes carry the revision they were stored under"
    return body["value"]


def changes_reported(events) -> list[tuple[str, str, int]]:
    """Type, name and revision of each event."""
    return [(event.type.value, event.object.key.name, event.object.revision) for event in events]


async def read_until(watch, revision: int) -> list[Event]:
    """All events of a watch up to a revision."""
    events: list[Event] = []
    while watch.revision < revision:
        events += await anext(watch)
    return events


ADDED, MODIFIED, DELETED = EventType.ADDED.value, EventType.MODIFIED.value, EventType.DELETED.value
