"""How an attempt begins, or why it cannot (DAG-5, DAG-9, DAG-11, DAG-13)."""

from dataclasses import replace

import pytest

from jangar.api.phases import StepKind, StepPhase
from jangar.domain.orchestration.planning.initial import initial_states
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.orchestration.planning.starting import child_parameters, evaluate_when, start_attempt
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.state import Attempt, StepState, Stop
from support.builders import NOON, a_definition, a_run, a_step, at


def a_scope(definition, **given):
    return Scope(definition, given, initial_states(definition, {}, NOON))


def judged_once(when, **given):
    definition = a_definition(a_step("a", when=when))
    scope = a_scope(definition, **given)
    fresh = initial_states(definition, {}, NOON)[0]
    return fresh, evaluate_when(definition.steps[0], fresh, scope, at(1))


def start_once(step, *, state=None, run=None, limits=None, **given):
    definition = a_definition(step)
    fresh = state or initial_states(definition, {}, NOON)[0]
    return start_attempt(
        definition.steps[0], fresh, run or a_run(), limits or Limits(), a_scope(definition, **given), at(1)
    )


@pytest.mark.rule("DAG-5")
def test_a_step_without_a_condition_or_with_a_true_one_is_left_as_it_is():
    """DAG-5: the very same state, so nothing is written for it."""
    definition = a_definition(a_step("a"))
    fresh = initial_states(definition, {}, NOON)[0]
    assert evaluate_when(definition.steps[0], fresh, a_scope(definition), NOON) is fresh
    fresh, found = judged_once("parameters['env'] == 'prod'", env="prod")
    assert found is fresh


@pytest.mark.rule("DAG-5")
def test_a_false_condition_skips_the_step():
    """DAG-5: Skipped/ConditionFalse, with the condition as it was written."""
    fresh, found = judged_once("parameters['env'] == 'prod'", env="dev")
    assert found == replace(
        fresh,
        phase=StepPhase.SKIPPED,
        reason="ConditionFalse",
        message="when is false: parameters['env'] == 'prod'",
        last_transition_time=at(1),
        finished_at=at(1),
    )


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize(
    ("when", "message"),
    [
        pytest.param("parameters['env']", "when: 'env'", id="cannot-be-evaluated"),
        pytest.param(
            "1", "when: the expression evaluates to int, not to a boolean", id="a-number-is-not-true"
        ),
        pytest.param("0", "when: the expression evaluates to int, not to a boolean", id="zero-is-not-false"),
        pytest.param("None", "when: the expression evaluates to NoneType, not to a boolean", id="nothing"),
    ],
)
def test_a_condition_without_an_answer_fails_the_step(when, message):
    """DAG-5: Failed/ConditionError."""
    _, found = judged_once(when)
    assert (found.phase, found.reason, found.message) == (StepPhase.FAILED, "ConditionError", message)
    assert found.finished_at == at(1)


@pytest.mark.rule("DAG-9")
def test_the_first_attempt_is_recorded_before_anything_is_created():
    """DAG-9, GC-2, E11: the intent, with the child's name, the hash it is recognized by, and no uid yet."""
    start_attempt = start_once(a_step("a"))
    assert start_attempt.child_hash is not None
    assert start_attempt == StepState(
        name="a",
        kind=StepKind.TOOL_RUN,
        phase=StepPhase.PENDING,
        reason="Starting",
        attempt=1,
        child="nightly-a-1-pvpblqfx7og3hohr",
        child_hash=start_attempt.child_hash,
        started_at=at(1),
        attempt_started_at=at(1),
    )


@pytest.mark.rule("DAG-9")
def test_the_next_attempt_has_its_own_name_and_forgets_the_last_ones_end():
    """DAG-9: startedAt stays, everything of the attempt before is cleared, its history is kept."""
    ended = Attempt(attempt=1, phase=StepPhase.FAILED, reason="NonZeroExit", exit_code=3)
    waiting = StepState(
        name="a",
        kind=StepKind.TOOL_RUN,
        phase=StepPhase.RETRYING,
        reason="NonZeroExit",
        message="exit 3",
        attempt=1,
        child="nightly-a-1-pvpblqfx7og3hohr",
        child_uid="uid-of-a",
        child_hash="of the first attempt",
        started_at=NOON,
        attempt_started_at=NOON,
        last_transition_time=NOON,
        next_retry_at=at(1),
        exit_code=3,
        attempts=(ended,),
        stop=Stop(requested_at=NOON, reason="StepTimedOut", deadline=at(60)),
    )
    restarted = start_once(a_step("a"), state=waiting)
    assert restarted == StepState(
        name="a",
        kind=StepKind.TOOL_RUN,
        phase=StepPhase.PENDING,
        reason="Starting",
        attempt=2,
        child=restarted.child,
        child_hash=restarted.child_hash,
        started_at=NOON,
        attempt_started_at=at(1),
        last_transition_time=at(1),
        attempts=(ended,),
    )
    assert restarted.child.startswith("nightly-a-2-")
    assert restarted.child_hash not in {None, "of the first attempt"}


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("given", "phase"),
    [
        pytest.param({"x": ""}, StepPhase.PENDING, id="empty"),
        pytest.param({"x": "1"}, StepPhase.PENDING, id="given"),
    ],
)
def test_a_value_that_is_there_starts_the_step(given, phase):
    """DAG-11: empty text is a value."""
    assert start_once(a_step("a", **{"with": {"k": "{{ parameters.x }}"}}), **given).phase is phase


