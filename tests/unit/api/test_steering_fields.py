"""What may change in a run after it was created."""

import re

import pytest
from api_models import models_in

from jangar.api.agents.agentrun import AGENT_RUN, Goal, Runtime, VcsPolicy, Workflow, Workload
from jangar.api.agents.implementation import ImplementationText
from jangar.api.lifecycle import CANCEL_IS_FINAL, Steerable
from jangar.api.meta import ApiModel
from jangar.api.phases import TERMINAL, AgentRunPhase, Phase
from jangar.api.tools import TOOL_RUN, ToolRunStatus

RUNS = [pytest.param(AGENT_RUN, id="AgentRun"), pytest.param(TOOL_RUN, id="ToolRun")]


def rules_of(model: type[ApiModel]) -> list[dict[str, str]]:
    return model.model_config.get("json_schema_extra", {}).get("x-kubernetes-validations", [])


@pytest.mark.parametrize("kind", RUNS)
def test_all_but_the_steering_fields_are_immutable(kind):
    frozen = {
        match[1]
        for rule in rules_of(kind.spec)
        if (match := re.match(r"(\w+) is immutable", rule["message"]))
    }
    steering = {field.alias for field in Steerable.model_fields.values()}
    assert steering == {"cancel", "desiredState", "suspend", "ttlSecondsAfterFinished"}
    assert frozen == {field.alias for field in kind.spec.model_fields.values()} - steering


@pytest.mark.rule("CAN-1")
@pytest.mark.parametrize("kind", RUNS)
def test_a_cancel_cannot_be_withdrawn(kind):
    assert all(item in rules_of(kind.spec) for item in CANCEL_IS_FINAL)


@pytest.mark.parametrize("part", [Runtime, Workload, Workflow, Goal, VcsPolicy, ImplementationText])
def test_parts_of_orchestration_steps_have_no_rules(part):
    """There may be 10,000 steps, and the API server multiplies the cost of a rule by that."""

    def walk(model: type[ApiModel]):
        yield model
        for field in model.model_fields.values():
            for inner in models_in(field.annotation):
                yield from walk(inner)

    for model in walk(part):
        assert rules_of(model) == []
        for field in model.model_fields.values():
            assert "x-kubernetes-validations" not in (field.json_schema_extra or {})


def test_every_phase_of_a_child_is_one_of_an_agent_run():
    assert {*Phase} | {"Template"} == {*AgentRunPhase}
    assert AgentRunPhase.SUCCEEDED in TERMINAL
    assert AgentRunPhase.TEMPLATE not in TERMINAL


def test_a_tool_run_with_phase_ready_has_not_started():
    """Legacy versions write Ready on ToolRuns by mistake; it is not a phase of this API."""
    assert ToolRunStatus.model_validate({"phase": "Ready"}).phase is None
    assert ToolRunStatus.model_validate({"phase": "Running"}).phase is Phase.RUNNING
