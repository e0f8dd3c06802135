"""Every step can be explained, in words that follow from what decided it."""

from dataclasses import replace

import pytest

from jangar.api.orchestration import Policies
from jangar.api.phases import Phase, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.explain import Explanation, RunView, explain_run, explain_step
from jangar.domain.orchestration.state import RunRecord, StepState, Stop
from jangar.domain.status_contract import Lifecycle
from support.builders import NOON, a_definition, a_step, at

RUNNING = Lifecycle(phase=Phase.RUNNING)


def a_view(*steps, states=None, lifecycle=RUNNING, policies=None, suspended=False, **spec):
    definition = a_definition(*steps, **spec)
    found = [replace(fresh, **(states or {}).get(fresh.name, {})) for fresh in definition.fresh]
    record = RunRecord(lifecycle=lifecycle, steps=tuple(found))
    return RunView(definition=definition, record=record, policies=policies, suspended=suspended)


def explanation(view, step):
    found = explain_step(view, step)
    return found.reason, found.sentence


@pytest.mark.rule("RUN-4")
def test_a_step_names_the_steps_it_waits_for():
    """Dependencies that have not ended well are named with their phases; the others are not."""
    view = a_view(
        a_step("a"),
        a_step("b"),
        a_step("c", "a", "b"),
        states={"a": {"phase": StepPhase.SUCCEEDED}, "b": {"phase": StepPhase.RUNNING, "attempt": 1}},
    )
    assert explain_step(view, "c") == Explanation(
        step="c",
        phase=StepPhase.PENDING,
        reason=Reason.WAITING_FOR_DEPENDENCIES,
        sentence="waits for b (Running)",
        waits_for=("b",),
    )


def test_a_step_that_waits_for_many_names_five():
    """The sentence stays readable; the list is whole."""
    roots = [f"r{number}" for number in range(7)]
    view = a_view(*(a_step(name) for name in roots), a_step("join", *roots))
    found = explain_step(view, "join")
    assert found.sentence == (
        "waits for r0 (Pending), r1 (Pending), r2 (Pending), r3 (Pending), r4 (Pending) and 2 more"
    )
    assert found.waits_for == tuple(roots)
    five = a_view(*(a_step(name) for name in roots[:5]), a_step("join", *roots[:5]))
    assert explain_step(five, "join").sentence.endswith("r4 (Pending)")


def test_a_run_without_a_record_is_explained_from_its_definition():
    """A run that was never reconciled has not started."""
    view = RunView(definition=a_definition(a_step("a")), record=RunRecord())
    assert explanation(view, "a") == (Reason.PENDING, "the run has not started")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {"suspended": True, "policies": Policies(max_parallel=1)},
            (Reason.SUSPENDED, "the run is suspended: set spec.suspend to false to resume it"),
            id="suspended",
        ),
        pytest.param(
            {"policies": Policies(max_parallel=1)},
            (
                Reason.WAITING_FOR_PLACE,
                "waits for a free slot: 1 of 1 parallel steps are running (policies.maxParallel)",
            ),
            id="no-place",
        ),
        pytest.param(
            {"policies": Policies(max_parallel=2)},
            (Reason.PENDING, "ready to start"),
            id="about-to-start",
        ),
        pytest.param({}, (Reason.PENDING, "ready to start"), id="unbounded"),
        pytest.param(
            {
                "lifecycle": Lifecycle(
                    phase=Phase.PENDING, reason="ReferenceNotFound", message="no Orchestration x"
                )
            },
            (Reason.REFERENCE_NOT_FOUND, "the run has not started: no Orchestration x"),
            id="run-is-blocked",
        ),
        pytest.param(
            {"lifecycle": Lifecycle(phase=Phase.PENDING)},
            (Reason.PENDING, "the run has not started"),
            id="run-pends",
        ),
    ],
)
def test_a_step_that_may_start_says_what_holds_it(options, expected):
    """Suspend, places and the run itself, in that order."""
    view = a_view(
        a_step("live"), a_step("next"), states={"live": {"phase": StepPhase.RUNNING, "attempt": 1}}, **options
    )
    assert explanation(view, "next") == expected


def test_a_gate_never_waits_for_a_place():
    """Steps that create no child hold no place."""
    view = a_view(
        a_step("live"),
        {"name": "gate", "kind": "ApprovalGate", "policyRef": "p", "dependsOn": []},
        states={"live": {"phase": StepPhase.RUNNING, "attempt": 1}},
        policies=Policies(max_parallel=1),
    )
    assert explanation(view, "gate") == (Reason.PENDING, "ready to start")


