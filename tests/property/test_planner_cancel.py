"""A cancel always ends the run in time and reports what could not be stopped; it does not change a finished run."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from jangar.api.phases import TERMINAL, Phase
from jangar.domain.cancellation import BY_USER, Requester
from support.reference_scheduler import predict
from support.scenarios import OWNERS_PATIENCE, a_scenario
from support.simulator import LIMITS, Faults, Simulation, moment
from support.trials import in_blocks, seeds

A_SECOND = timedelta(seconds=1)


def cancelled_scenario(seed, *, late=False):
    """A scenario with a cancel at any time of its life or after it."""
    random = Random(seed)  # noqa: S311 - a script, not a secret
    scenario = a_scenario(seed, most_steps=10, cancel_at=None, total_timeout=None)
    if late:
        scenario = replace(scenario, suspended=())  # no other change of the spec after the end
    ends = predict(scenario).finished
    when = ends + 5000 if late else random.randrange(0, ends + 1)
    return replace(scenario, cancel_at=when, cancel_by=random.choice(tuple(Requester)))


@pytest.mark.rule("CAN-2", "CAN-3", "CAN-5", "CAN-6", "CAN-8", "GC-9")
@in_blocks
def test_a_cancel_ends_the_run_within_the_deadline(block):
    """Waiting to retry, pending, suspended, not started, or with children that ignore it: terminal at the deadline.

    `support.planner_invariants` also checks that nothing is created after the cancel, that everything that still runs
    at the end is listed as left behind, and that cleanup continues until nothing is.
    """
    for seed in seeds(block):
        scenario = cancelled_scenario(seed)
        faults = Faults(crashes=0.2, lag=2000) if seed % 2 else Faults()
        simulation = Simulation(scenario, faults).run()
        cancel, ended = simulation.recorded.cancel, simulation.recorded.lifecycle
        if cancel is None:
            continue
        patience = LIMITS.cancel_timeout
        if scenario.cancel_by is Requester.OWNER:
            patience = min(patience, timedelta(milliseconds=OWNERS_PATIENCE))
        assert cancel.deadline <= cancel.requested_at + patience
        assert ended.finished_at <= cancel.deadline + A_SECOND, "later than its bound"
        late = {state.name for state in simulation.recorded.steps if state.reason == "CancelTimedOut"}
        assert (ended.reason == "CancelTimedOut") is bool(late)
        listed = {item.name for item in simulation.recorded.left_behind}
        assert {state.child for state in simulation.recorded.steps if state.name in late} <= listed
        if scenario.cancel_by is Requester.DELETION:
            assert simulation.released is not None, "GC-9: the finalizer of a deleted run is removed"


@pytest.mark.rule("CAN-7", "ST-2", "ST-4")
@in_blocks
def test_a_cancel_of_a_finished_run_is_only_reported_as_ignored(block):
    """I8: CancelIgnored, observedGeneration, updatedAt and the generations of the conditions change, nothing else."""
    for seed in seeds(block):
        scenario = cancelled_scenario(seed, late=True)
        simulation = Simulation(scenario).run()
        requested_at = moment(scenario.cancel_at)
        before = [version for when, version in simulation.versions if moment(when) < requested_at][-1]
        after = simulation.recorded
        assert before.lifecycle.phase in TERMINAL
        assert replace(after, lifecycle=before.lifecycle, left_behind=()) == replace(before, left_behind=())
        assert _without_request(after.lifecycle) == _without_request(before.lifecycle)
        assert after.lifecycle.observed_generation == before.lifecycle.observed_generation + 1
        ignored = [condition for condition in after.lifecycle.conditions if condition.type == "CancelIgnored"]
        if scenario.cancel_by in BY_USER:
            assert [(item.status, item.reason) for item in ignored] == [
                ("True", f"Already{Phase(before.lifecycle.phase)}")
            ]
        else:
            assert not ignored


def _without_request(lifecycle):
    """The status without the fields that a late request may change."""
    kept = [condition for condition in lifecycle.conditions if condition.type != "CancelIgnored"]
    conditions = tuple(replace(item, observed_generation=None) for item in kept)
    return replace(lifecycle, conditions=conditions, observed_generation=None, updated_at=None)