@pytest.mark.rule("DAG-11")
def test_a_missing_value_fails_the_step_at_its_start():
    """DAG-11: MissingInput names the first reference that nothing answers; no attempt begins."""
    found = start_once(
        a_step(
            "a",
            **{"with": {"k": "x", "l": "{{ parameters.y }}-{{ parameters.z }}", "m": "{{ parameters.q }}"}},
        )
    )
    assert (found.phase, found.reason, found.message) == (
        StepPhase.FAILED,
        "MissingInput",
        "parameters.y has no value and no default",
    )
    assert (found.attempt, found.child, found.finished_at) == (0, None, at(1))


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize("forgiven", [True, False], ids=["forgiven", "unforgiven"])
def test_a_failed_start_is_forgiven_like_any_failure(forgiven):
    """DAG-7: continueOnFailure forgives the step's own failure."""
    found = start_once(a_step("a", continueOnFailure=forgiven, **{"with": {"k": "{{ parameters.x }}"}}))
    assert found.failure_ignored is forgiven


NESTED = {"name": "a", "kind": "SubOrchestration", "orchestrationRef": {"name": "inner"}}


@pytest.mark.rule("DAG-13")
@pytest.mark.parametrize(
    ("step", "lineage", "depth", "reason", "message"),
    [
        pytest.param(NESTED, ("outer",), 2, "Starting", "", id="allowed"),
        pytest.param(
            NESTED,
            ("inner", "outer"),
            9,
            "RecursiveOrchestration",
            "the orchestration would contain itself: inner -> outer -> inner",
            id="contains-itself",
        ),
        pytest.param(
            NESTED,
            ("top", "outer"),
            2,
            "NestingTooDeep",
            "orchestrations are nested more than 2 levels deep",
            id="too-deep",
        ),
        pytest.param(
            a_step("a", toolRef={"name": "inner"}),
            ("inner", "outer"),
            2,
            "Starting",
            "",
            id="a-tool-is-no-nesting",
        ),
    ],
)
def test_nesting_is_refused_where_it_would_not_end(step, lineage, depth, reason, message):
    """DAG-13: RecursiveOrchestration, and a bound on the depth."""
    found = start_once(step, run=a_run(lineage=lineage), limits=Limits(max_depth=depth))
    assert (found.reason, found.message) == (reason, message)


@pytest.mark.rule("DAG-2")
def test_a_kind_that_this_controller_does_not_run_fails_by_name():
    """DAG-2: what is not built yet is said, not hung on."""
    found = start_once({"name": "a", "kind": "ApprovalGate", "policyRef": "p"})
    assert (found.phase, found.reason) == (StepPhase.FAILED, "UnsupportedStep")
    assert found.message == "steps of kind ApprovalGate are not supported yet"


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"x": "1", "y": "2", "k": "1!"}, id="none-declared-hands-all-on"),
        pytest.param(
            {"parameters": [{"name": "x"}, {"name": "y"}]}, {"k": "1!"}, id="declared-hands-on-what-with-says"
        ),
    ],
)
def test_a_child_gets_what_with_says_and_undeclared_parameters(spec, expected):
    """DAG-11: a definition that declares no parameters hands all of the run's on."""
    definition = a_definition(a_step("a", **{"with": {"k": "{{ parameters.x }}!"}}), **spec)
    scope = a_scope(definition, x="1", y="2")
    assert child_parameters(definition, definition.steps[0], scope) == expected


@pytest.mark.rule("DAG-11")
def test_with_wins_over_a_parameter_of_the_same_name():
    """DAG-11: what the step says is nearer than what the run says."""
    definition = a_definition(a_step("a", **{"with": {"x": "step"}}))
    assert child_parameters(definition, definition.steps[0], a_scope(definition, x="run")) == {"x": "step"}


def test_a_value_that_is_missing_by_now_is_left_out_and_never_empty():
    """DAG-11: a start that was recorded is repeated with the values that there are."""
    definition = a_definition(a_step("a", **{"with": {"k": "{{ parameters.x }}", "l": "v"}}))
    assert child_parameters(definition, definition.steps[0], a_scope(definition)) == {"l": "v"}