def test_a_gate_that_waits_takes_no_place_from_others():
    """A live gate is not counted."""
    view = a_view(
        {"name": "gate", "kind": "ApprovalGate", "policyRef": "p", "dependsOn": []},
        a_step("next"),
        states={"gate": {"phase": StepPhase.RUNNING, "attempt": 1}},
        policies=Policies(max_parallel=1),
    )
    assert explanation(view, "next") == (Reason.PENDING, "ready to start")


LIVE = {"attempt": 1, "attempt_started_at": NOON}
STOP = Stop(requested_at=at(5), reason=Reason.STEP_TIMED_OUT, deadline=at(65))


@pytest.mark.parametrize(
    ("fields", "state", "sentence", "until"),
    [
        pytest.param({}, {"phase": StepPhase.RUNNING}, "the step's work is running", None, id="runs"),
        pytest.param(
            {"retries": 2},
            {"phase": StepPhase.RUNNING, "attempt": 2},
            "attempt 2 of 3 is running",
            None,
            id="runs-again",
        ),
        pytest.param(
            {"timeoutSeconds": 60},
            {"phase": StepPhase.RUNNING},
            "the step's work is running; it times out at 2026-02-07T12:01:00Z",
            at(60),
            id="runs-with-a-limit",
        ),
        pytest.param(
            {},
            {"phase": StepPhase.PENDING, "reason": Reason.REFERENCE_NOT_FOUND, "message": "no Tool greet"},
            "the step's work has started and is waiting (ReferenceNotFound): no Tool greet",
            None,
            id="waits-for-a-tool",
        ),
        pytest.param(
            {"timeoutSeconds": 60},
            {"phase": StepPhase.PENDING, "reason": Reason.STARTING},
            "the step's work has started and is waiting (Starting); it times out at 2026-02-07T12:01:00Z",
            at(60),
            id="starting",
        ),
        pytest.param(
            {},
            {"phase": StepPhase.RUNNING, "stop": STOP},
            "the step's work is being stopped (StepTimedOut); waiting for its work to end, at most until "
            "2026-02-07T12:01:05Z",
            at(65),
            id="is-being-stopped",
        ),
    ],
)
def test_a_live_step_says_what_it_waits_for_and_until_when(fields, state, sentence, until):
    """A step at work has an answer, and a time at which the answer changes by itself."""
    found = explain_step(a_view(a_step("a", **fields), states={"a": LIVE | state}), "a")
    assert (found.sentence, found.until) == (sentence, until)


@pytest.mark.parametrize(
    ("options", "state", "sentence"),
    [
        pytest.param(
            {},
            {"message": "exit code 1", "next_retry_at": at(30)},
            "attempt 1 of 3 failed (NonZeroExit: exit code 1); attempt 2 starts at 2026-02-07T12:00:30Z",
            id="backoff",
        ),
        pytest.param({}, {}, "attempt 1 of 3 failed (NonZeroExit); attempt 2 starts", id="at-once"),
        pytest.param(
            {"suspended": True},
            {},
            "attempt 1 of 3 failed (NonZeroExit); attempt 2 starts, once the run is resumed",
            id="suspended",
        ),
        pytest.param(
            {"policies": Policies(max_parallel=1)},
            {},
            "attempt 1 of 3 failed (NonZeroExit); attempt 2 starts, once a slot is free (policies.maxParallel)",
            id="no-place",
        ),
    ],
)
def test_a_retrying_step_says_why_and_when(options, state, sentence):
    """What failed, which attempt comes next, and what it waits for."""
    retrying = {"phase": StepPhase.RETRYING, "attempt": 1, "reason": Reason.NON_ZERO_EXIT} | state
    view = a_view(
        a_step("a", retries=2),
        a_step("b"),
        states={"a": retrying, "b": {"phase": StepPhase.RUNNING, "attempt": 1}},
        **options,
    )
    found = explain_step(view, "a")
    assert (found.sentence, found.until) == (sentence, state.get("next_retry_at"))


