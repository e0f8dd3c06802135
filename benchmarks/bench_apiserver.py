"""The embedded API server compared with kube-apiserver and etcd: one run, one client, both durable, both over TLS.

Run by `make bench-apiserver`; writes docs/reference/apiserver-benchmark.md. Without the real parts only the embedded
server is measured, and nothing is written.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import uvloop
import yaml

from benchmarks.bench_http import Connection, Target

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.api_servers import EmbeddedApiServer, RealApiServer  # noqa: E402 - the beds are the tests' own
from support.envtest import missing_parts  # noqa: E402

REPORT = ROOT / "docs" / "reference" / "apiserver-benchmark.md"
CRD = ROOT / "charts" / "agents" / "crds" / "tools.proompteng.ai_toolruns.yaml"
RUNS = "/apis/tools.proompteng.ai/v1alpha1/namespaces/default/toolruns"
CALLERS = 16
OBJECTS = 10_000
WATCHES, EVENTS = 1_000, 100
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing that is measured, and how the two servers must compare."""

    name: str
    unit: str
    digits: int = 0
    more_is_better: bool = True
    goal: float | None = 1.0
    """Embedded divided by real: at least this where more is better, at most this where less is."""


FIGURES = {
    "create": Figure(name="Creates", unit="/s"),
    "status": Figure(name="Status patches", unit="/s"),
    "apply": Figure(name="Server-side applies", unit="/s"),
    "get": Figure(name="Gets", unit="/s"),
    "list": Figure(name="List of 10,000 objects", unit="ms", more_is_better=False),
    "watch": Figure(name="Deliveries to 1,000 watches", unit="/s"),
    "start": Figure(name="Start to ready", unit="s", digits=2, more_is_better=False),
    "memory": Figure(name="Memory at 10,000 objects", unit="MB", more_is_better=False, goal=0.5),
}


@dataclass
class Measured:
    """What one server did. `client` is the share of one core that the client used meanwhile."""

    values: dict[str, float] = field(default_factory=dict)
    client: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    """Microseconds of the server's processor time for one of them."""


class Server(Protocol):
    """What a benchmark needs to know of a server."""

    url: str
    token: str
    ca: Path | None
    directory: Path

    def stop(self) -> None: ...


class DurableRealApiServer(RealApiServer):
    """As in the tests, but etcd syncs its log, and more requests may be in flight."""

    def _start(self) -> None:
        run = self._bed.run

        def durable(name: str, *command: str | Path) -> Any:
            words = [word for word in command if word != "--unsafe-no-fsync"]
            if name == "kube-apiserver":
                words += ["--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000"]
            return run(name, *words)

        self._bed.run = durable  # type: ignore[method-assign]
        super()._start()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", choices=("embedded", "real"))
    options.add_argument("--objects", type=int, default=OBJECTS)
    options.add_argument("--figures", default=",".join(FIGURES))
    options.add_argument(
        "--profile", action="store_true", help="leave the server running and print its pid first"
    )
    given = options.parse_args()
    figures = given.figures.split(",")
    found: dict[str, Measured] = {}
    kinds: dict[str, Callable[[], Server]] = {"embedded": EmbeddedApiServer, "real": DurableRealApiServer}
    for name, start in kinds.items():
        if given.only not in (None, name):
            continue
        if name == "real" and (missing := missing_parts()):
            print(f"no real API server to compare with: {', '.join(missing)} missing (scripts/envtest/build)")
            continue
        print(f"{name}:", flush=True)
        found[name] = measure(start, given.objects, figures)
    if len(found) < len(kinds):
        return 0
    rows = list(table(found["embedded"], found["real"], figures))
    print("\n" + "\n".join(rows))
    if given.objects == OBJECTS and figures == list(FIGURES):
        REPORT.write_text(report(rows))
    return 1 if any("**no**" in row for row in rows) else 0


def measure(start: Callable[[], Server], objects: int, figures: list[str]) -> Measured:
    measured = Measured()
    began = time.monotonic()
    server = start()
    try:
        measured.values["start"] = time.monotonic() - began
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(Bench(server, measured, objects).run(figures))
    finally:
        server.stop()
    return measured


