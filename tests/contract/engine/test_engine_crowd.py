"""Crashes and many runs: the controllers are killed midway, and many runs are created at once."""

from collections import Counter

import pytest

from contract.engine.engine_namespace import step
from jangar.api.phases import TERMINAL


@pytest.mark.rule("RUN-3", "GC-2")
def test_a_killed_controller_continues_after_its_restart(namespace):
    """kill -9 while a step runs; the step ends meanwhile. Its result counts, nothing runs twice, and the run ends."""
    namespace.tool("slow", 'sleep 3; echo done > "$JANGAR_RESULT_PATH"')
    run = namespace.run_of([step("one"), step("two", "slow"), step("three")])
    run.works("two")
    namespace.bed.kill_controllers()
    namespace.bed.start_controllers()
    run.ends("Succeeded")
    assert run.steps["two"]["outputs"] == {"result": "done"}
    namespace.await_executions(one=1, two=1, three=1)


@pytest.mark.rule("RUN-3", "CAN-8")
def test_a_cancel_while_no_controller_runs_is_applied_later(namespace):
    """The request is in the object: the next controller applies it."""
    run = namespace.run_of([step("one", "forever"), step("two")])
    run.works("one")
    namespace.bed.kill_controllers()
    run.cancel()
    namespace.bed.start_controllers()
    run.ends("Cancelled")
    namespace.await_executions(one=1)


@pytest.mark.rule("RUN-3", "DAG-9")
def test_crashes_at_any_moment_start_no_work_twice(namespace):
    """Killed three times during a chain of steps: each step's work ran once."""
    names = [f"step-{number}" for number in range(6)]
    run = namespace.run_of([step(name) for name in names])
    for name in names[:5:2]:
        namespace.await_(
            lambda name=name: namespace.executions()[name] or run.status.get("phase") in TERMINAL,
            f"that {name} begins",
        )
        namespace.bed.kill_controllers()
        namespace.bed.start_controllers()
    run.ends("Succeeded", seconds=namespace.bed.patience * 2)
    namespace.await_executions(**dict.fromkeys(names, 1))


@pytest.mark.rule("DAG-8", "RUN-3")
def test_thirty_runs_at_once_all_end(namespace):
    """One step each, all created together; each one's work runs once."""
    namespace.orchestration("one", [step("work")])
    for number in range(30):
        namespace.run("one", f"run-{number}")

    def phases():
        return Counter(
            (item.get("status") or {}).get("phase") for item in namespace.api.all("OrchestrationRun")
        )

    namespace.await_(
        lambda: phases() == {"Succeeded": 30}, "that all thirty succeed", seconds=namespace.bed.patience * 3
    )
    namespace.await_executions(work=30)
