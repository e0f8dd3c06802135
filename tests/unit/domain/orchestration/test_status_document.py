"""What is recorded of a run survives being written as JSON and read back."""

import json
from datetime import timedelta

import pytest

from jangar.api.orchestration.run_status import OrchestrationRunStatus
from jangar.api.phases import ExecutionMode, Phase, StepKind, StepPhase
from jangar.domain.cancellation import Cancel, LeftBehind, Stop
from jangar.domain.orchestration.state import Attempt, RunRecord, StepState
from jangar.domain.orchestration.status_document import (
    MESSAGE_LIMIT,
    RUN_FIELDS,
    run_document,
    run_record,
    step_document,
    step_state,
)
from jangar.domain.status_contract import LIFECYCLE_FIELDS, Lifecycle
from support.builders import NOON, at

STOP = Stop(requested_at=at(10), reason="Cancelled", deadline=at(70))
FULL_STEP = StepState(
    name="build",
    kind=StepKind.TOOL_RUN,
    phase=StepPhase.FAILED,
    reason="StepTimedOut",
    message="stopped at its time limit",
    attempt=2,
    child="nightly-build-2",
    child_uid="uid-2",
    started_at=at(1),
    finished_at=at(9),
    attempt_started_at=at(5) + timedelta(milliseconds=250),
    last_transition_time=at(6),
    next_retry_at=at(8),
    outputs={"image": "x"},
    exit_code=0,
    failure_ignored=True,
    causes=("a", "b"),
    causes_total=12,
    attempts=(
        Attempt(
            attempt=1,
            phase=StepPhase.FAILED,
            reason="NonZeroExit",
            message="exit code 1",
            child="nightly-build-1",
            started_at=at(1),
            finished_at=at(4),
            exit_code=1,
        ),
    ),
    stop=STOP,
)
FULL_STEP_DOCUMENT = {
    "name": "build",
    "kind": "ToolRun",
    "phase": "Failed",
    "reason": "StepTimedOut",
    "message": "stopped at its time limit",
    "attempt": 2,
    "startedAt": "2026-02-07T12:00:01Z",
    "finishedAt": "2026-02-07T12:00:09Z",
    "attemptStartedAt": "2026-02-07T12:00:05.250000Z",
    "lastTransitionTime": "2026-02-07T12:00:06Z",
    "nextRetryAt": "2026-02-07T12:00:08Z",
    "resourceRef": {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "ToolRun",
        "name": "nightly-build-2",
        "uid": "uid-2",
    },
    "outputs": {"image": "x"},
    "exitCode": 0,
    "failureIgnored": True,
    "causes": ["a", "b"],
    "causesTotal": 12,
    "attempts": [
        {
            "attempt": 1,
            "phase": "Failed",
            "reason": "NonZeroExit",
            "message": "exit code 1",
            "child": "nightly-build-1",
            "startedAt": "2026-02-07T12:00:01Z",
            "finishedAt": "2026-02-07T12:00:04Z",
            "exitCode": 1,
        }
    ],
    "stop": {
        "requestedAt": "2026-02-07T12:00:10Z",
        "reason": "Cancelled",
        "deadline": "2026-02-07T12:01:10Z",
    },
}
EMPTY_STEP = StepState(name="a", kind=StepKind.AGENT_RUN)
FULL_RUN = RunRecord(
    lifecycle=Lifecycle(phase=Phase.CANCELLING, reason="Cancelling", observed_generation=2, started_at=NOON),
    mode=ExecutionMode.GRAPH,
    steps=(FULL_STEP, EMPTY_STEP),
    cancel=Cancel(requested_at=at(10), deadline=at(70), requested_by=("cancel", "deletion")),
    stop=Stop(requested_at=at(3), reason="RunTimedOut", deadline=at(63)),
    left_behind=(
        LeftBehind(kind="ToolRun", name="x", uid="u", ended_at=at(80)),
        LeftBehind(kind="ToolRun", name="y"),
    ),
    outputs={"result": "1"},
)


def test_a_step_is_written_field_by_field():
    """The names are those of the API."""
    assert step_document(FULL_STEP) == FULL_STEP_DOCUMENT


def test_a_step_that_has_not_started_has_three_fields():
    """What is not set is left out: the pages of a big run have ten thousand of these."""
    assert step_document(EMPTY_STEP) == {"name": "a", "kind": "AgentRun", "phase": "Pending"}


@pytest.mark.parametrize("state", [FULL_STEP, EMPTY_STEP], ids=["full", "empty"])
def test_a_step_reads_back_as_it_was_written(state):
    """Through JSON, and nothing is lost."""
    assert step_state(json.loads(json.dumps(step_document(state)))) == state


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        pytest.param(
            StepKind.SUB_ORCHESTRATION,
            {"apiVersion": "orchestration.proompteng.ai/v1alpha1", "kind": "OrchestrationRun", "name": "c"},
            id="nested-run",
        ),
        pytest.param(
            StepKind.AGENT_RUN,
            {"apiVersion": "agents.proompteng.ai/v1alpha1", "kind": "AgentRun", "name": "c"},
            id="agent-run",
        ),
        pytest.param(StepKind.APPROVAL_GATE, {"kind": "ApprovalGate", "name": "c"}, id="gate"),
    ],
)
def test_the_child_is_named_with_its_kind(kind, reference):
    """`resourceRef` names the child."""
    assert step_document(StepState(name="a", kind=kind, attempt=1, child="c"))["resourceRef"] == reference


