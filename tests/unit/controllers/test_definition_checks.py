"""The validation of Tools and Orchestrations."""

import pytest

from jangar.controllers.definition.checks import OrchestrationCheck, check_tool
from kubekit.cache.object_cache import Cache, Cached
from support.builders import compile_python


def a_call(name, target):
    return {"name": name, "kind": "SubOrchestration", "orchestrationRef": {"name": target}, "dependsOn": []}


def an_orchestration(name, *targets, namespace="ci"):
    spec = {"steps": [a_call(f"s{index}", target) for index, target in enumerate(targets)]}
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": "1"}
    return {"metadata": meta, "spec": spec}


def _raise(error):
    raise error


def check(obj, *others):
    cache = Cache(report=_raise)
    for other in (obj, *others):
        cache.record_write(other)
    found = OrchestrationCheck(orchestrations=cache, compile_condition=compile_python)(
        Cached.of(obj), obj["spec"]
    )
    return found.fields, [str(problem.reason) for problem in found.problems]


def test_a_tool_is_checked_by_its_own_rules():
    """The same that a run of it would meet."""
    cached = Cached.of(an_orchestration("x"))
    assert check_tool(cached, {"image": "a", "command": ["b"]}).problems == []
    assert len(check_tool(cached, {}).problems) == 2


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([an_orchestration("b")], [], id="none"),
        pytest.param([], [], id="what-it-names-is-not-there-yet"),
        pytest.param([an_orchestration("b", "a")], ["RecursiveOrchestration"], id="by-way-of-another"),
        pytest.param(
            [an_orchestration("b", "c"), an_orchestration("c", "b")], [], id="a-circle-that-it-only-calls"
        ),
        pytest.param([an_orchestration("b", "a", namespace="other")], [], id="of-another-namespace"),
    ],
)
def test_an_orchestration_must_not_contain_itself(others, expected):
    """Directly or by way of others of its namespace; looking for it comes to an end."""
    fields, reasons = check(an_orchestration("a", "b"), *others)
    assert [reason for reason in reasons if reason == "RecursiveOrchestration"] == expected
    assert fields == {"executionMode": "Graph", "stepCount": 1}


def test_one_that_calls_itself_is_reported():
    """At the step that does."""
    assert "RecursiveOrchestration" in check(an_orchestration("a", "a"))[1]
