"""Jobs that vanish and pods that are ended by others: rows 11 and 12 of the matrix."""

import pytest

from simulation.faults import Faults
from simulation.misfortunes import BEFALLEN, VANISHING
from simulation.plans import ALL, Plan, prove

LAGGING = Faults(lag=1.0, until=30.0)


@pytest.mark.rule("GC-1", "GC-2", "GC-3")
@pytest.mark.parametrize("name", VANISHING)
def test_a_job_that_vanishes_is_told_and_not_run_twice(name, record_property):
    """Whenever and however it goes; every other time the controllers hear of it late."""
    _prove("11", name, 100, record_property)


@pytest.mark.rule("GC-3", "GC-8")
@pytest.mark.parametrize("name", BEFALLEN)
def test_what_befalls_a_pod_is_the_reason(name, record_property):
    _prove("12", name, 50, record_property)


def _prove(row, name, trials, record_property):
    plans = (
        Plan(story=name, seed=seed, lives=(LAGGING,) if seed % 2 else ())
        for seed in range(trials if ALL else 2)
    )
    prove(f"{row}: {name}", plans, record_property)
