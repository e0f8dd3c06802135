"""Writes to a store until it is killed, and prints its acknowledgements.

Run with a path and the revision from which a watch resumes. A line is printed after the fact: `A` for an acknowledged
change, `W` for an event of a watch.
"""

import asyncio
import os
import random
import sys

from e2e.storage_crash_lines import fingerprint
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import Key, Put, Remove, StoreSettings

CALLERS, KEYS, WINDOW = 24, 40, 100
CHANCE = random.Random()  # noqa: S311 - nothing is secret here


async def main(path: str, since: int) -> None:
    store = SqliteStore.open(path, StoreSettings(history_events=64))
    watch = store.watch("pods", None, since)
    async with asyncio.TaskGroup() as group:
        group.create_task(print_events(watch))
        group.create_task(forget(store, watch))
        for _ in range(CALLERS):
            group.create_task(hammer(store))


async def hammer(store):
    while True:
        name = f"p{CHANCE.randrange(KEYS)}"
        change = remove if CHANCE.random() < 0.2 else put
        stored = await store.change(Key("pods", "default", name), change)
        if stored is not None:
            say("A", name, stored)


def put(_):
    noise = CHANCE.randbytes(CHANCE.choice((10, 200, 3000, 20_000))).hex()
    return Put(uid="uid", render=lambda revision: f"{revision} {noise}".encode())


def remove(_):
    return Remove(render=lambda revision: f"{revision} removed".encode())


async def print_events(watch):
    async for events in watch:
        for event in events:
            say("W", event.object.key.name, event.object, event.type.value)


async def forget(store, watch):
    """Compact, but keep what the watch may need after a restart and a margin."""
    while True:
        await store.compact(watch.revision - WINDOW)
        await asyncio.sleep(0.01)


def say(kind, name, stored, *more):
    line = " ".join((kind, str(stored.revision), name, fingerprint(stored.data), *more))
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
