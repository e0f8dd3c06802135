"""Work that is a course of several Jobs: one after another, each repeated as its limits and its loop require."""

import contextlib
import json
from dataclasses import replace

import pytest

from jangar.domain.cancellation import Requester
from jangar.domain.job_execution.observation import WorkDefined, WorkMissing, WorkRejected
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.job_execution.workflow import Loop, RuntimeStep
from support.work_world import Death, a_world

MAX_PASSES = 12


class Says:
    """A condition that is true while what it is asked about is."""

    def __init__(self, answer, source="iteration.last.control.more"):
        self.answer, self.source = answer, source
        self.evaluated = []

    def references(self, _variable):
        return frozenset()

    def uses_whole(self, _variable):
        return True

    def evaluate(self, bindings):
        self.evaluated.append(bindings["iteration"])
        return self.answer(bindings["iteration"])


def broken(_):
    raise ValueError("no such key: more")


def a_workflow(*stages, **facts):
    return a_world(
        workflow=tuple(RuntimeStep(name=stage) if isinstance(stage, str) else stage for stage in stages),
        **facts,
    )


def starts(world):
    """Until the Job of the next attempt is there and its program runs; its name."""
    had = set(world.creates)
    for _ in range(MAX_PASSES):
        if set(world.creates) - had and world.status["job"]["name"] not in had:
            break
        world.run_pass()
        world.advance(1)
    (new,) = set(world.creates) - had
    world.sync_job()
    world.start_pod(pod_of(world))
    world.run_pass()
    return new


def pod_of(world):
    name = world.status["job"]["name"]
    (uid,) = [pod.uid for pod in world.pods.values() if pod.name.startswith(f"{name}-")]
    return uid


def ends(world, code=0, **members):
    """The program under way ends, and so does its pod."""
    world.advance(2)
    uid = pod_of(world)
    world.end_containers(uid, code, json.dumps(members) if members else None)
    world.end_pod(uid)
    world.run_pass()


def does(world, code=0, **members):
    name = starts(world)
    ends(world, code, **members)
    return name


def steps(world):
    return {step["name"]: step for step in world.status["workflow"]["steps"]}


def phases(world):
    return [step["phase"] for step in world.status["workflow"]["steps"]]


def verdict(world):
    return world.status["phase"], world.status["reason"]


@pytest.mark.rule("DAG-4", "GC-1")
def test_stages_run_one_after_another():
    """Each Job is released before the next is created; the last one's outputs are the child's."""
    world = a_workflow("plan", "code")
    first = does(world, plan="two files")
    assert phases(world) == ["Succeeded", "Pending"]
    assert verdict(world) == ("Running", "Starting")
    assert world.status["job"]["name"] == first
    second = does(world, pr="7")
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert phases(world) == ["Succeeded", "Succeeded"]
    assert world.status["outputs"] == {"pr": "7"}
    assert steps(world)["plan"]["outcome"]["outputs"] == {"plan": "two files"}
    assert steps(world)["plan"]["jobRef"]["name"] == first
    assert world.status["runtimeRef"] | {"uid": ""} == {
        "type": "workflow",
        "name": second,
        "namespace": "default",
        "stepName": "code",
        "uid": "",
    }
    assert dict(world.creates) == {first: 1, second: 1}


def test_names_of_jobs_are_a_function_of_stage_iteration_and_attempt():
    """Also where names of stages are alike."""
    looped = RuntimeStep(name="a", loop=Loop(max_iterations=2))
    world = a_workflow(looped, "a-2", attempt_limits=AttemptLimits(retries=1))
    names = [does(world, code) for code in (0, 1, 0, 1, 0)]
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert len(set(names)) == 5
    again = a_workflow(looped, "a-2", attempt_limits=AttemptLimits(retries=1))
    assert [does(again, code) for code in (0, 1, 0, 1, 0)] == names


