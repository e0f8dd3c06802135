"""The outcome of each story without faults."""

import pytest

from simulation.plans import Plan, clean
from simulation.stories import STORIES
from simulation.story import End

ENDS = {
    "chain": ("Succeeded", "Succeeded"),
    "diamond": ("Succeeded", "Succeeded"),
    "fan-out": ("Succeeded", "Succeeded"),
    "failure with skip": ("Failed", "StepFailed"),
    "continueOnFailure": ("Succeeded", "Succeeded"),
    "retry": ("Succeeded", "Succeeded"),
    "timeout": ("Failed", "StepFailed"),
    "cancel early": ("Cancelled", "Cancelled"),
    "cancel midway": ("Cancelled", "Cancelled"),
    "cancel late": ("Succeeded", "Succeeded"),
    "nested": ("Succeeded", "Succeeded"),
    "Job deleted by hand": ("Failed", "StepFailed"),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_has_its_outcome(name):
    """The run has the expected outcome, every invariant holds at every version, and no finalizer remains."""
    reported = clean(name)
    assert (reported.end.phase, reported.end.reason) == ENDS[name]
    assert reported.violations == []
    assert reported.left_over == []


@pytest.mark.rule("CAN-7", "GC-3")
def test_deleting_a_job_by_hand_fails_its_step():
    """The work is stopped, its result is recorded, and its dependents are skipped."""
    end: End = clean("Job deleted by hand").end
    assert end.steps["b"][:2] == ("Failed", "JobDeleted")
    assert end.steps["c"][:2] == ("Skipped", "DependencyFailed")


@pytest.mark.rule("DAG-10")
def test_a_step_that_takes_too_long_is_stopped():
    end = clean("timeout").end
    assert end.steps["a"][:2] == ("Failed", "StepTimedOut")
    assert end.starts == {"a": 1}


@pytest.mark.rule("DAG-9")
def test_attempts_run_one_after_another():
    end = clean("retry").end
    assert end.steps["a"][:3] == ("Succeeded", "Succeeded", 3)
    assert end.starts == {"a": 3, "b": 1}


@pytest.mark.parametrize("name", ["diamond", "cancel midway", "retry"])
def test_the_same_seed_gives_the_same_result(name):
    """I14: same inputs and seed give the same status."""
    assert Plan(story=name, seed=7).play() == Plan(story=name, seed=7).play()
