"""A controller may crash anywhere: the status is the same in the end, and no attempt has two children."""

import pytest

from support.scenarios import a_scenario
from support.simulator import Crash, Faults, Simulation
from support.trials import BLOCKS, in_blocks, seeds

EXHAUSTIVE = 20
"""Scenarios in which each pass is lost at each point, one at a time."""


def the_end(simulation):
    """The final record and the created children."""
    return simulation.recorded, sorted(simulation.world.children)


@pytest.mark.rule("DAG-9", "CAN-8", "RUN-3")
@in_blocks
def test_losing_every_pass_twice_changes_nothing(block):
    """Each pass is lost before its status is recorded, then between record and actions, and then completed."""
    for seed in seeds(block):
        scenario = a_scenario(seed, most_steps=6)
        clean = Simulation(scenario).run()
        assert the_end(Simulation(scenario, Faults(everywhere=True)).run()) == the_end(clean)


@pytest.mark.rule("DAG-9", "CAN-8", "RUN-3", "ST-6")
@in_blocks
def test_crashes_at_random_points_change_nothing(block):
    """Restarts, lost actions, partial actions and rejected writes, several per run and some during recovery."""
    for seed in seeds(block):
        scenario = a_scenario(seed, most_steps=6)
        clean = Simulation(scenario).run()
        assert the_end(Simulation(scenario, Faults(crashes=0.4)).run()) == the_end(clean)


@pytest.mark.rule("DAG-9", "CAN-8", "RUN-3")
@in_blocks
def test_a_crash_at_each_point_changes_nothing(block):
    """Every pass of a run, lost in every way, one simulation each."""
    for seed in range(block, EXHAUSTIVE, BLOCKS):
        scenario = a_scenario(seed, most_steps=4)
        clean = Simulation(scenario).run()
        for number in range(1, clean.passes + 1):
            for crash in Crash:
                simulation = Simulation(scenario, Faults(crash_at=(number, crash))).run()
                assert the_end(simulation) == the_end(clean), f"seed {seed}, pass {number}: {crash}"
