"""Cancel requests at any moment, and work that does not stop: rows 13 and 14 of the matrix."""

import pytest

from simulation.cancel_races import RACES, STUBBORN
from simulation.faults import Faults
from simulation.plans import ALL, BLOCKS, Plan, block_of, prove

LAGGING = Faults(lag=1.0, until=30.0)


def _plan(name, seed):
    return Plan(story=name, seed=seed, lives=(LAGGING,) if seed % 2 else ())


@pytest.mark.rule("CAN-2", "CAN-3", "CAN-5", "CAN-7", "CAN-8")
@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_cancel_race_has_one_outcome(name, block, record_property):
    """At any moment; in every other trial the controllers receive all events late."""
    prove(f"13: {name}", (_plan(name, seed) for seed in block_of(block, 300, 2)), record_property)


@pytest.mark.rule("CAN-4", "CAN-6", "GC-9")
@pytest.mark.parametrize("name", STUBBORN)
def test_every_stop_has_a_deadline(name, record_property):
    """Work that outlives it is listed and followed to its end."""
    prove(f"14: {name}", (_plan(name, seed) for seed in range(200 if ALL else 1)), record_property)