def test_the_runs_default_retries_count():
    """A step without its own retries has the policy's."""
    view = a_view(
        a_step("a"), states={"a": LIVE | {"phase": StepPhase.RUNNING}}, policies=Policies(retries=1)
    )
    assert explanation(view, "a")[1] == "attempt 1 of 2 is running"


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        pytest.param(
            {"phase": StepPhase.SUCCEEDED, "reason": Reason.SUCCEEDED, "message": "x"}, "succeeded", id="ok"
        ),
        pytest.param(
            {"phase": StepPhase.SUCCEEDED, "reason": Reason.REUSED, "message": "kept from the run"},
            "kept from the run",
            id="reused",
        ),
        pytest.param(
            {"phase": StepPhase.SKIPPED, "reason": Reason.CONDITION_FALSE},
            "skipped: its own condition (when) is false",
            id="condition",
        ),
        pytest.param(
            {"phase": StepPhase.SKIPPED, "reason": Reason.RUN_CANCELLED},
            "skipped: the run was cancelled before this step started",
            id="run-cancelled",
        ),
        pytest.param(
            {"phase": StepPhase.SKIPPED, "reason": Reason.RUN_TIMED_OUT},
            "skipped: the run reached its time limit before this step started",
            id="run-timed-out",
        ),
        pytest.param(
            {"phase": StepPhase.SKIPPED, "reason": Reason.FAIL_FAST},
            "skipped: another step failed and policies.failFast is true",
            id="fail-fast",
        ),
        pytest.param({"phase": StepPhase.SKIPPED, "reason": "Other"}, "skipped: Other", id="unknown-skip"),
        pytest.param(
            {
                "phase": StepPhase.SKIPPED,
                "reason": Reason.DEPENDENCY_FAILED,
                "causes": ("x", "y"),
                "causes_total": 2,
            },
            "skipped: it depends on x, y, which did not succeed",
            id="dependency-failed",
        ),
        pytest.param(
            {
                "phase": StepPhase.SKIPPED,
                "reason": Reason.DEPENDENCY_FAILED,
                "causes": ("x",),
                "causes_total": 3,
            },
            "skipped: it depends on x and 2 more, which did not succeed",
            id="many-causes",
        ),
        pytest.param(
            {
                "phase": StepPhase.SKIPPED,
                "reason": Reason.DEPENDENCY_SKIPPED,
                "causes": ("x",),
                "causes_total": 1,
            },
            "skipped: it depends on x, skipped by a condition (when) that is false",
            id="dependency-skipped",
        ),
        pytest.param(
            {"phase": StepPhase.CANCELLED, "reason": Reason.RUN_CANCELLED},
            "cancelled together with the run",
            id="cancelled",
        ),
        pytest.param(
            {"phase": StepPhase.CANCELLED, "reason": Reason.CANCEL_TIMED_OUT},
            "cancelled, but its work did not stop by the deadline and may still be running",
            id="left-behind",
        ),
        pytest.param(
            {"phase": StepPhase.CANCELLED, "reason": Reason.CHILD_CANCELLED},
            "its child was cancelled directly; this always fails the run and is never retried",
            id="by-hand",
        ),
        pytest.param(
            {"phase": StepPhase.CANCELLED, "reason": "Other"}, "cancelled: Other", id="unknown-cancel"
        ),
        pytest.param(
            {"phase": StepPhase.FAILED, "reason": Reason.JOB_FAILED, "attempt": 1},
            "failed (JobFailed)",
            id="failed",
        ),
        pytest.param(
            {
                "phase": StepPhase.FAILED,
                "reason": Reason.MISSING_INPUT,
                "message": "x",
                "failure_ignored": True,
            },
            "failed (MissingInput: x); a failure of this kind is never retried; ignored because of continueOnFailure",
            id="never-retried",
        ),
    ],
)
def test_an_ended_step_says_how_it_ended(state, sentence):
    """Every end has its sentence."""
    assert explanation(a_view(a_step("a"), states={"a": state}), "a")[1] == sentence


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        pytest.param(2, "failed (JobFailed) in attempt 2 of 3, and was not retried", id="retries-left"),
        pytest.param(3, "failed (JobFailed) in the last of 3 attempts", id="retries-spent"),
    ],
)
def test_a_failed_step_says_what_became_of_its_retries(attempt, sentence):
    """Spent, or not used."""
    state = {"phase": StepPhase.FAILED, "reason": Reason.JOB_FAILED, "attempt": attempt}
    assert explanation(a_view(a_step("a", retries=2), states={"a": state}), "a")[1] == sentence


def test_a_step_that_does_not_exist_has_no_explanation():
    """None, not a guess."""
    assert explain_step(a_view(a_step("a")), "b") is None


def test_explaining_a_run_leaves_out_what_succeeded():
    """In list order."""
    view = a_view(a_step("a"), a_step("b"), a_step("c"), states={"b": {"phase": StepPhase.SUCCEEDED}})
    assert [item.step for item in explain_run(view)] == ["a", "c"]


def test_states_and_policies_of_a_view_follow_from_its_record():
    """The definition's policies, with the run's on top."""
    view = a_view(a_step("a"), policies=Policies(retries=2))
    assert isinstance(view.states[0], StepState)
    assert (view.in_force.retries, view.is_full) == (2, False)
