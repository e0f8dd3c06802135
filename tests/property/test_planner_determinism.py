"""The same observation and time give the same plan, regardless of order and of previous plans."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from jangar.domain.orchestration.planning.plan import plan
from jangar.domain.orchestration.state import Counts
from support.scenarios import a_scenario
from support.simulator import Faults, Simulation, moment
from support.trials import in_blocks, seeds


@pytest.mark.rule("DAG-8")
@in_blocks
def test_a_plan_depends_on_the_observation_and_the_time_only(block):
    """In every pass: planned incrementally, from scratch, twice, or from shuffled copies, it is equal."""
    for seed in seeds(block):
        simulation = Simulation(a_scenario(seed, most_steps=10), Faults(idle_looks=0.2, crashes=0.1))
        random = Random(seed)  # noqa: S311 - an order, not a secret

        def look(observation, planned, simulation=simulation, random=random):
            now, previous = moment(simulation.now), simulation.previous
            children = list(observation.children.items())
            random.shuffle(children)
            copied = replace(observation, children={name: replace(child) for name, child in children})
            assert plan(observation, now) == planned, "incremental differs from cold"
            assert plan(copied, now, previous) == planned, "the order of children matters"
            if random.random() < 0.2:
                assert plan(observation, now, previous) == planned, "planning twice differs"
                earlier = now - timedelta(milliseconds=random.randrange(5000))
                assert plan(observation, earlier, previous) == plan(observation, earlier), (
                    "a clock that goes back changes the plan"
                )
            if planned.basis is not None:
                assert planned.basis.progress.tally.document() == Counts.of(planned.status.steps).document()

        simulation.on_plan = look
        simulation.run()
