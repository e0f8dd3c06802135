"""A controller's memory of an ended run can be lost at any time without changing its behavior."""

import pytest

from jangar.controllers.orchestrationrun import memory
from simulation.plans import Plan, problems
from simulation.stories import STORIES
from simulation.test_faults import ROWS


@pytest.mark.rule("ST-3", "ST-4", "RUN-3")
@pytest.mark.parametrize("story", STORIES)
def test_a_forgotten_run_keeps_its_outcome(story, monkeypatch):
    """Late events meet a run without cached state; so does a request that cannot reach the server."""
    monkeypatch.setattr(memory, "MAX_ENDED", 0)
    faults, _ = ROWS["3-7: everything at once"]
    late, _ = ROWS["10: events come twice, late and in another order"]
    violations = [
        problems(Plan(story=story, seed=seed, lives=(item,))) for seed, item in enumerate((faults, late))
    ]
    assert violations == [[], []]
