"""Invariants of every recorded version and every action under all faults of the planner's environment."""

import pytest

from support.scenarios import a_scenario
from support.simulator import Faults, Simulation
from support.trials import in_blocks, seeds


@pytest.mark.rule(
    "DAG-4", "DAG-7", "DAG-8", "DAG-9", "CAN-2", "CAN-4", "CAN-6", "ST-2", "ST-3", "ST-4", "ST-5", "ST-7"
)
@in_blocks
def test_invariants_hold_at_every_version(block):
    """I1-I7 hold with a stale and forgetful cache, crashes anywhere, downtime after them and creates in flight.

    The checks are in `support.planner_invariants`; every simulation of every property makes them.
    """
    for seed in seeds(block):
        faults = Faults(lag=4000, crashes=0.3, on_the_wire=0.7, down=9000, idle_looks=0.2)
        Simulation(a_scenario(seed, most_steps=10), faults).run()