@pytest.mark.rule("DAG-5")
def test_nothing_runs_after_a_stage_that_failed():
    """The child fails with the stage's reason, and the others are Skipped."""
    world = a_workflow("plan", "code", "test")
    does(world)
    does(world, code=3)
    assert verdict(world) == ("Failed", "NonZeroExit")
    assert phases(world) == ["Succeeded", "Failed", "Skipped"]
    assert steps(world)["test"]["reason"] == "DependencyFailed"
    assert steps(world)["code"]["outcome"]["exitCode"] == 3


@pytest.mark.rule("DAG-9")
def test_a_failed_stage_is_repeated_after_its_backoff():
    """On a timer, while the child stays Running and the stage is Retrying."""
    world = a_workflow("plan", "code", attempt_limits=AttemptLimits(retries=1, backoff_seconds=30))
    does(world)
    does(world, code=3)
    assert (steps(world)["code"]["phase"], world.status["phase"]) == ("Retrying", "Running")
    created = sum(world.creates.values())
    for _ in range(4):
        plan = world.run_pass()
    assert sum(world.creates.values()) == created
    wait = (plan.look_again_at - world.now).total_seconds()
    assert 0 < wait <= 30
    world.advance(wait)
    world.run_pass()
    world.sync_job()
    world.start_pod(pod_of(world))
    world.run_pass()
    assert steps(world)["code"]["phase"] == "Running"
    assert [attempt["attempt"] for attempt in steps(world)["code"]["attempts"]] == [1]
    assert "nextRetryAt" not in steps(world)["code"]
    ends(world)
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert steps(world)["code"]["attempt"] == 2


@pytest.mark.rule("DAG-10")
def test_the_limit_of_a_stage_counts_from_its_own_beginning():
    """Neither the wait before the first nor the stages before it count, and its passing is a failure of the stage."""
    world = a_workflow("plan", "code", attempt_limits=AttemptLimits(timeout_seconds=60))
    world.work = WorkMissing(message="not yet")
    world.run_pass()
    world.advance(100)
    world.work = WorkDefined()
    starts(world)
    world.advance(50)
    ends(world)
    starts(world)
    plan = world.run_pass()
    assert plan.look_again_at is not None
    world.now = plan.look_again_at
    world.run_pass()
    assert steps(world)["code"]["reason"] == "Stopping"
    assert world.job.suspended
    world.sync_job()
    ends(world, code=143)
    assert verdict(world) == ("Failed", "StepTimedOut")
    assert phases(world) == ["Succeeded", "Failed"]


@pytest.mark.rule("CAN-2", "CAN-7", "CAN-8")
def test_a_cancel_between_stages_starts_none():
    """What succeeded stays so, what was not begun is Skipped."""
    world = a_workflow("plan", "code")
    does(world)
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}))
    for _ in range(3):
        world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert phases(world) == ["Succeeded", "Skipped"]
    assert steps(world)["code"]["reason"] == "RunCancelled"
    assert sum(world.creates.values()) == 1


@pytest.mark.rule("CAN-4", "CAN-7")
def test_a_cancelled_stage_keeps_what_it_had_written():
    """In its outcome and in the child's."""
    world = a_workflow("plan", "code", "test")
    does(world)
    starts(world)
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}))
    world.run_pass()
    assert world.status["phase"] == "Cancelling"
    world.sync_job()
    ends(world, code=143, half="done", runner={"status": "cancelled"})
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert phases(world) == ["Succeeded", "Cancelled", "Skipped"]
    assert world.status["outputs"] == {"half": "done"}
    assert steps(world)["code"]["outcome"]["outputs"] == {"half": "done"}
    assert world.status["runner"] == {"status": "cancelled"}


@pytest.mark.rule("CAN-7")
def test_a_stage_that_ended_before_the_stop_is_followed_by_nothing():
    """Its own end is kept, and the cancel cuts what would have come."""
    world = a_workflow("plan", "code")
    starts(world)
    world.advance(5)
    uid = pod_of(world)
    world.end_containers(uid, 0)
    world.advance(5)
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}))
    world.end_pod(uid)
    world.run_pass()
    assert world.status["phase"] == "Cancelling"
    for _ in range(3):
        world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert phases(world) == ["Succeeded", "Skipped"]


