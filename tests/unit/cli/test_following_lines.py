"""A run as plain lines: one a transition, from two looks at it; and the last words about it."""

from dataclasses import replace
from datetime import timedelta

from jangar.api.phases import Phase
from jangar.cli.following.rendering import plain_lines, summary_lines
from support.builders import a_definition, a_step, at
from unit.cli.followed_runs import DIAMOND, FAILED, LOST, RUNNING, STARTING, SUCCEEDED, a_seen, a_tree, nested


def test_the_first_snapshot_reports_what_has_happened_so_far():
    """In the order in which it happened, with the time since the run started."""
    lines = plain_lines(None, a_tree(DIAMOND, {"a": SUCCEEDED, "b": RUNNING | {"started_at": at(3)}}))
    assert lines == ["   0.0s  nightly Running", "   2.0s  a Succeeded in 2.0s", "   2.0s  b Running 1/3"]


def test_a_transition_is_reported_once():
    """What is the same as before is not said again."""
    before = a_tree(DIAMOND, {"a": SUCCEEDED, "b": RUNNING})
    assert plain_lines(before, a_tree(DIAMOND, {"a": SUCCEEDED, "b": RUNNING}, now=at(60))) == []
    after = a_tree(DIAMOND, {"a": SUCCEEDED, "b": RUNNING, "c": FAILED})
    assert plain_lines(before, after) == ["   4.0s  c Failed in 2.0s: NonZeroExit: exit code 3"]


def test_another_attempt_is_a_transition():
    """Also if it is in the same phase as the one before."""
    before = a_tree(DIAMOND, {"b": RUNNING})
    after = a_tree(DIAMOND, {"b": RUNNING | {"attempt": 2}})
    assert plain_lines(before, after) == ["    10s  b Running 2/3"]


def test_waits_are_reported_when_they_are_not_ordinary():
    """Starting is not worth a line; a tool that is missing is."""
    before = a_tree(DIAMOND)
    assert plain_lines(before, a_tree(DIAMOND, {"a": STARTING})) == []
    (line,) = plain_lines(before, a_tree(DIAMOND, {"a": LOST}))
    assert line.endswith(
        'a Pending: the step\'s work has started and is waiting (ReferenceNotFound): tool "x" does not exist'
    )


def test_steps_of_nested_runs_have_their_path():
    """`outer/inner`."""
    outer = a_definition(nested("sub"))
    within = a_seen(a_definition(a_step("p")), {"p": SUCCEEDED}, name="child")
    lines = plain_lines(a_tree(outer), a_tree(outer, {"sub": RUNNING}, inside={"sub": within}))
    assert lines == ["   0.0s  sub Running", "   2.0s  sub/p Succeeded in 2.0s"]


def test_the_run_itself_is_reported_when_it_changes():
    """Its end is left to the summary."""
    waits = {"phase": Phase.PENDING, "reason": "ReferenceNotFound", "message": "no x", "started_at": None}
    assert plain_lines(None, a_tree(DIAMOND, **waits)) == [
        "    11s  nightly Pending: ReferenceNotFound: no x"
    ]
    assert plain_lines(a_tree(DIAMOND, **waits), a_tree(DIAMOND)) == ["   0.0s  nightly Running"]
    over = a_tree(DIAMOND, phase=Phase.SUCCEEDED, finished_at=at(9))
    assert plain_lines(a_tree(DIAMOND), over) == []


def test_an_api_that_does_not_answer_is_reported_once():
    """And that it is back."""
    silent = replace(a_tree(DIAMOND, {"a": RUNNING}), silence=timedelta(seconds=6))
    well = a_tree(DIAMOND, {"a": RUNNING})
    assert plain_lines(well, silent) == ["    10s  the API does not respond; waiting for it"]
    assert plain_lines(silent, silent) == []
    assert plain_lines(silent, well) == ["    10s  the API responds again"]


def test_the_summary_of_a_success_is_short():
    """Outcome, duration, what to type next."""
    states = dict.fromkeys("abcd", SUCCEEDED)
    tree = a_tree(DIAMOND, states, phase=Phase.SUCCEEDED, reason="Succeeded", finished_at=at(9))
    assert summary_lines(tree, tails={}, options=" -n trial") == [
        "nightly succeeded after 8.0s: 4 steps",
        "Next: jangar logs nightly -n trial, jangar describe nightly -n trial",
    ]


def test_the_summary_of_a_failure_says_what_failed_and_why():
    """With the last lines of its log, and the commands that help."""
    states = {"a": SUCCEEDED, "b": SUCCEEDED, "c": FAILED}
    tree = a_tree(DIAMOND, states, phase=Phase.FAILED, reason="StepFailed", message="m", finished_at=at(9))
    assert summary_lines(tree, tails={"c": ["boom", "\x1b]0;x"]}) == [
        "nightly failed after 8.0s: 4 steps, 1 failed, 2 succeeded, 1 pending",
        "Failed:",
        "  c: NonZeroExit: exit code 3",
        "    | boom",
        "    | \\x1b]0;x",
        "Next:",
        "  jangar logs nightly c",
        "  jangar explain nightly",
        "  jangar retry nightly",
    ]


def test_a_failure_within_a_nested_run_is_reported_by_the_step_at_fault():
    """Not by the step that only contains it."""
    outer = a_definition(nested("sub"))
    within = a_seen(a_definition(a_step("p")), {"p": FAILED}, name="child", phase=Phase.FAILED)
    tree = a_tree(outer, {"sub": FAILED}, inside={"sub": within}, phase=Phase.FAILED, finished_at=at(9))
    lines = summary_lines(tree, tails={})
    assert "  sub/p: NonZeroExit: exit code 3" in lines
    assert "  jangar logs nightly sub/p" in lines
    assert not any(line.startswith("  sub:") for line in lines)
