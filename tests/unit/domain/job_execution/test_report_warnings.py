"""What the report of a runner says about a success that is doubtful (A1). It is data from a container."""

import pytest

from jangar.domain.job_execution.outcome import warning_of

MISSING = {"name": "report", "path": "/workspace/report.md", "problem": "no such file"}


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (None, ""),
        ({}, ""),
        ({"toolCalls": {"total": 3, "failed": 0, "denied": 0}}, ""),
        ({"toolCalls": {"total": 3, "failed": 2, "denied": 0}}, ""),
        ({"toolCalls": {"total": 1, "failed": 1, "denied": 0}}, "its only tool call failed"),
        ({"toolCalls": {"total": 3, "failed": 3, "denied": 0}}, "all 3 tool calls failed"),
        ({"toolCalls": {"total": 3, "failed": 3, "denied": 2}}, "all 3 tool calls failed (2 denied)"),
        ({"toolCalls": {"total": 3, "failed": 1, "denied": 1}}, "1 of 3 tool calls were denied"),
        ({"artifacts": [MISSING]}, "artifact report: no such file"),
        (
            {"toolCalls": {"total": 2, "failed": 2}, "artifacts": [{"name": "a"}, MISSING]},
            "all 2 tool calls failed; artifact report: no such file",
        ),
        ({"toolCalls": "many", "artifacts": {"a": 1}}, ""),
        (
            {"toolCalls": {"total": "3", "failed": None, "denied": []}, "artifacts": [None, {"problem": 1}]},
            "",
        ),
    ],
)
def test_a_doubtful_success_says_why(report, expected):
    assert warning_of(report) == expected


def test_a_warning_is_bounded():
    """Whatever a container writes, the message fits into a status."""
    report = {"artifacts": [{"name": "n" * 4000, "problem": "p" * 4000}] * 10_000}
    assert len(warning_of(report)) < 32 * 1024