def test_a_stopped_attempt_after_the_first_is_not_taken_for_one_that_ended_before():
    """The time at which the first one was seen to run says nothing about the clock of a later one's node."""
    world = a_workflow("plan", "code")
    does(world)
    world.advance(600)
    starts(world)
    world.advance(60)
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}))
    world.run_pass()
    world.sync_job()
    ends(world, code=0)
    assert verdict(world) == ("Cancelled", "Cancelled")


def test_what_a_later_stage_names_is_waited_for_and_what_is_wrong_with_it_fails():
    """As with the first one."""
    world = a_workflow("plan", "code")
    does(world)
    world.work = WorkMissing(message="no such task yet")
    for _ in range(3):
        world.run_pass()
    assert verdict(world) == ("Pending", "ReferenceNotFound")
    world.work = WorkRejected(reason="MissingInput", message="the task requires parameters: x")
    for _ in range(3):
        world.run_pass()
    assert verdict(world) == ("Failed", "MissingInput")
    assert phases(world) == ["Succeeded", "Failed"]


def looping(**fields):
    return RuntimeStep(name="improve", loop=Loop(**{"max_iterations": 3, **fields}))


def loop_of(world):
    return steps(world)["improve"]["loop"]


def test_a_loop_without_a_condition_runs_to_its_last_iteration():
    """And the next stage follows it."""
    world = a_workflow(looping(), "report")
    for _ in range(3):
        does(world)
    assert phases(world) == ["Succeeded", "Pending"]
    assert loop_of(world)["stopReason"] == "LoopMaxIterationsReached"
    assert [iteration["phase"] for iteration in loop_of(world)["iterations"]] == ["Succeeded"] * 3
    does(world)
    assert verdict(world) == ("Succeeded", "Succeeded")


def test_a_condition_is_evaluated_after_each_iteration_with_its_output():
    """It ends the loop well when it is false."""
    condition = Says(lambda it: it["last"]["control"]["more"])
    world = a_workflow(looping(condition=condition, needs_control=True))
    does(world, runner={"control": {"more": True}})
    assert loop_of(world)["currentIteration"] == 2
    assert loop_of(world)["lastControl"] == {"more": True}
    assert verdict(world) == ("Running", "Starting")
    does(world, score="9", runner={"control": {"more": False}})
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert loop_of(world)["stopReason"] == "LoopConditionFalse"
    assert loop_of(world)["completedIterations"] == 2
    assert world.status["outputs"] == {"score": "9"}
    assert condition.evaluated[-1] == {
        "index": 2,
        "maxIterations": 3,
        "last": {"phase": "Succeeded", "control": {"more": False}},
    }


@pytest.mark.parametrize(
    ("fields", "report", "end", "stop"),
    [
        pytest.param({}, None, "Succeeded", "LoopConditionFalse", id="missing-stops"),
        pytest.param(
            {"stops_if_missing": False}, None, "ConditionError", "LoopConditionError", id="missing-fails"
        ),
        pytest.param(
            {}, {"controlProblem": "is not JSON"}, "ConditionError", "LoopConditionError", id="invalid-fails"
        ),
        pytest.param(
            {"stops_if_invalid": True},
            {"controlProblem": "is not JSON"},
            "Succeeded",
            "LoopConditionFalse",
            id="invalid-stops",
        ),
        pytest.param(
            {"condition": Says(broken)}, {"control": {}}, "ConditionError", "LoopConditionError", id="error"
        ),
        pytest.param(
            {"condition": Says(lambda _: 1)},
            {"control": {}},
            "ConditionError",
            "LoopConditionError",
            id="no-bool",
        ),
    ],
)
def test_a_condition_that_cannot_be_evaluated(fields, report, end, stop):
    """Stops or fails the stage, as the loop says."""
    world = a_workflow(looping(**{"condition": Says(lambda _: True), "needs_control": True, **fields}))
    does(world, **({"runner": report} if report else {}))
    assert world.status["reason"] == end
    assert loop_of(world)["stopReason"] == stop


