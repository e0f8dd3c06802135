"""The engine: how soon dependents start, what a step costs, and how it compares with others. One run, one machine.

Run by `make bench-engine`; writes docs/reference/engine-benchmark.md once every figure is there. Figures may be taken
one after another where a machine is quiet only for minutes: `--figures NAMES --keep FILE` adds to what FILE holds.
Without the parts of a real API server its rows are left out, and nothing is written.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks.bench_engine_beds import (
    AT_ONCE,
    ENDED,
    NAMESPACE,
    ROOT,
    RUNS,
    Bed,
    chain,
    laptop,
    laptop_of_three,
    real,
    wide,
)
from benchmarks.bench_engine_cancel import terms_after_cancel
from benchmarks.bench_engine_latency import Moment, measure_waits, percentile
from benchmarks.bench_engine_rivals import RIVALS, Took, measured, spawned
from benchmarks.bench_engine_scale import IDLE, big_run, idle_with
from support.envtest import missing_parts

REPORT = ROOT / "docs" / "reference" / "engine-benchmark.md"
WIDE, CHAIN = 1_000, 100
MANY = 10_000
MAX_SPAWNS = 5.0


class Line(NamedTuple):
    """A figure, and what it must not be above (or, for rates, below)."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False
    remark: str = ""

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"{'≥' if self.at_least else '≤'} {self.goal:,.4g}"
        met = {None: "", True: "yes", False: "**no**"}[self.met]
        return f"| {self.name} | {self.value:,.4g} {self.unit} | {goal} | {met} | {self.remark} |"


Lines = AsyncIterator[Line]


WAIT = "End of a step to dependent's Job"


async def latency_embedded() -> Lines:
    async with laptop() as bed:
        waits = await measure_waits(bed, chains=3)
    for line in _waits("embedded, one process", waits, 20):
        yield line
    for share in (50, 99):
        used = percentile(share, (wait.processor for wait in waits))
        yield Line(f"{WAIT}, embedded, one process, processor time, p{share}", used, "ms")
    async with laptop_of_three() as bed:
        for line in _waits("embedded, three processes", await measure_waits(bed, chains=3), 20):
            yield line


async def latency_real() -> Lines:
    async with real() as bed:
        for line in _waits("kube-apiserver", await measure_waits(bed, chains=3), 100):
            yield line


def _waits(where: str, waits: list[Moment], goal: float) -> list[Line]:
    clock = [wait.clock for wait in waits]
    return [
        Line(f"{WAIT}, {where}, p50", percentile(50, clock), "ms"),
        Line(f"{WAIT}, {where}, p99", percentile(99, clock), "ms", goal),
    ]


async def writes() -> Lines:
    async with laptop() as bed:
        await bed.define("ten", chain(10))
        await asyncio.sleep(0.5)
        assert bed.counted is not None
        bed.counted.reset()
        await bed.start("ten", "ten")
        await bed.ended("ten")
        await asyncio.sleep(2)
        shares = sorted(
            ((sum(sizes) / 10, len(sizes) / 10, target) for target, sizes in bed.counted.by_target.items()),
            reverse=True,
        )
        remark = "; ".join(
            f"{target} {count:.1f} of {size / count:,.0f} B" for size, count, target in shares[:5]
        )
        yield Line(
            "API writes by our controllers for a step of ten in a chain", bed.counted.writes / 10, "", 10
        )
        yield Line("Request bytes of these for a step", bed.counted.sent / 10, "B", 8192, remark=remark)


async def cancel() -> Lines:
    async with laptop() as bed:
        after = await terms_after_cancel(bed)
    yield Line("Request to cancel to TERM of 100 live steps, embedded, p99", percentile(99, after), "s", 1)


async def rate_real(count: int) -> Lines:
    async with real() as bed:
        await bed.define("one", wide(1))
        await bed.start("first", "one")
        await bed.ended("first")
        began, processor = time.perf_counter(), time.process_time()
        places = asyncio.Semaphore(32)

        async def start(number: int) -> None:
            async with places:
                await bed.start(f"run-{number}", "one")

        await asyncio.gather(*(start(number) for number in range(count)))
        await _all_ended(bed)
        took = time.perf_counter() - began
        spent = (time.process_time() - processor) / count * 1000
        remark = f"{count} at once; controllers used {spent:.0f} ms of processor for one"
        yield Line("One-step runs on kube-apiserver", count / took, "/s", 30, at_least=True, remark=remark)


async def _all_ended(bed: Bed) -> None:
    async with asyncio.timeout(120):
        while True:
            await asyncio.sleep(0.25)
            phases = [
                (run.get("status") or {}).get("phase") for run in await bed.client.list(RUNS, NAMESPACE)
            ]
            if all(phase in ENDED for phase in phases):
                return


async def compare_with_others(steps: int, length: int) -> Lines:
    own = []
    plain = spawned(steps, length)
    for name, bed in (("one process", laptop), ("three processes", laptop_of_three)):
        async with bed() as place:
            own.append((name, await _laptop_times(place, steps, length)))
    again = spawned(steps, length)
    spawn = Took(wide=(plain.wide + again.wide) / 2, chain=(plain.chain + again.chain) / 2)
    others = [(rival.name, measured(rival, steps, length)) for rival in RIVALS]
    fastest = min((took.wide for _, took in others if isinstance(took, Took)), default=None)
    yield Line(f"{steps:,} processes, {AT_ONCE} at once, spawned by hand", spawn.wide, "s")
    for name, took in own:
        yield Line(
            f"{steps:,} steps wide, jangar, {name}", took.wide, "s", fastest, remark="goal: the fastest other"
        )
        yield Line(
            f"{steps:,} steps wide, jangar, {name}, by the spawn",
            took.wide / spawn.wide,
            "times",
            MAX_SPAWNS,
        )
    used = own[0][1].processor / steps * 1000
    yield Line("A step of these, jangar, one process, processor time without the step's own", used, "ms")
    for name, found in others:
        if isinstance(found, Took):
            yield Line(f"{steps:,} steps wide, {name}", found.wide, "s")
        else:
            print(f"{name} is left out: {found}", flush=True)
    yield Line(f"A process of {length} spawned one after another", spawn.chain / length * 1000, "ms")
    for name, took in own:
        yield Line(f"A step of {length} in a chain, jangar, {name}", took.chain / length * 1000, "ms", 30)
    for name, found in others:
        if isinstance(found, Took):
            yield Line(f"A step of {length} in a chain, {name}", found.chain / length * 1000, "ms")