class Bench:
    """All measurements of one server, in an order in which each finds what it needs."""

    def __init__(self, server: Server, measured: Measured, objects: int) -> None:
        assert server.ca is not None
        self._server = server
        self._measured = measured
        self._objects = objects
        self._target = Target(port=int(server.url.rpartition(":")[2]), token=server.token, ca=server.ca)
        self._connections: list[Connection] = []
        self._turn = 0

    async def run(self, figures: list[str]) -> None:
        self._tell("start", self._measured.values["start"])
        self._connections = [await self._target.connect() for _ in range(CALLERS)]
        await self._install()
        await self._timed("create", self._objects, self._create)
        self._tell("memory", self._resident_mb())
        if "get" in figures:
            await self._timed("get", 20_000, self._get)
        if "status" in figures:
            await self._timed("status", 6_000, self._status)
        if "apply" in figures:
            await self._timed("apply", 4_000, self._apply)
        if "list" in figures:
            await self._list()
        if "watch" in figures:
            await self._watch()
        for connection in self._connections:
            connection.close()
        await asyncio.sleep(0.1)

    async def _timed(self, figure: str, count: int, request: Callable[[int], tuple[bytes, int]]) -> None:
        """Requests by sixteen callers; the first tenth is not counted."""
        requests = [request(number) for number in range(count)]
        warm = count // 10
        await self._callers(iter(requests[:warm]))
        self._begin()
        await self._callers(iter(requests[warm:]))
        self._tell(figure, (count - warm) / self._end(figure, count - warm))

    async def _callers(self, requests: Iterator[tuple[bytes, int]]) -> None:
        async def call(connection: Connection) -> None:
            for request, expected in requests:
                reply = await connection.ask(request)
                assert reply.status == expected, f"{request[:200]!r}: {reply.status} {reply.body[:500]!r}"

        await asyncio.gather(*(call(connection) for connection in self._connections))

    # -- requests -----------------------------------------------------------------------------------------------

    def _create(self, number: int) -> tuple[bytes, int]:
        return self._target.request("POST", RUNS, tool_run(number)), 201

    def _get(self, number: int) -> tuple[bytes, int]:
        return self._target.request("GET", f"{RUNS}/{name(spread(number, self._objects))}"), 200

    def _status(self, number: int) -> tuple[bytes, int]:
        self._turn += 1  # the same status again would be no change
        message = f"Attempt {self._turn} runs."
        body = {"status": {"phase": "Running", "reason": "Started", "message": message}}
        path = f"{RUNS}/{name(spread(number, self._objects))}/status"
        return self._target.request("PATCH", path, json.dumps(body).encode(), MERGE), 200

    def _apply(self, number: int) -> tuple[bytes, int]:
        body = {
            "apiVersion": "tools.proompteng.ai/v1alpha1",
            "kind": "ToolRun",
            "metadata": {"name": name(spread(number, self._objects)), "labels": {"applied": f"n{number}"}},
            "spec": {"ttlSecondsAfterFinished": number},
        }
        path = f"{RUNS}/{body['metadata']['name']}?fieldManager=bench&force=true"
        return self._target.request("PATCH", path, json.dumps(body).encode(), APPLY), 200

    # -- others -------------------------------------------------------------------------------------------------

    async def _install(self) -> None:
        connection = self._connections[0]
        crd = json.dumps(yaml.safe_load(CRD.read_text())).encode()
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = await connection.ask(self._target.request("POST", path, crd))
        assert made.status == 201, made.body
        deadline = time.monotonic() + 30
        while (await connection.ask(self._target.request("GET", RUNS))).status != 200:
            assert time.monotonic() < deadline, "the kind is not served"
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)

    async def _list(self) -> None:
        times = []
        self._begin()
        for _ in range(7):
            began = time.perf_counter()
            reply = await self._connections[0].ask(self._target.request("GET", RUNS))
            times.append(time.perf_counter() - began)
            assert reply.status == 200
            assert reply.body.count(b'"uid":') >= self._objects
        self._end("list", len(times))
        self._tell("list", median(times) * 1000)

    async def _watch(self) -> None:
        listed = await self._connections[0].ask(self._target.request("GET", f"{RUNS}?limit=1"))
        since = json.loads(listed.body)["metadata"]["resourceVersion"]
        path = f"{RUNS}?watch=true&resourceVersion={since}"
        watches = []
        for _ in range(WATCHES // 50):
            opened = [self._target.watch(path, b'"type":"MODIFIED"') for _ in range(50)]
            watches += await asyncio.gather(*opened)
        for watch in watches:
            watch.wanted = EVENTS
        await asyncio.sleep(1)
        self._begin()
        await self._callers(iter([self._status(number) for number in range(EVENTS)]))
        async with asyncio.timeout(120):
            await asyncio.gather(*(watch.done for watch in watches))
        self._tell("watch", WATCHES * EVENTS / self._end("watch", WATCHES * EVENTS))
        assert {watch.count for watch in watches} == {EVENTS}, "every watch gets every event once"
        for watch in watches:
            watch.close()

    # -- clocks and memory --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._began = time.perf_counter(), time.process_time(), self._processor_seconds()

    def _end(self, figure: str, count: int) -> float:
        """The seconds since the beginning; what client and server used of the processor is kept."""
        began, client, server = self._began
        took = time.perf_counter() - began
        self._measured.client[figure] = (time.process_time() - client) / took
        self._measured.processor[figure] = (self._processor_seconds() - server) / count * 1e6
        return took

    def _resident_mb(self) -> float:
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self._pids())
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024

    def _processor_seconds(self) -> float:
        ticks = 0
        for pid in self._pids():
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(words[11]) + int(words[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _pids(self) -> list[int]:
        """All processes that make up the server."""
        return [child.pid for child in self._server._bed._children]  # type: ignore[attr-defined]  # noqa: SLF001

    def _tell(self, figure: str, value: float) -> None:
        self._measured.values[figure] = value
        client, server = self._measured.client.get(figure), self._measured.processor.get(figure, 0.0)
        meanwhile = (
            f"   (server {server:,.0f} us of processor each; client {client:.0%} of a core)" if client else ""
        )
        shown = FIGURES[figure]
        print(f"  {shown.name:<30} {value:>12,.{shown.digits}f} {shown.unit}{meanwhile}", flush=True)


def name(number: int) -> str:
    return f"run-{number:05}"


def spread(number: int, objects: int) -> int:
    """Neighbors in time are not neighbors in the list, and no object is asked for twice at once."""
    return number * 7919 % objects


def tool_run(number: int) -> bytes:
    """A run as large as they are: about two kilobytes."""
    rng = random.Random(number)
    body = {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "ToolRun",
        "metadata": {
            "name": name(number),
            "labels": {"app.kubernetes.io/name": "bench", "team": f"team-{number % 20}"},
            "annotations": {"example.com/note": rng.randbytes(300).hex()},
        },
        "spec": {
            "toolRef": {"name": "greet"},
            "parameters": {f"parameter-{n}": rng.randbytes(30).hex() for n in range(8)},
            "timeoutSeconds": 600,
        },
    }
    return json.dumps(body).encode()


# -- the report ----------------------------------------------------------------------------------------------------


def table(embedded: Measured, real: Measured, figures: list[str]) -> Iterator[str]:
    yield "| | embedded | kube-apiserver + etcd | ratio | goal | met | processor time each, embedded / real |"
    yield "|---|--:|--:|--:|--:|---|--:|"
    for key, figure in FIGURES.items():
        if key not in embedded.values or (key not in figures and key != "start"):
            continue
        ours, theirs = embedded.values[key], real.values[key]
        ratio = ours / theirs
        goal = figure.goal
        met, shown = "", ""
        if goal is not None:
            met = "yes" if (ratio >= goal) == figure.more_is_better or ratio == goal else "**no**"
            shown = f"{'≥' if figure.more_is_better else '≤'} {goal:g}"
        yield (
            f"| {figure.name} | {ours:,.{figure.digits}f} {figure.unit} | {theirs:,.{figure.digits}f} {figure.unit} "
            f"| {ratio:.2f} | {shown} | {met} | {_processor(key, embedded, real)} |"
        )


def _processor(key: str, embedded: Measured, real: Measured) -> str:
    """Hardly moved by what else the machine does, unlike the rates."""
    if key not in embedded.processor:
        return ""
    return f"{embedded.processor[key]:,.0f} / {real.processor[key]:,.0f} µs"


def report(rows: list[str]) -> str:
    return (
        "<!-- Written by `make bench-apiserver`; do not edit. -->\n"
        "# The embedded API server compared with a real one\n\n"
        f"Measured in one run on {os.cpu_count()} cores ({platform.machine()}, Python {platform.python_version()}), "
        "client and server on the same machine.\n\n" + "\n".join(rows) + "\n\n"
        "The ratio is embedded divided by real. The real server is kube-apiserver with etcd, both as the tests start "
        "them, except that etcd syncs its log to disk and `--max-requests-inflight` and "
        "`--max-mutating-requests-inflight` are raised to 3000 and 1000; priority and fairness is off. The embedded "
        "server syncs every commit, too. Both are asked over TLS by the same client, one process with "
        f"{CALLERS} connections; objects are ToolRuns of two kilobytes. A status patch changes three fields; an apply "
        f"changes two and forces; a get reads one object of 10,000. For deliveries, {WATCHES:,} open watches receive "
        f"{EVENTS} changes each. Memory is the resident set: one process here, two there. Processor time is what all "
        "processes of a server used for one request, list or delivery; other work on the machine hardly moves it.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
