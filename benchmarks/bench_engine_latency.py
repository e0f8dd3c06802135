"""From the end of a step to its dependent's Job, as a watcher of the same API server sees both."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any, NamedTuple

from benchmarks.bench_engine_beds import NAMESPACE, Bed, chain
from jangar.controllers.resources import CHILD_UID, STEP
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.resource import Resource

LENGTH = 25
WARM = 5
"""Steps at the beginning that are not counted."""


class Moment(NamedTuple):
    """Seconds by the clock, and of the processor that this process has used."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> "Moment":
        return cls(time.perf_counter(), time.process_time())


@dataclass
class Watcher:
    """When each step's container was first reported as terminated, and when each step's Job was reported."""

    ended: dict[str, Moment] = field(default_factory=dict)
    created: dict[str, Moment] = field(default_factory=dict)

    def pod(self, obj: Mapping[str, Any]) -> None:
        states = [
            container_status.get("state") or {}
            for container_status in (obj.get("status") or {}).get("containerStatuses") or ()
        ]
        if states and all("terminated" in state for state in states):
            self.ended.setdefault(obj["metadata"]["labels"][STEP], Moment.now())

    def job(self, obj: Mapping[str, Any]) -> None:
        self.created.setdefault(obj["metadata"]["labels"][STEP], Moment.now())

    def waits(self, length: int) -> list[Moment]:
        """Milliseconds between neighbors in a chain."""
        return [
            Moment(
                *(
                    1000 * (late - soon)
                    for late, soon in zip(self.created[f"s{n + 1}"], self.ended[f"s{n}"], strict=True)
                )
            )
            for n in range(WARM, length - 1)
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


async def _follow(bed: Bed, resource: Resource, on_object: Any) -> None:
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
                on_object(event.object)


async def measure_waits(bed: Bed, *, chains: int) -> list[Moment]:
    """Milliseconds, of all chains, one chain after the other."""
    await bed.define("latency", chain(LENGTH))
    found: list[Moment] = []
    for number in range(chains):
        async with watching(bed) as watcher:
            await bed.start(f"latency-{number}", "latency")
            await bed.ended(f"latency-{number}")
            await asyncio.sleep(0.2)
        found += watcher.waits(LENGTH)
    return found


def percentile(share: int, values: Iterable[float]) -> float:
    return quantiles(values, n=100)[share - 1]