async def _laptop_times(bed: Bed, steps: int, length: int) -> Took:
    await bed.define("warm", chain(5))
    await bed.start("warm", "warm")
    await bed.ended("warm")
    await bed.define("chain", chain(length))
    await bed.define("wide", wide(steps), policies={"maxParallel": AT_ONCE})
    times, spent = [], []
    for name, every in (("wide", 0.25), ("chain", 0.05)):
        began, processor = time.perf_counter(), time.process_time()
        await bed.start(name, name)
        await bed.ended(name, seconds=600, every=every)
        times.append(time.perf_counter() - began)
        spent.append(time.process_time() - processor)
    return Took(wide=times[0], chain=times[1], processor=spent[0])


async def big(steps: int) -> Lines:
    found = await big_run(steps, at_once=64)
    yield Line(f"A run of {steps:,} steps to its end, scripted pods, 64 at once", found.seconds, "s")
    yield Line("Its largest object", found.largest / 1024, "KiB", 1024)
    yield Line("Peak memory of server and controllers in one process", found.peak, "MiB")


async def idle(runs: int) -> Lines:
    found = await idle_with(runs)
    yield Line(f"Memory of the controllers with {runs:,} finished runs", found.resident, "MiB", 300)
    remark = f"in {IDLE:.0f} s, Leases aside"
    yield Line(f"Writes with {runs:,} finished runs, idle", found.writes, "", 0, remark=remark)


def figures(given: argparse.Namespace) -> dict[str, Callable[[], Lines]]:
    return {
        "latency": latency_embedded,
        "cancel": cancel,
        "latency-real": latency_real,
        "writes": writes,
        "rate-real": lambda: rate_real(given.runs),
        "others": lambda: compare_with_others(given.wide, given.chain),
        "big": lambda: big(given.many),
        "idle": lambda: idle(given.many),
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--figures", default="", help="names by comma; else all")
    options.add_argument("--keep", type=Path, help="a file of figures taken before; these are added to it")
    options.add_argument("--wide", type=int, default=WIDE)
    options.add_argument("--chain", type=int, default=CHAIN)
    options.add_argument("--many", type=int, default=MANY)
    options.add_argument("--runs", type=int, default=200)
    given = options.parse_args()
    known = figures(given)
    selected = given.figures.split(",") if given.figures else list(known)
    if missing := missing_parts():
        print(f"no real API server: {', '.join(missing)} missing (scripts/envtest/build)")
        selected = [name for name in selected if not name.endswith("real")]
    is_full_size = (given.wide, given.chain, given.many) == (WIDE, CHAIN, MANY)
    kept = _kept(given.keep)
    for name in selected:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            kept[name] = runner.run(_reported(known[name]()))
        if given.keep and is_full_size:
            given.keep.write_text(json.dumps(kept))
    if is_full_size and kept.keys() >= known.keys():
        REPORT.write_text(report([line for name in known for line in kept[name]]))
    return 1 if any(line.met is False for name in selected for line in kept[name]) else 0


def _kept(file: Path | None) -> dict[str, list[Line]]:
    if file is None or not file.exists():
        return {}
    return {name: [Line(*line) for line in lines] for name, lines in json.loads(file.read_text()).items()}


async def _reported(lines: Lines) -> list[Line]:
    found = []
    async for line in lines:
        load = f"load {os.getloadavg()[0]:.1f}"
        found.append(line._replace(remark=f"{line.remark}; {load}" if line.remark else load))
        print(found[-1], flush=True)
    return found


def report(lines: list[Line]) -> str:
    rows = "\n".join(str(line) for line in lines)
    return (
        "<!-- Written by `make bench-engine`; do not edit. -->\n"
        "# What the engine costs\n\n"
        f"Measured on {os.cpu_count()} cores ({platform.machine()}, Python {platform.python_version()}), all figures "
        "of a comparison in one run; the load is the machine's, our own included, in the minute in which a figure was "
        "taken.\n\n"
        "| | value | goal | met | |\n|---|--:|--:|---|---|\n" + rows + "\n\n"
        "A step ends when a watcher receives the event that the step's container has terminated; a Job is "
        "created when the same watcher receives its event. Chains are of 25 steps, of which the first "
        "five are not counted. *One process* is API server, node agent and controllers in one event loop, *three "
        "processes* are `jangar apiserver`, `jangar node-agent` and `jangar controllers` over TLS; both sync every "
        "commit. The real server is kube-apiserver and etcd with kube-controller-manager's Job controller, as the "
        "tests start them (etcd without fsync); its pods are reported as ended by a node that runs nothing. Steps run "
        f"`true`, {AT_ONCE} at once; the other engines do the same with their own means, from PyPI, in environments "
        "of their own. Spawning was measured before and after, and is the mean. Writes and bytes are request bodies "
        "of our controllers, Events and Leases aside.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
