"""Every string, list and map that a user writes has a bound in the schema (E2)."""

import pytest

from jangar.api.kinds import KINDS
from jangar.crdgen.crd import crd_of, root_schema

OPEN = {
    "Agent.config",
    "AgentProvider.adapter",
    "AgentRun.runtime.config",
    "ApprovalPolicy",
    "Budget.limits",
    "Orchestration.policies",
    "Orchestration.steps[].policy",
    "Orchestration.steps[].runtime.config",
    "OrchestrationRun.orchestration.policies",
    "OrchestrationRun.orchestration.steps[].policy",
    "OrchestrationRun.orchestration.steps[].runtime.config",
    "OrchestrationRun.policies",
    "Signal",
    "Signal.payload",
    "SignalDelivery.payload",
    "ToolRun.runtime",
}
"""Objects that take any value. They are bounded by the size of a request, and no controller evaluates them:
a controller reads named fields of them and checks each."""


def nodes(node, path):
    yield path, node
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield from nodes(node["additionalProperties"], f"{path}.*")
    for name, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")


def has_bound(node):
    if "enum" in node or node.get("format") == "date-time":
        return True
    needed = {
        "string": "maxLength",
        "array": "maxItems",
        "object": "maxProperties" if "additionalProperties" in node else None,
    }.get(node.get("type"), "maxLength" if "x-kubernetes-int-or-string" in node else None)
    return needed is None or needed in node


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_a_spec_is_bounded(kind):
    """The API server refuses what is larger, so that no controller ever reads it."""
    spec = root_schema(kind)["properties"]["spec"]
    assert [path for path, node in nodes(spec, kind.name) if not has_bound(node)] == []


def test_the_open_objects_are_known():
    """A new object that takes anything is a decision: add it here, and bound what reads it."""
    found = {
        path
        for kind in KINDS
        for path, node in nodes(root_schema(kind)["properties"]["spec"], kind.name)
        if node.get("x-kubernetes-preserve-unknown-fields")
    }
    assert found == OPEN


@pytest.mark.rule("DAG-14")
def test_big_runs_still_fit():
    """DAG-14: 10,000 steps, each of which may depend on all others; inputs of 256 Ki characters."""
    kinds = {kind.name: kind for kind in KINDS}
    steps = root_schema(kinds["Orchestration"])["properties"]["spec"]["properties"]["steps"]
    assert steps["maxItems"] == 10_000
    assert steps["items"]["properties"]["dependsOn"]["maxItems"] == 10_000
    assert steps["items"]["properties"]["with"]["additionalProperties"]["maxLength"] == 262_144


def test_the_definitions_stay_small_enough_to_apply():
    """A definition must fit into one request, and into the annotation of `kubectl apply` is not asked: ADR 7."""
    import orjson  # noqa: PLC0415

    assert max(len(orjson.dumps(crd_of(kind))) for kind in KINDS) < 500_000
