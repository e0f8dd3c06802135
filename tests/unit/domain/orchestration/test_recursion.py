"""DAG-13: an orchestration that would contain itself is refused, and depth is bounded."""

import pytest

from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.recursion import NestedCall, recursion_problems
from jangar.kinds.orchestration_run.step import nesting_refusal

pytestmark = pytest.mark.rule("DAG-13")


def calls(**targets):
    """Orchestrations whose steps run the named others, as `a="b c"`."""
    return {
        name: [NestedCall(index=n, step=f"run-{t}", target=t) for n, t in enumerate(item.split())]
        for name, item in targets.items()
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(calls(), {}, id="nothing"),
        pytest.param(calls(a="b", b="c", c=""), {}, id="no-way-back"),
        pytest.param(calls(a="b c", b="d", c="d", d=""), {}, id="two-ways-to-one"),
        pytest.param(calls(a="gone"), {}, id="unknown-calls-nothing"),
        pytest.param(calls(a="a"), {"a": ["0 a -> a"]}, id="itself"),
        pytest.param(calls(a="b a", b=""), {"a": ["1 a -> a"]}, id="only-the-step-that-leads-back"),
        pytest.param(calls(a="b", b="a"), {"a": ["0 a -> b -> a"], "b": ["0 b -> a -> b"]}, id="two"),
        pytest.param(
            calls(c="a", a="b", b="c"),
            {"c": ["0 c -> a -> b -> c"], "a": ["0 a -> b -> c -> a"], "b": ["0 b -> c -> a -> b"]},
            id="three-in-the-order-given",
        ),
        pytest.param(calls(x="a", a="a"), {"a": ["0 a -> a"]}, id="who-leads-into-a-circle-is-not-in-it"),
        pytest.param(
            calls(a="b c", b="a", c="b"),
            {
                "a": ["0 a -> b -> a", "1 a -> c -> b -> a"],
                "b": ["0 b -> a -> b"],
                "c": ["0 c -> b -> a -> c"],
            },
            id="each-step-by-its-shortest-way",
        ),
        pytest.param(
            calls(a="b b", b="a"),
            {"a": ["0 a -> b -> a", "1 a -> b -> a"], "b": ["0 b -> a -> b"]},
            id="twice",
        ),
        pytest.param(
            calls(a="b", b="a c", c="d", d="c"),
            {
                "a": ["0 a -> b -> a"],
                "b": ["0 b -> a -> b"],
                "c": ["0 c -> d -> c"],
                "d": ["0 d -> c -> d"],
            },
            id="a-way-from-one-circle-into-another-is-no-problem",
        ),
    ],
)
def test_what_contains_itself_is_reported_with_the_way_round(given, expected):
    """DAG-13: each step by which an orchestration contains itself, with the path `a -> b -> a`."""
    found = {
        name: [f"{problem.path[2]} {problem.message.partition(': ')[2]}" for problem in problems]
        for name, problems in recursion_problems(given).items()
    }
    assert list(found.items()) == list(expected.items())


def test_a_recursion_is_a_problem_of_its_step():
    """DAG-13: the problem has the reason, the field and the step, as lint and status show them."""
    assert recursion_problems(calls(a="x b", b="a", x=""))["a"] == [
        Problem(
            reason=Reason.RECURSIVE_ORCHESTRATION,
            path=("spec", "steps", 1, "orchestrationRef"),
            message='step "run-b" calls its own orchestration: a -> b -> a',
            fix="call an orchestration that does not call this one",
            step="run-b",
        )
    ]


@pytest.mark.parametrize(
    ("lineage", "target", "max_depth", "expected"),
    [
        pytest.param(["a"], "b", 2, None, id="fits"),
        pytest.param(["a"], "b", 1, Reason.NESTING_TOO_DEEP, id="too-deep"),
        pytest.param(["a", "b", "c"], "d", 3, Reason.NESTING_TOO_DEEP, id="deeper"),
        pytest.param(["a", "b", "c"], "d", 4, None, id="as-deep-as-allowed"),
        pytest.param([], "a", 1, None, id="no-lineage"),
        pytest.param(["a"], "a", 9, Reason.RECURSIVE_ORCHESTRATION, id="itself"),
        pytest.param(["a", "b", "c"], "a", 9, Reason.RECURSIVE_ORCHESTRATION, id="an-ancestor"),
        pytest.param(["a", "b"], "a", 1, Reason.RECURSIVE_ORCHESTRATION, id="recursion-is-told-first"),
        pytest.param(["a"], "A", 9, None, id="names-are-exact"),
    ],
)
def test_a_nested_run_is_refused_at_its_creation(lineage, target, max_depth, expected):
    """DAG-13: what lint could not see is refused when the nested run would be created."""
    assert nesting_refusal(lineage, target, max_depth=max_depth) == expected
