"""The controllers are killed at every write and restarted: the same outcome, and no work is repeated (RUN-3).

Rows 1 and 2 of the matrix. `JANGAR_SIMULATION=all` runs every point; otherwise a sample that depends on the story.
"""

from collections.abc import Iterator
from random import Random

import pytest

from simulation.faults import Death, Faults
from simulation.plans import ALL, BLOCKS, Plan, block_of, clean, prove
from simulation.stories import STORIES

STRIDE = 1 if ALL else 23


@pytest.mark.rule("RUN-3", "GC-1", "GC-2", "CAN-8")
@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("death", Death)
def test_a_crash_at_any_write_changes_nothing(name, death, record_property):
    offset = (list(STORIES).index(name) * len(Death) + list(Death).index(death)) % STRIDE
    points = range(1 + offset, clean(name).writes + 1, STRIDE)
    plans = (Plan(story=name, seed=0, lives=(Faults(die_at=(point, death)),)) for point in points)
    prove(f"1: killed at every write, {death}", plans, record_property)


@pytest.mark.rule("RUN-3", "CAN-8")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_second_crash_while_recovering_changes_nothing(block, record_property):
    prove("2: killed again while recovering", _twice(block_of(block, 500, 4)), record_property)


def _twice(seeds: range) -> Iterator[Plan]:
    """Anywhere the first time; within the first writes or seconds of the next lives."""
    for seed in seeds:
        rng = Random(f"second crash {seed}")  # noqa: S311
        name = list(STORIES)[seed % len(STORIES)]
        first = Faults(die_at=(rng.randint(1, clean(name).writes), rng.choice(list(Death))))
        second = (
            Faults(die_at=(rng.randint(1, 4), rng.choice(list(Death))))
            if rng.random() < 0.7
            else Faults(die_after=rng.random())
        )
        third = Faults(die_after=2 * rng.random())
        yield Plan(story=name, seed=seed, lives=(first, second, third))
