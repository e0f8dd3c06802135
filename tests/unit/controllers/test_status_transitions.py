"""Events for what changed between two statuses."""

import pytest

from jangar.controllers.transitions import Transition, phase_change, step_change, workflow_changes


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(None, {}, [], id="nothing-yet"),
        pytest.param({"phase": "Running"}, {"phase": "Running", "reason": "x"}, [], id="no-change"),
        pytest.param(None, {"phase": "Pending"}, [("Normal", "Pending", "Pending")], id="first"),
        pytest.param(
            {"phase": "Pending"},
            {"phase": "Running", "reason": "Running"},
            [("Normal", "Running", "Pending -> Running")],
            id="next",
        ),
        pytest.param(
            {"phase": "Running"},
            {"phase": "Failed", "reason": "OOMKilled", "message": "out of memory"},
            [("Warning", "OOMKilled", "out of memory")],
            id="a-failure-is-a-warning",
        ),
        pytest.param(
            {"phase": "Cancelling"},
            {"phase": "Cancelled", "reason": "Cancelled"},
            [("Normal", "Cancelled", "Cancelling -> Cancelled")],
            id="a-cancel-is-none",
        ),
    ],
)
def test_a_phase_that_changed_is_reported(before, after, expected):
    """Once, with its reason."""
    assert list(phase_change(before, after)) == [Transition(*item) for item in expected]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"phase": "Running"}, {"name": "a", "phase": "Running"}, None, id="no-change"),
        pytest.param(
            None,
            {"name": "a", "phase": "Running", "attempt": 1, "reason": "Running"},
            ("Normal", "Running", "step a: Running"),
            id="started",
        ),
        pytest.param(
            {"phase": "Running", "attempt": 1},
            {"name": "a", "phase": "Running", "attempt": 2},
            ("Normal", "Running", "step a: Running, attempt 2"),
            id="another-attempt",
        ),
        pytest.param(
            {"phase": "Running", "attempt": 2},
            {"name": "a", "phase": "Failed", "attempt": 2, "reason": "NonZeroExit", "message": "code 3"},
            ("Warning", "NonZeroExit", "step a: Failed, attempt 2, code 3"),
            id="failed",
        ),
    ],
)
def test_a_step_that_changed_is_reported(before, after, expected):
    """By phase or attempt, with its name."""
    assert step_change(before, after) == (Transition(*expected) if expected else None)


def test_steps_of_an_agents_workflow_are_reported_when_they_change():
    """One that only waits for its turn is not."""
    before = {"workflow": {"steps": [{"name": "a", "phase": "Running", "attempt": 1}]}}
    after = {
        "workflow": {
            "steps": [
                {"name": "a", "phase": "Failed", "reason": "NonZeroExit", "attempt": 1, "message": "exit 3"},
                {"name": "b", "phase": "Pending", "attempt": 0},
                {"name": "c", "phase": "Skipped", "reason": "DependencyFailed", "attempt": 0},
            ]
        }
    }
    assert list(workflow_changes(before, after)) == [
        ("Warning", "NonZeroExit", "step a: Failed, exit 3"),
        ("Normal", "DependencyFailed", "step c: Skipped"),
    ]
    assert list(workflow_changes(after, after)) == []
    assert list(workflow_changes(None, {})) == []
