"""What a controller remembers of an ended run can be lost at any time: nothing is done otherwise without it."""

import pytest

from jangar.controllers.orchestrationrun import memory
from simulation.plans import Plan, problems
from simulation.stories import STORIES
from simulation.test_faults import ROWS


@pytest.mark.rule("ST-3", "ST-4", "RUN-3")
@pytest.mark.parametrize("story", STORIES)
def test_a_run_that_is_forgotten_as_it_ends_stays_as_it_ended(story, monkeypatch):
    """Events that come late meet a run that nobody remembers; so does a request that cannot reach the server."""
    monkeypatch.setattr(memory, "MAX_ENDED", 0)
    faults, _ = ROWS["3-7: everything at once"]
    late, _ = ROWS["10: events come twice, late and in another order"]
    found = [
        problems(Plan(story=story, seed=seed, lives=(item,))) for seed, item in enumerate((faults, late))
    ]
    assert found == [[], []]
