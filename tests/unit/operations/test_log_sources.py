"""Which logs a command reads: of all steps, one step, a step of a nested run, or one attempt."""

import pytest

from jangar.domain.orchestration.state import Attempt
from jangar.operations.refusals import ErrorKind, Refused
from jangar.operations.step_logs import log_sources
from support.builders import a_definition, a_step
from unit.cli.followed_runs import FAILED, RUNNING, SUCCEEDED, a_seen, nested

INNER = a_seen(a_definition(a_step("p"), a_step("q")), {"p": SUCCEEDED | {"child": "p-1"}}, name="child")
EARLIER = Attempt(attempt=1, phase=FAILED["phase"], reason="NonZeroExit", child="a-1")
OUTER = a_seen(
    a_definition(a_step("a", retries=2), nested("sub", "a")),
    {
        "a": RUNNING | {"attempt": 2, "child": "a-2", "child_uid": "u2", "attempts": (EARLIER,)},
        "sub": RUNNING | {"child": "child"},
    },
    inside={"sub": INNER},
)


def paths(step, attempt=None):
    return [source.path for source in log_sources(OUTER, step, attempt)]


def test_all_steps_with_those_of_nested_runs_in_the_place_of_their_step():
    """In list order, by path."""
    assert paths("") == ["a", "sub/p", "sub/q"]


def test_one_step_by_its_path():
    """A path names a step, a nested run, or a step in it."""
    assert (paths("a"), paths("sub"), paths("sub/q")) == (["a"], ["sub/p", "sub/q"], ["sub/q"])


def test_an_attempt_has_its_own_child():
    """The latest by default. Only the uid of the latest child is recorded."""
    (latest,) = log_sources(OUTER, "a", None)
    assert (latest.attempt, latest.child, latest.child_uid) == (2, "a-2", "u2")
    (first,) = log_sources(OUTER, "a", 1)
    assert (first.attempt, first.child, first.child_uid) == (1, "a-1", None)


@pytest.mark.parametrize(
    ("step", "attempt", "message"),
    [
        pytest.param("b", None, "nightly has no step b; it has a, sub", id="no-such-step"),
        pytest.param("subb", None, "did you mean sub", id="misspelt"),
        pytest.param("sub/x", None, "child has no step x", id="no-such-inner-step"),
        pytest.param("a/x", None, "a is not a nested run: it has no step x", id="not-nested"),
        pytest.param("a", 3, "a has no attempt 3: 2 so far", id="no-such-attempt"),
        pytest.param("sub/q", 1, "sub/q has no attempt 1: none so far", id="not-started"),
    ],
)
def test_what_is_not_there_is_not_found(step, attempt, message):
    """The message lists what exists."""
    with pytest.raises(Refused, match=message) as refused:
        log_sources(OUTER, step, attempt)
    assert refused.value.kind is ErrorKind.MISSING
