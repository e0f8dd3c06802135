"""Jobs that vanish and pods that others end: rows 11 and 12 of the matrix."""

import pytest

from simulation.disruptions import DISRUPTED, VANISHING
from simulation.faults import Faults
from simulation.plans import ALL, Plan, prove
from simulation.simulated_cluster import Fate

LAGGING = Faults(lag=1.0, until=30.0)
UNANSWERED = Faults(lag=1.0, lost_answers=0.1, until=30.0)
LIVES = ((), (LAGGING,), (), (UNANSWERED,))
NODE_LOST = f"a pod: {Fate.NODE_LOST}"


@pytest.mark.rule("GC-1", "GC-2", "GC-3")
@pytest.mark.parametrize("name", VANISHING)
def test_a_job_that_vanishes_is_reported_and_not_run_twice(name, record_property):
    """At any moment and in any way; in every other trial the controllers get events late or lose write responses."""
    _prove("11", name, 100, record_property)


@pytest.mark.rule("GC-3")
def test_a_job_whose_node_is_lost_is_reported_and_not_run_twice(record_property):
    _prove("11", NODE_LOST, 100, record_property)


@pytest.mark.rule("GC-3", "GC-8")
@pytest.mark.parametrize("name", [name for name in DISRUPTED if name != NODE_LOST])
def test_the_cause_of_a_pods_end_is_the_reason(name, record_property):
    _prove("12", name, 50, record_property)


def _prove(row, name, trials, record_property):
    plans = (
        Plan(story=name, seed=seed, lives=LIVES[seed % len(LIVES)]) for seed in range(trials if ALL else 2)
    )
    prove(f"{row}: {name}", plans, record_property)
