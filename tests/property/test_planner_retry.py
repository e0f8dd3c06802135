"""A retry keeps succeeded steps and repeats the others with all their dependents."""

from dataclasses import replace
from random import Random

import pytest

from jangar.domain.orchestration.planning.initial import reused_steps
from support.outcomes import expected_outcome, recorded_outcome
from support.reference_scheduler import predict
from support.scenarios import a_scenario
from support.simulator import Simulation
from support.trials import in_blocks, seeds


def repeated_steps(scenario, phases, from_step):
    """By DAG-16: steps that did not succeed or were named, and all dependents of a repeated step."""
    repeated = {step.name for step in scenario.steps if phases.get(step.name) != "Succeeded"}
    repeated |= {from_step} - {None}
    before = set()
    while before != repeated:
        before = set(repeated)
        for step, needs in zip(scenario.steps, scenario.needs(), strict=True):
            if any(scenario.steps[need].name in repeated for need in needs):
                repeated.add(step.name)
    return repeated


@pytest.mark.rule("DAG-16")
@in_blocks
def test_a_retry_repeats_what_did_not_succeed_and_its_dependents(block):
    """Kept steps are Succeeded/Reused with their outputs and never start; the others run as in any other run."""
    for seed in seeds(block):
        random = Random(seed)  # noqa: S311 - a script, not a secret
        scenario = a_scenario(seed)
        first = Simulation(scenario).run()
        from_step = random.choice((None, random.choice(scenario.steps).name))
        kept = reused_steps(first.definition, first.recorded.steps, from_step)
        states = {state.name: state for state in first.recorded.steps}
        phases = {name: str(state.phase) for name, state in states.items()}
        repeated = repeated_steps(scenario, phases, from_step)
        assert set(kept) == {step.name for step in scenario.steps} - repeated

        scripts = tuple(replace(step, attempts=step.attempts[::-1]) for step in scenario.steps)
        again = replace(scenario, seed=seed + 1, steps=scripts, cancel_at=None)
        second = Simulation(again, reused=kept).run()
        assert recorded_outcome(second) == expected_outcome(predict(again, kept))
        assert not {step for step, _ in second.starts} & set(kept), "a kept step was started"
        for state in second.recorded.steps:
            if state.name in kept:
                assert (state.phase, state.reason, state.attempt) == ("Succeeded", "Reused", 0)
                assert state.outputs == states[state.name].outputs
