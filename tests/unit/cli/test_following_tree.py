"""A run as a tree on a screen: what a line says, and what is left out where there is no room."""

import pytest

from jangar.api.phases import Phase, StepPhase
from jangar.cli.following.rendering import PLAIN_GLYPHS, Size, text_of, tree_lines
from support.builders import a_definition, a_step, at
from unit.cli.followed_runs import DIAMOND, FAILED, LOST, RUNNING, STARTING, SUCCEEDED, a_seen, a_tree, nested

WIDE = Size(width=200)


def shown(tree, size=WIDE, **rest):
    return [text_of(line) for line in tree_lines(tree, size, **rest)]


def test_a_line_has_glyph_name_phase_duration_attempt_and_why():
    """A step that may be tried again says which attempt of how many it is."""
    lines = shown(a_tree(DIAMOND, {"a": SUCCEEDED, "b": RUNNING | {"attempt": 2}, "c": FAILED}))
    assert lines == [
        "● nightly  Running  2/4 steps  10s",
        "  ✓ a  Succeeded    2.0s",
        "  ● b  Running       10s  2/3",
        "  ✗ c  Failed       2.0s       NonZeroExit: exit code 3",
        "  · d  Pending                 waits for b (Running), c (Failed)",
    ]


def test_a_failure_with_an_exit_code_is_reported_in_short():
    """Also a narrow screen has room for that; the summary says the rest."""
    lines = shown(a_tree(DIAMOND, {"a": FAILED | {"exit_code": 3}}))
    assert lines[1] == "  ✗ a  Failed       2.0s  NonZeroExit: exit code 3"


def test_what_runs_shows_the_last_line_that_it_wrote():
    """Text of programs cannot steer the terminal."""
    tree = a_tree(DIAMOND, {"a": RUNNING | {"child_uid": "u"}}, last_lines={"u": " part 3 of 7\x1b[2J "})
    assert shown(tree)[1] == "  ● a  Running       10s  part 3 of 7\\x1b[2J"


def test_a_step_that_waits_says_for_what():
    """With the same sentence as `jangar explain`."""
    lines = shown(a_tree(DIAMOND, {"a": LOST}))
    assert lines[1].endswith(
        'the step\'s work has started and is waiting (ReferenceNotFound): tool "x" does not exist'
    )


def test_a_run_that_does_not_start_says_why():
    """The reason stands below its name."""
    tree = a_tree(DIAMOND, phase=Phase.PENDING, reason="ReferenceNotFound", message="no x", started_at=None)
    assert shown(tree)[:2] == ["· nightly  Pending  0/4 steps", "  ReferenceNotFound: no x"]


def test_nested_runs_are_indented_below_their_step():
    """The columns stay in line."""
    inner = a_definition(a_step("p"), a_step("q", "p"))
    outer = a_definition(a_step("first"), nested("sub", "first"))
    within = a_seen(inner, {"p": SUCCEEDED, "q": RUNNING}, name="child")
    lines = shown(a_tree(outer, {"first": SUCCEEDED, "sub": RUNNING}, inside={"sub": within}))
    assert lines[1:] == [
        "  ✓ first  Succeeded    2.0s",
        "  ● sub    Running       10s",
        "    ✓ p    Succeeded    2.0s",
        "    ● q    Running       10s",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("height", [8, 24, 50])
def test_a_thousand_steps_fit_any_screen(width, height):
    """Counts, what failed and what runs; the rest is counted. One line stays free for the cursor."""
    big = a_definition(*(a_step(f"work-{number:04d}") for number in range(1000)))
    states = {f"work-{number:04d}": SUCCEEDED for number in range(400)}
    states |= {f"work-{number:04d}": FAILED for number in range(400, 430)}
    states |= {f"work-{number:04d}": RUNNING for number in range(430, 470)}
    states |= {f"work-{number:04d}": STARTING for number in range(470, 1000)}
    lines = shown(a_tree(big, states), Size(width=width, height=height))
    assert len(lines) <= height - 1
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("● nightly  Running  430/1,000 step")
    assert lines[1].startswith("  30 failed, 40 running, 530 starting")
    rows = lines[2:-1]
    assert sum("Failed" in row for row in rows) >= 1
    assert sum("Running" in row for row in rows) >= len(rows) // 2
    assert not any("Pending" in row or "Succeeded" in row for row in rows)
    failed, running = (sum(word in row for row in rows) for word in ("Failed", "Running"))
    reported = [f"{30 - failed} more failed"] * (failed < 30) + [f"{40 - running} more running"] * (
        running < 40
    )
    assert lines[-1] == f"  … {', '.join(reported)}" or width == 40


def test_long_names_leave_room_for_the_rest():
    """They are cut, never wrapped."""
    long = a_definition(a_step("a-name-that-is-much-too-long-for-a-narrow-terminal"))
    (_, line) = shown(
        a_tree(long, {"a-name-that-is-much-too-long-for-a-narrow-terminal": FAILED}), Size(width=80)
    )
    assert line == "  ✗ a-name-that-is-much-too…  Failed       2.0s  NonZeroExit: exit code 3"


def test_terminals_without_such_characters_get_others():
    """ASCII alone."""
    lines = shown(a_tree(DIAMOND, {"a": SUCCEEDED, "b": RUNNING, "c": FAILED}), glyphs=PLAIN_GLYPHS)
    assert "".join(lines).isascii()


def test_a_step_that_is_being_stopped_or_retried_says_so():
    """The complete sentence of the explanation."""
    retrying = RUNNING | {
        "phase": StepPhase.RETRYING,
        "reason": "NonZeroExit",
        "message": "exit code 3",
        "next_retry_at": at(20),
    }
    lines = shown(a_tree(DIAMOND, {"a": SUCCEEDED, "b": retrying}))
    assert lines[2].startswith(
        "  ↻ b  Retrying      10s  1/3  attempt 1 of 3 failed (NonZeroExit: exit code 3); "
    )
