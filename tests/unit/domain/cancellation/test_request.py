"""Who asks for a run or child to stop (CAN-1, GC-9)."""

import pytest

from jangar.api.agents.agentrun import AgentRunSpec
from jangar.api.lifecycle import Steerable
from jangar.api.orchestration import OrchestrationRunSpec
from jangar.api.tools import ToolRunSpec
from jangar.domain.cancellation import BY_USER, Requester, requesters


@pytest.mark.rule("CAN-1")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, set(), id="no-requester"),
        pytest.param({"cancel": True}, {"cancel"}, id="cancel"),
        pytest.param({"cancel": False}, set(), id="cancel-false-asks-nothing"),
        pytest.param({"desiredState": "Cancelled"}, {"desiredState"}, id="desired-state"),
        pytest.param({"desiredState": "Running"}, set(), id="desired-state-running-asks-nothing"),
        pytest.param(
            {"cancel": True, "desiredState": "Cancelled"}, {"cancel", "desiredState"}, id="both-fields"
        ),
        pytest.param({"suspend": True}, set(), id="suspend-is-no-cancel"),
    ],
)
def test_either_field_of_the_spec_asks_for_a_stop(spec, expected):
    """CAN-1: `spec.cancel: true` and `desiredState: Cancelled` mean the same."""
    assert requesters(Steerable.model_validate(spec)) == expected


@pytest.mark.rule("CAN-1")
@pytest.mark.parametrize(
    "spec", [OrchestrationRunSpec, AgentRunSpec, ToolRunSpec], ids=lambda item: item.__name__
)
def test_runs_and_children_have_the_same_two_fields(spec):
    """CAN-1: on OrchestrationRun, AgentRun and ToolRun."""
    assert issubclass(spec, Steerable)


@pytest.mark.rule("GC-9")
@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        pytest.param({"deleting": True}, {"deletion"}, id="deletion"),
        pytest.param({"owner_stops": True}, {"owner"}, id="owner"),
        pytest.param({"deleting": True, "owner_stops": True}, {"deletion", "owner"}, id="deletion-and-owner"),
    ],
)
def test_deletion_and_the_owner_ask_too(asking, expected):
    """GC-9, CAN-3: deleting is a cancel, and so is the stop of the owner."""
    assert requesters(Steerable(), **asking) == expected


@pytest.mark.rule("CAN-9")
def test_only_the_users_fields_can_be_switched_off():
    """CAN-9: deletion and the owner always cancel."""
    assert {Requester.CANCEL, Requester.DESIRED_STATE} == BY_USER
