"""The reason why work does not start or failed reaches the step's message on every bed (AGENT-3), and unsupported
features run nothing (GATE-1).
"""

import pytest

from contract.engine.engine_namespace import IMAGE, step

IGNORES_TERM = 'trap "" TERM; while :; do sleep 0.1; done'
GATE = {"name": "gate", "kind": "ApprovalGate", "policyRef": "people", "dependsOn": ["first"]}


@pytest.mark.rule("AGENT-3")
def test_a_program_that_does_not_exist_is_named(namespace):
    """B5: not only an exit code."""
    namespace.api.create("Tool", "broken", {"image": IMAGE, "command": ["no-such-binary"]})
    run = namespace.run_of([step("a", "broken")])
    run.ends("Failed")
    failed = run.steps["a"]
    assert failed["reason"] == "StartError"
    assert "no-such-binary" in failed["message"]
    assert "not found" in failed["message"]


@pytest.mark.rule("AGENT-3", "DAG-10")
def test_a_timeout_keeps_the_missing_reference_and_the_closest_name(namespace):
    """B8: the reference that the step waited for, and the tool that was probably meant."""
    namespace.tool("compile")
    run = namespace.run_of([step("a", "complie", timeoutSeconds=2)])
    run.ends("Failed")
    expected = 'ReferenceNotFound: Tool "complie" does not exist; did you mean "compile"?'
    assert run.reasons() == {"a": "StepTimedOut"}
    assert run.steps["a"]["message"] == f"timed out after 2 s while waiting for: {expected}"


@pytest.mark.rule("GATE-1")
def test_a_step_that_is_not_built_prevents_every_other_step(namespace):
    """B1: the run fails before its first step starts; the Orchestration is Invalid."""
    steps = [step("first", "ok", after=[]), GATE]
    namespace.orchestration("guarded", steps)
    run = namespace.run("guarded")
    status = run.ends("Failed")
    assert status["reason"] == "InvalidSpec"
    assert "kind: ApprovalGate is not built yet" in status["message"]
    assert not namespace.executions()
    assert run.children() == []
    checked = namespace.await_(
        lambda: (namespace.api.get("Orchestration", "guarded").get("status") or {}).get("phase"),
        "that it is checked",
    )
    assert checked == "Invalid"


@pytest.mark.rule("GATE-1")
def test_an_object_of_a_kind_that_is_not_built_reports_it(namespace):
    """B1: a Schedule without a controller is not Ready."""
    target = {"apiVersion": "orchestration.proompteng.ai/v1alpha1", "kind": "Orchestration", "name": "o"}
    namespace.api.create("Schedule", "minutely", {"cron": "* * * * *", "targetRef": target})

    def ready():
        status = namespace.api.get("Schedule", "minutely").get("status") or {}
        return next(
            (condition for condition in status.get("conditions") or () if condition["type"] == "Ready"), None
        )

    schedule = namespace.await_(ready, "that the Schedule reports that it is not built")
    assert (schedule["status"], schedule["reason"]) == ("False", "NotBuilt")
    assert "Schedule is not built yet" in schedule["message"]


@pytest.mark.rule("AGENT-3", "CAN-4")
def test_a_container_that_ignores_sigterm_is_reported(namespace):
    """B16: the stop took the whole grace period of the tool, and the step reports why."""
    namespace.tool("stubborn", IGNORES_TERM, gracePeriodSeconds=2)
    run = namespace.run_of([step("a", "stubborn")])
    run.works("a")
    run.cancel()
    run.ends("Cancelled")
    assert "ignored SIGTERM and was killed after 2 s" in run.steps["a"]["message"]
