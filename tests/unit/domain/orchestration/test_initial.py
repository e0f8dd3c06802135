"""The states a run begins with, and which steps a retry keeps (DAG-16)."""

from dataclasses import replace

import pytest

from jangar.api.phases import StepKind, StepPhase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.planning.initial import initial_states, reused_steps
from jangar.domain.orchestration.state import StepState
from support.builders import NOON, a_definition, a_step, at

# a ── b ── d      e, alone
#  └── c ──┘
DIAMOND = a_definition(a_step("a"), a_step("b", "a"), a_step("c", "a"), a_step("d", "b", "c"), a_step("e"))


def ended(**phases):
    """The steps of a finished run; those not named Succeeded and wrote their own name."""
    return [
        replace(state, phase=phases.get(state.name, StepPhase.SUCCEEDED), outputs={"from": state.name})
        for state in initial_states(DIAMOND, {}, NOON)
    ]


@pytest.mark.rule("DAG-16")
def test_a_new_run_begins_with_every_step_pending_in_list_order():
    """DAG-16: nothing is known of a new run."""
    definition = a_definition(
        a_step("a"), {"name": "b", "kind": "SubOrchestration", "orchestrationRef": {"name": "o"}}
    )
    assert initial_states(definition, {}, NOON) == (
        StepState(name="a", kind=StepKind.TOOL_RUN),
        StepState(name="b", kind=StepKind.SUB_ORCHESTRATION),
    )


@pytest.mark.rule("DAG-16")
def test_kept_steps_begin_succeeded_with_their_outputs_copied():
    """DAG-16: Succeeded/Reused."""
    assert initial_states(DIAMOND, {"a": {"image": "nginx"}, "c": {}}, at(5))[:3] == (
        StepState(
            name="a",
            kind=StepKind.TOOL_RUN,
            phase=StepPhase.SUCCEEDED,
            reason="Reused",
            message="reused from the retried run",
            finished_at=at(5),
            last_transition_time=at(5),
            outputs={"image": "nginx"},
        ),
        StepState(name="b", kind=StepKind.TOOL_RUN),
        StepState(
            name="c",
            kind=StepKind.TOOL_RUN,
            phase=StepPhase.SUCCEEDED,
            reason="Reused",
            message="reused from the retried run",
            finished_at=at(5),
            last_transition_time=at(5),
        ),
    )


@pytest.mark.rule("DAG-16")
@pytest.mark.parametrize(
    ("phases", "from_step", "kept"),
    [
        pytest.param({}, None, "abcde", id="all-succeeded-keeps-all"),
        pytest.param({"b": StepPhase.FAILED, "d": StepPhase.SKIPPED}, None, "ace", id="what-did-not-succeed"),
        pytest.param({"a": StepPhase.FAILED}, None, "e", id="dependents-are-repeated-though-they-succeeded"),
        pytest.param({"e": StepPhase.CANCELLED}, None, "abcd", id="a-cancelled-one"),
        pytest.param({}, "b", "ace", id="from-a-step"),
        pytest.param({}, "a", "e", id="from-the-root"),
        pytest.param({}, "e", "abcd", id="from-the-last"),
        pytest.param({"c": StepPhase.FAILED}, "b", "ae", id="from-a-step-and-other-failed-steps"),
    ],
)
def test_a_retry_repeats_what_did_not_succeed_and_all_that_depends_on_it(phases, from_step, kept):
    """DAG-16: kept steps come with their outputs."""
    assert reused_steps(DIAMOND, ended(**phases), from_step) == {name: {"from": name} for name in kept}


@pytest.mark.rule("DAG-16")
def test_dependents_are_repeated_whatever_their_place_in_the_list():
    """DAG-16: list order says nothing about need."""
    backwards = a_definition(a_step("c", "b"), a_step("b", "a"), a_step("a"))
    states = [
        replace(state, phase=StepPhase.SUCCEEDED, outputs=None)
        for state in initial_states(backwards, {}, NOON)
    ]
    assert reused_steps(backwards, states, "a") == {}
    assert reused_steps(backwards, states, "b") == {"a": {}}


@pytest.mark.rule("DAG-16")
def test_a_step_that_the_old_run_does_not_tell_of_is_repeated():
    """DAG-16: only what is known to have succeeded is kept."""
    assert reused_steps(DIAMOND, ended()[:4], None) == {name: {"from": name} for name in "abcd"}


@pytest.mark.rule("DAG-16")
def test_a_retry_from_an_unknown_step_is_a_mistake():
    """DAG-16: fromStep names a step of the retried run."""
    assert reused_steps(DIAMOND, ended(), "z") == Problem(
        reason=Reason.INVALID_SPEC,
        path=("spec", "retryOf", "fromStep"),
        message='the retried run has no step "z"',
        fix="name one of its steps",
    )
