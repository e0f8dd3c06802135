"""The planner: cold and incremental passes, growth with size, and a whole run step by step. CPU time, one core."""

import gc
import random
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from benchmarks.rows import Row
from jangar.api.phases import ExecutionMode, Phase, StepKind, StepPhase
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.graph import graph_of
from jangar.domain.orchestration.planning.actions import StartChild
from jangar.domain.orchestration.planning.observation import Child, ChildSeen, Observation, RunFacts
from jangar.domain.orchestration.planning.plan import Plan, plan
from jangar.domain.orchestration.state import RunRecord

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
WIDTH, DEGREE = 100, 5
SIZES = (1_000, 10_000, 50_000)
RUN = RunFacts(name="bench", uid="uid", generation=1, created_at=NOON)


def rows() -> list[Row]:
    definitions = {size: layered(size) for size in SIZES}
    halfway = {size: cold_halfway(definition) for size, definition in definitions.items()}
    per_edge = {size: halfway[size] / (size * DEGREE) for size in SIZES}
    big = definitions[10_000]
    return [
        Row("cold pass at the start, 10,000 steps", cold_start(big), "ms", 50),
        Row("cold pass halfway, 10,000 steps", halfway[10_000], "ms", 50),
        Row(
            "cold pass: time an edge at 50,000 steps against 1,000",
            per_edge[50_000] / per_edge[1_000],
            "x",
            2,
        ),
        Row("incremental pass, 10,000 steps, 100 live", incremental(big), "ms", 3),
        Row("whole run of 10,000 steps, step by step", whole_run(big), "s of CPU", 60),
    ]


def layered(count: int) -> Definition:
    """Layers of 100 steps; each needs 5 random ones of the layer before. Sizes beyond what the schema takes, too."""
    rng = random.Random(count)
    names = [f"s{index}" for index in range(count)]
    needs = [
        tuple(sorted(rng.sample(range(first - WIDTH, first), DEGREE))) if first else ()
        for first in (index // WIDTH * WIDTH for index in range(count))
    ]
    graph = graph_of(names, needs)
    assert graph is not None
    steps = tuple(
        StepDefinition(index=index, name=name, kind=StepKind.TOOL_RUN, needs=needs[index], target="t")
        for index, name in enumerate(names)
    )
    return Definition(mode=ExecutionMode.GRAPH, graph=graph, steps=steps)


def cold_start(definition: Definition) -> float:
    observation = Observation(run=RUN, definition=definition)
    return best_ms(lambda: plan(observation, NOON))


def cold_halfway(definition: Definition) -> float:
    observation = Observation(run=RUN, definition=definition, recorded=halfway_record(definition))
    return best_ms(lambda: plan(observation, NOON))


def incremental(definition: Definition) -> float:
    """One of a hundred live children ends."""
    first = plan(Observation(run=RUN, definition=definition, recorded=halfway_record(definition)), NOON)
    children = {
        action.child: running(action.child) for action in first.actions if isinstance(action, StartChild)
    }
    before = plan(_observed(definition, first, children), NOON, first)
    ended = next(iter(children))
    observation = _observed(definition, before, children | {ended: succeeded(ended)})
    return best_ms(lambda: plan(observation, NOON, before))


def whole_run(definition: Definition) -> float:
    """Every start and every end is a pass of its own, as a controller would see them; in CPU seconds."""
    children: dict[str, Child] = {}
    queue: list[str] = []
    now, passes = NOON, 0
    started = time.process_time()
    last = plan(Observation(run=RUN, definition=definition), now)
    while last.status.lifecycle.phase is not Phase.SUCCEEDED:
        for action in last.actions:
            if isinstance(action, StartChild) and action.child not in children:
                children[action.child] = running(action.child)
                queue.append(action.child)
        now += timedelta(milliseconds=10)
        last = plan(_observed(definition, last, children), now, last)
        children = children.copy()
        ended = queue.pop(0)
        children[ended] = succeeded(ended)
        last = plan(_observed(definition, last, children), now, last)
        passes += 2
    assert passes == 2 * len(definition.steps)
    return time.process_time() - started


def halfway_record(definition: Definition) -> RunRecord:
    half = len(definition.steps) // 2
    return RunRecord(
        steps=tuple(
            replace(state, phase=StepPhase.SUCCEEDED, attempt=1) if index < half else state
            for index, state in enumerate(definition.fresh)
        )
    )


def running(name: str) -> ChildSeen:
    return ChildSeen(name=name, uid=name, phase=Phase.RUNNING, created_at=NOON)


def succeeded(name: str) -> ChildSeen:
    return replace(running(name), phase=Phase.SUCCEEDED, finished_at=NOON)


def _observed(definition: Definition, last: Plan, children: dict[str, Child]) -> Observation:
    return Observation(run=RUN, definition=definition, recorded=last.status, children=children)


def best_ms(work: Callable[[], object], *, repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        gc.collect()
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times) * 1000
