"""Without changes there is no write, no action and no early requeue."""

from datetime import timedelta
from random import Random

import pytest

from jangar.domain.orchestration.planning.plan import plan
from support.scenarios import a_scenario
from support.simulator import Simulation, moment
from support.trials import in_blocks, seeds


@pytest.mark.rule("ST-3", "ST-7")
@in_blocks
def test_without_changes_nothing_is_written(block):
    """At any time before the next event or timer the recorded status is returned unchanged, and no requeue is due at
    once.
    """
    for seed in seeds(block):
        simulation = Simulation(a_scenario(seed, most_steps=15))
        random = Random(seed)  # noqa: S311 - a time, not a secret

        def look(until, simulation=simulation, random=random):
            observation = simulation.observation()
            for when in (simulation.now, random.randrange(simulation.now, until)):
                again = plan(observation, moment(when), simulation.previous)
                assert again.status is observation.recorded, f"a write without news at {when} ms"
                assert again.look_again_at is None or again.look_again_at > moment(when)

        simulation.on_quiet = look
        simulation.run()
        observation = simulation.observation()
        for days in (0, 1, 30):
            again = plan(observation, moment(simulation.now) + timedelta(days=days))
            assert again.status is observation.recorded, "a finished run is written again"
            assert not again.actions
            assert again.look_again_at is None
