"""Clocks that are wrong, jump, or show an unusual time: row 9 of the matrix."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

import pytest

from simulation.faults import Faults
from simulation.plans import BLOCKS, Plan, block_of, prove

STORIES = (
    "chain",
    "failure with skip",
    "retry",
    "nested",
    "cancel midway",
    "Job deleted by hand",
    "work ends well on SIGTERM",
    "a run with a time to live",
)
ON_NODES = (
    "cancel midway",
    "timeout",
    "work ends well on SIGTERM",
    "work ignores SIGTERM",
    "work had succeeded before the cancel",
    "work had failed before the cancel",
    "Job deleted by hand",
    "a Job vanishes as its pod by a person, Fail",
    "chain",
    "a run with a time to live",
    "cancel early",
)
TIMES = {
    "the leap day": datetime(2028, 2, 28, 23, 59, 57, tzinfo=UTC),
    "the year's end": datetime(2026, 12, 31, 23, 59, 57, tzinfo=UTC),
    "summer time": datetime(2026, 3, 29, 0, 59, 57, tzinfo=UTC),
    "winter time": datetime(2026, 10, 25, 0, 59, 57, tzinfo=UTC),
}


@pytest.mark.rule("ST-4")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_wrong_clocks_change_no_recorded_outcome(block, record_property):
    """Ahead, behind, or set back during a run: no outcome changes, and nothing is deleted early."""
    prove("9: clocks are wrong and are set back", _wrong(block_of(block, 200, 3)), record_property)


@pytest.mark.rule("ST-4")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_unusual_times_are_handled(block, record_property):
    plans = (
        Plan(
            story=STORIES[seed % len(STORIES)],
            seed=seed,
            start=list(TIMES.values())[seed % len(TIMES)],
        )
        for seed in block_of(block, 100, 2)
    )
    prove("9: leap day, year's end, summer and winter time", plans, record_property)


@pytest.mark.rule("CAN-7", "GC-3")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_nodes_clock_decides_no_outcome(block, record_property):
    """Seconds to minutes behind or ahead: stopped work neither succeeds nor fails, and work that had ended before
    keeps its result.
    """
    prove("9: the nodes' clocks are wrong", _nodes(block_of(block, 300, 3)), record_property)


def _nodes(seeds: range) -> Iterator[Plan]:
    for seed in seeds:
        rng = Random(f"nodes {seed}")  # noqa: S311
        off = rng.choice((-1, 1)) * 300 ** rng.random()
        lives = (Faults(lag=1.0, until=30.0),) if seed % 2 else ()
        yield Plan(story=ON_NODES[seed % len(ON_NODES)], seed=seed, lives=lives, node_clock=round(off, 3))


def _wrong(seeds: range) -> Iterator[Plan]:
    for seed in seeds:
        rng = Random(f"clock {seed}")  # noqa: S311
        off = rng.uniform(-300, 300)
        clock = [(0.0, off)]
        for _ in range(rng.randint(0, 3)):
            off -= rng.uniform(0, 200)
            clock.append((clock[-1][0] + rng.uniform(0, 5), off))
        yield Plan(story=STORIES[(seed + 6) % len(STORIES)], seed=seed, lives=(Faults(clock=tuple(clock)),))