def test_an_iteration_that_failed_for_good_ends_the_loop():
    """After its retries, which are its own."""
    world = a_workflow(looping(), attempt_limits=AttemptLimits(retries=1))
    for code in (3, 0, 3, 3):
        does(world, code)
    assert verdict(world) == ("Failed", "NonZeroExit")
    assert loop_of(world)["stopReason"] == "LoopIterationFailed"
    assert [(iteration["phase"], iteration["attempts"]) for iteration in loop_of(world)["iterations"]] == [
        ("Succeeded", 2),
        ("Failed", 2),
    ]


def test_of_many_iterations_the_latest_are_listed():
    """The others are counted."""
    world = a_workflow(looping(max_iterations=55))
    for _ in range(55):
        does(world)
    loop = loop_of(world)
    assert (loop["completedIterations"], loop["prunedIterations"], loop["retainedIterations"]) == (55, 5, 50)
    assert loop["iterations"][-1]["index"] == 55


def test_a_workflow_of_the_existing_system_is_taken_over_where_it_stands():
    """Neither what ended nor what runs is started again."""
    world = a_workflow("plan", "code")
    world.status = {
        "phase": "Running",
        "startedAt": "2026-02-07T11:59:00Z",
        "workflow": {
            "phase": "Running",
            "steps": [
                {
                    "name": "plan",
                    "phase": "Succeeded",
                    "attempt": 1,
                    "jobRef": {"name": "run-step-1-attempt-1"},
                },
                {
                    "name": "code",
                    "phase": "Running",
                    "attempt": 1,
                    "startedAt": "2026-02-07T11:59:30Z",
                    "jobRef": {"name": "run-step-2-attempt-1", "uid": "job-9"},
                },
            ],
        },
    }
    _, plan = world.planned()
    assert plan.status.job.name == "run-step-2-attempt-1"
    assert sum(world.creates.values()) == 0
    assert plan.actions == ()


@pytest.mark.rule("GC-6")
def test_the_log_of_every_job_is_kept_before_its_pod_is_let_go():
    """Of each stage, attempt and iteration, once, under a title that says which."""
    looped = RuntimeStep(name="improve", loop=Loop(max_iterations=2))
    world = a_workflow("plan", looped, "report", attempt_limits=AttemptLimits(retries=1), logs=[])
    names = [does(world, code) for code in (1, 0, 0, 0, 0)]
    for _ in range(MAX_PASSES):
        world.run_pass()
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert world.logs == list(
        zip(
            names,
            (
                "step plan, attempt 1",
                "step plan, attempt 2",
                "step improve, iteration 1, attempt 1",
                "step improve, iteration 2, attempt 1",
                "step report, attempt 1",
            ),
            strict=True,
        )
    )


@pytest.mark.rule("GC-6", "RUN-3")
@pytest.mark.parametrize("dies_at", range(4))
def test_a_log_is_kept_once_whenever_the_controller_dies(dies_at):
    """Before it is kept, after it, and before any finalizer is removed."""
    world = a_workflow("plan", "code", logs=[])
    starts(world)
    ends(world)
    with contextlib.suppress(Death):
        world.run_pass(dies_at=dies_at)
    does(world)
    for _ in range(MAX_PASSES):
        world.run_pass()
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert [title for _, title in world.logs] == ["step plan, attempt 1", "step code, attempt 1"]


@pytest.mark.rule("GC-6", "CAN-2")
def test_a_log_is_not_kept_again_at_the_end_of_a_child_that_is_cancelled_between_jobs():
    """What the last Job wrote was kept when it ended."""
    world = a_workflow("plan", "code", attempt_limits=AttemptLimits(retries=1, backoff_seconds=60), logs=[])
    does(world, code=1)
    world.run_pass()
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}))
    for _ in range(MAX_PASSES):
        world.run_pass()
    assert world.status["phase"] == "Cancelled"
    assert [title for _, title in world.logs] == ["step plan, attempt 1"]
