"""From the end of a step to its dependent's Job, as a watcher of the same API server sees both."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from benchmarks.bench_engine_beds import NAMESPACE, Bed, chain
from jangar.controllers.resources import CHILD_UID, STEP
from jangar.kube.builtin import JOBS, PODS
from jangar.kube.resource import Resource

LENGTH = 25
WARM = 5
"""Steps at the beginning that are not counted."""


@dataclass
class Watcher:
    """When each step's container was first told as terminated, and when each step's Job was told."""

    ended: dict[str, float] = field(default_factory=dict)
    created: dict[str, float] = field(default_factory=dict)

    def pod(self, obj: Mapping[str, Any]) -> None:
        states = [
            each.get("state") or {} for each in (obj.get("status") or {}).get("containerStatuses") or ()
        ]
        if states and all("terminated" in state for state in states):
            self.ended.setdefault(obj["metadata"]["labels"][STEP], time.perf_counter())

    def job(self, obj: Mapping[str, Any]) -> None:
        self.created.setdefault(obj["metadata"]["labels"][STEP], time.perf_counter())

    def waits(self, length: int) -> list[float]:
        """Milliseconds between neighbours of a chain."""
        return [
            (self.created[f"s{number + 1}"] - self.ended[f"s{number}"]) * 1000
            for number in range(WARM, length - 1)
        ]


@asynccontextmanager
async def watching(bed: Bed) -> AsyncIterator[Watcher]:
    watcher = Watcher()
    tasks = [
        asyncio.create_task(_follow(bed, PODS, watcher.pod)),
        asyncio.create_task(_follow(bed, JOBS, watcher.job)),
    ]
    await asyncio.sleep(0.5)
    try:
        yield watcher
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(bed: Bed, resource: Resource, heard: Any) -> None:
    async for page in bed.client.pages(resource, NAMESPACE, page_size=0):
        since = page.resource_version
    watch = bed.client.watch(
        resource,
        NAMESPACE,
        resource_version=since,
        labels=CHILD_UID,
        timeout_seconds=600,
        bookmarks=False,
    )
    async with watch as events:
        async for event in events:
            if event.kind in ("ADDED", "MODIFIED"):
                heard(event.object)


async def measure_waits(bed: Bed, *, chains: int) -> list[float]:
    """Milliseconds, of all chains, one chain after the other."""
    await bed.define("latency", chain(LENGTH))
    found: list[float] = []
    for number in range(chains):
        async with watching(bed) as watcher:
            await bed.start(f"latency-{number}", "latency")
            await bed.ended(f"latency-{number}")
            await asyncio.sleep(0.2)
        found += watcher.waits(LENGTH)
    return found


def p50(values: list[float]) -> float:
    return quantiles(values, n=100)[49]


def p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]
