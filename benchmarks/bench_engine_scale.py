"""Large numbers: one run of 10,000 steps, and 10,000 finished runs that do not change."""

import asyncio
import copy
import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchmarks.bench_engine_beds import (
    NAMESPACE,
    ORCHESTRATIONS,
    RUNS,
    TOOL_RUNS,
    Bed,
    laptop,
    scripted_laptop,
    wide,
)
from kubekit.client.api_client import PatchKind
from kubekit.client.builtin import CONFIG_MAPS, EVENTS, JOBS, PODS
from support.child_processes import Child

SIDE_BY_SIDE = 32
SETTLE_SECONDS, IDLE_SECONDS = 20.0, 600.0
"""Seconds that the controllers have to look at everything once, and that are then watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Big:
    """A run of many steps."""

    seconds: float
    largest: int
    """Bytes of the largest object of the run."""
    peak: float
    """MiB of the process with server, controllers and scripted pods in it."""


async def big_run(steps: int, *, at_once: int) -> Big:
    async with scripted_laptop() as bed:
        await bed.define("big", wide(steps), policies={"maxParallel": at_once})
        began = time.perf_counter()
        await bed.start("big", "big")
        await bed.ended("big", seconds=3600, every=0.5)
        took = time.perf_counter() - began
        sizes = [
            len(orjson.dumps(item))
            for kind in (RUNS, ORCHESTRATIONS, CONFIG_MAPS)
            for item in await bed.client.list(kind, NAMESPACE, page_size=50)
        ]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Big(seconds=took, largest=max(sizes), peak=peak)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Controllers that have only finished runs."""

    resident: float
    """MiB."""
    writes: int
    """Objects written in the idle window; Leases aside."""


async def idle_with(runs: int) -> Idle:
    """Copies of one finished run, made while no controllers run; then they come back, as a process of their own."""
    async with laptop() as bed:
        await bed.define("one", wide(1))
        await bed.start("first", "one")
        await bed.ended("first")
        await asyncio.sleep(2)
        bed.stop_controllers()
        await asyncio.sleep(1)
        await _copy_run(bed, runs)
        with tempfile.TemporaryDirectory(prefix="jangar-bench-") as directory:
            command = (Path(sys.executable).with_name("jangar"), "controllers", "-n", NAMESPACE)
            where = ("--kubeconfig", bed.kubeconfig)
            controllers = Child("controllers", (*command, *where), Path(directory))
            try:
                await asyncio.sleep(SETTLE_SECONDS)
                assert not controllers.has_ended, "the controllers ended"
                before = await _newest(bed)
                await asyncio.sleep(IDLE_SECONDS)
                return Idle(resident=_resident(controllers.pid), writes=await _newer(bed, before))
            finally:
                controllers.stop()


async def _copy_run(bed: Bed, runs: int) -> None:
    run = await bed.client.get(RUNS, "first", NAMESPACE)
    (child,) = await bed.client.list(TOOL_RUNS, NAMESPACE)
    places = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(number: int) -> None:
        async with places:
            made = await bed.client.create(RUNS, _copy_named(run, f"copy-{number}"))
            owned = _copy_named(child, f"copy-{number}")
            owned["metadata"]["ownerReferences"][0] |= {
                "name": made["metadata"]["name"],
                "uid": made["metadata"]["uid"],
            }
            made_child = await bed.client.create(TOOL_RUNS, owned)
            status = copy.deepcopy(run["status"])
            status["stepStatuses"][0]["resourceRef"] |= {
                "name": made_child["metadata"]["name"],
                "uid": made_child["metadata"]["uid"],
            }
            await _finish(bed, RUNS, made, status)
            await _finish(bed, TOOL_RUNS, made_child, child["status"])

    await asyncio.gather(*(one(number) for number in range(runs)))


def _copy_named(obj: Mapping[str, Any], name: str) -> dict[str, Any]:
    kept = ("labels", "annotations", "finalizers", "ownerReferences", "namespace")
    meta = {key: value for key, value in obj["metadata"].items() if key in kept}
    found = copy.deepcopy({**obj, "metadata": {**meta, "name": name}})
    found.pop("status")
    return found


async def _finish(bed: Bed, kind: Any, made: Mapping[str, Any], status: Any) -> None:
    meta = made["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "status": status}
    await bed.client.patch(kind, meta["name"], NAMESPACE, body, kind=PatchKind.MERGE, subresource="status")


async def _newest(bed: Bed) -> int:
    async for page in bed.client.pages(RUNS, NAMESPACE, page_size=1):
        return int(page.resource_version)
    raise AssertionError("a list has a page")


async def _newer(bed: Bed, version: int) -> int:
    kinds = (RUNS, TOOL_RUNS, ORCHESTRATIONS, CONFIG_MAPS, JOBS, PODS, EVENTS)
    found = [item for kind in kinds for item in await bed.client.list(kind, NAMESPACE)]
    return sum(int(item["metadata"]["resourceVersion"]) > version for item in found)


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