def test_a_message_is_cut_to_what_a_page_can_hold():
    """One character more than the limit is cut, with a sign that it was."""
    whole = StepState(name="a", kind=StepKind.TOOL_RUN, message="x" * MESSAGE_LIMIT)
    longer = StepState(name="a", kind=StepKind.TOOL_RUN, message="x" * (MESSAGE_LIMIT + 1))
    assert step_document(whole)["message"] == "x" * 1024
    assert step_document(longer)["message"] == "x" * 1023 + "…"


@pytest.mark.rule("ST-1")
def test_a_run_is_written_with_counts_and_cancel():
    """Counts and progress follow from the steps; left-behind work stands with the cancel."""
    document = run_document(FULL_RUN, run_name="nightly")
    assert document == {
        "phase": "Cancelling",
        "reason": "Cancelling",
        "observedGeneration": 2,
        "startedAt": "2026-02-07T12:00:00Z",
        "runId": "nightly",
        "executionMode": "Graph",
        "counts": {
            "total": 2,
            "pending": 1,
            "running": 0,
            "retrying": 0,
            "succeeded": 0,
            "failed": 0,
            "skipped": 0,
            "cancelled": 0,
            "ignored": 1,
        },
        "steps": "1/2",
        "cancel": {
            "requestedAt": "2026-02-07T12:00:10Z",
            "deadline": "2026-02-07T12:01:10Z",
            "requestedBy": ["cancel", "deletion"],
            "leftBehind": [
                {"kind": "ToolRun", "name": "x", "uid": "u", "endedAt": "2026-02-07T12:01:20Z"},
                {"kind": "ToolRun", "name": "y"},
            ],
        },
        "stop": {
            "requestedAt": "2026-02-07T12:00:03Z",
            "reason": "RunTimedOut",
            "deadline": "2026-02-07T12:01:03Z",
        },
        "outputs": {"result": "1"},
        "stepStatuses": [FULL_STEP_DOCUMENT, {"name": "a", "kind": "AgentRun", "phase": "Pending"}],
    }


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(FULL_RUN, id="full"),
        pytest.param(RunRecord(), id="empty"),
        pytest.param(
            RunRecord(left_behind=(LeftBehind(kind="ToolRun", name="y"),)), id="left-behind-by-a-timeout"
        ),
    ],
)
def test_a_run_reads_back_as_it_was_written(record):
    """Through JSON, and nothing is lost."""
    assert run_record(json.loads(json.dumps(run_document(record, run_name="nightly")))) == record


def test_an_empty_run_is_written_with_its_name_only():
    """Nothing is claimed that is not known."""
    assert run_document(RunRecord(), run_name="nightly") == {"runId": "nightly"}


@pytest.mark.rule("DAG-14")
def test_the_steps_of_a_big_run_come_from_its_pages():
    """The object itself then has only a part of the steps."""
    document = run_document(FULL_RUN, run_name="nightly")
    pages = document.pop("stepStatuses")
    assert run_record(document | {"stepStatuses": pages[:1]}, pages) == FULL_RUN
    assert run_record(document, ()).steps == ()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param({"executionMode": "Both"}, "Both", id="mode"),
        pytest.param({"stop": {"reason": "x"}}, "requestedAt: is missing", id="stop-without-a-time"),
        pytest.param({"stepStatuses": [{"name": "a", "kind": "Other"}]}, "Other", id="kind"),
    ],
)
def test_what_no_writer_wrote_is_refused(status, message):
    """A status that was tampered with is an error, not a guess."""
    with pytest.raises(ValueError, match=message):
        run_record(status)


def test_a_stop_without_a_deadline_is_due_at_once():
    """Older statuses may lack it."""
    read = run_record(
        {
            "stop": {"reason": "RunTimedOut", "requestedAt": "2026-02-07T12:00:00Z"},
            "cancel": {"requestedAt": "2026-02-07T12:00:00Z"},
        }
    )
    assert read.stop == Stop(requested_at=NOON, reason="RunTimedOut", deadline=NOON)
    assert read.cancel == Cancel(requested_at=NOON, deadline=NOON, requested_by=())


def test_every_field_that_is_written_is_declared_in_the_api():
    """The CRD prunes what it does not know; nothing of ours may be lost that way."""
    document = run_document(FULL_RUN, run_name="nightly")
    read = OrchestrationRunStatus.model_validate(document).model_dump(
        by_alias=True, exclude_none=True, exclude_unset=True, mode="json"
    )
    assert shape(read) == shape(document)
    assert document.keys() <= RUN_FIELDS
    assert RUN_FIELDS >= LIFECYCLE_FIELDS


def shape(value):
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value).__name__
