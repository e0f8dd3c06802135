"""The store of the embedded API: durable changes, lists, start and memory. 2 KB objects, a file on the disk."""

import asyncio
import gc
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

from benchmarks.rows import Row
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import Key, Put

OBJECTS = 10_000
BODY = b"x" * 2000
KB = 1024


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        path = Path(directory) / "store.db"
        return [
            *asyncio.run(changes(path)),
            Row("start with 10,000 objects", start_ms(path), "ms", 300),
            *memory(path),
        ]


async def changes(path: Path) -> list[Row]:
    """Time of a durable change as seen by many callers together; then lists and one busy compaction."""
    store = SqliteStore.open(path)
    found = [
        Row("durable change, 1 caller", await us_per_change(store, callers=1, count=1_000), "us", 1_000),
        Row("durable change, 16 callers", await us_per_change(store, callers=16, count=8_000), "us", 200),
        Row(
            "durable change, 128 callers",
            await us_per_change(store, callers=128, count=2 * OBJECTS),
            "us",
            100,
        ),
        Row("durable change, 128 callers, 100 watchers", await watched(store), "us", 250),
        Row("list of 10,000 objects", best_ms(lambda: store.list("pods")), "ms", 5),
        Row("list of one namespace of 10", best_ms(lambda: store.list("pods", "ns-3")), "ms", 1),
        Row(
            "list 1,000 revisions ago",
            best_ms(lambda: store.list_at("pods", None, store.revision - 1_000)),
            "ms",
            30,
        ),
    ]
    started, forgotten = time.perf_counter(), store.revision - store.floor
    await store.compact(store.revision)
    found.append(
        Row("compaction, a forgotten revision", (time.perf_counter() - started) / forgotten * 1e6, "us", 100)
    )
    await store.close()
    return found


async def us_per_change(store: SqliteStore, *, callers: int, count: int) -> float:
    numbers = iter(range(count))

    async def call():
        for number in numbers:
            await store.change(
                Key("pods", f"ns-{number % 10}", f"pod-{number % OBJECTS}"), put(number % OBJECTS)
            )

    started = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(callers)))
    return (time.perf_counter() - started) / count * 1e6


def put(number: int):
    uid = f"00000000-0000-4000-8000-{number:012}"
    labels = {"app.kubernetes.io/name": "bench", "run": f"run-{number % 500}"}
    return lambda _: Put(
        uid=uid,
        render=lambda revision: BODY + b"%d" % revision,
        labels=labels,
        owners=(f"owner-{number % 500}",),
    )


async def watched(store: SqliteStore) -> float:
    watches = [store.watch("pods", None, store.revision) for _ in range(100)]

    async def read(watch):
        async for _ in watch:
            pass

    readers = [asyncio.create_task(read(watch)) for watch in watches]
    found = await us_per_change(store, callers=128, count=5_000)
    for watch in watches:
        await watch.aclose()
    await asyncio.gather(*readers)
    return found


def start_ms(path: Path) -> float:
    def start():
        store = SqliteStore.open(path)
        assert len(store.list("pods").objects) == OBJECTS
        return store

    times = []
    for _ in range(3):
        gc.collect()
        started = time.perf_counter()
        store = start()
        times.append(time.perf_counter() - started)
        asyncio.run(store.close())
    return min(times) * 1000


def memory(path: Path) -> list[Row]:
    """In a process of its own, so that nothing else is counted."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return [Row("memory of 10,000 objects", pool.apply(resident_growth_mb, (path,)), "MB", 35)]


def resident_growth_mb(path: Path) -> float:
    asyncio.run(SqliteStore.open(":memory:").close())
    before = resident_mb()
    store = SqliteStore.open(path)
    gc.collect()
    after = resident_mb()
    asyncio.run(store.close())
    return after - before


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / KB / KB


def best_ms(work, *, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


if __name__ == "__main__":
    for row in rows():
        print(f"{row.name:<45} {row.value:>9.2f} {row.unit:<3} goal {row.goal:g}")
