"""What the API server accepts and refuses, asked of the generated schemas through picokube.schema."""

from functools import cache
from typing import Any

import pytest

from jangar.api.kinds import KINDS
from picokube.schema import CompiledSchema, admit, check
from unit.crdgen.nodes import schema_of

STEPS = {"steps": [{"name": "build", "kind": "Checkpoint"}]}
REF = {"orchestrationRef": {"name": "nightly"}}
INLINE = {"orchestration": STEPS}
VALID = {
    "OrchestrationRun": REF,
    "ToolRun": {"toolRef": {"name": "lint"}},
    "AgentRun": {
        "agentRef": {"name": "coder"},
        "implementationSpecRef": {"name": "task"},
        "runtime": {"type": "job"},
    },
}

every_run_kind = pytest.mark.parametrize("kind", VALID)


@cache
def compiled(kind: str) -> CompiledSchema:
    (found,) = [item for item in KINDS if item.name == kind]
    return CompiledSchema.of(schema_of(found))


def refusals(kind: str, spec: dict[str, Any], *, old: dict[str, Any] | None = None) -> list[str]:
    """What the API server would say to `spec`, on creation or as a change of `old`."""

    def admitted(given: dict[str, Any]) -> dict[str, Any]:
        found, unknown = admit(compiled(kind), {"metadata": {"name": "a"}, "spec": given})
        assert unknown == []
        return found

    before = admitted(old) if old is not None else None
    return [error.detail for error in check(compiled(kind), admitted(spec), old=before)]


@every_run_kind
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"cancel": True}, {"cancel": False}, id="true-to-false"),
        pytest.param({"cancel": True}, {}, id="true-to-absent"),
        pytest.param({"cancel": True}, {"desiredState": "Cancelled"}, id="moved-to-the-other-field"),
        pytest.param({"desiredState": "Cancelled"}, {"desiredState": "Running"}, id="cancelled-to-running"),
        pytest.param({"desiredState": "Cancelled"}, {}, id="cancelled-to-absent"),
    ],
)
def test_a_cancel_cannot_be_withdrawn(kind, before, after):
    found = refusals(kind, VALID[kind] | after, old=VALID[kind] | before)
    assert found == ["a cancel cannot be withdrawn: start a new run instead"]


@every_run_kind
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {"cancel": True}, id="absent-to-true"),
        pytest.param({"cancel": False}, {"cancel": True}, id="false-to-true"),
        pytest.param({"cancel": False}, {}, id="false-to-absent"),
        pytest.param({"cancel": True}, {"cancel": True}, id="true-stays"),
        pytest.param({"cancel": True}, {"cancel": True, "desiredState": "Cancelled"}, id="asked-twice"),
        pytest.param({"cancel": True}, {"cancel": True, "desiredState": "Running"}, id="other-field-set"),
        pytest.param({"desiredState": "Running"}, {"desiredState": "Cancelled"}, id="running-to-cancelled"),
        pytest.param({"desiredState": "Running"}, {}, id="running-to-absent"),
        pytest.param({}, {"suspend": True}, id="suspend"),
        pytest.param({"suspend": True}, {"suspend": False}, id="resume"),
        pytest.param({"suspend": True}, {}, id="resume-by-removal"),
        pytest.param({}, {"ttlSecondsAfterFinished": 5}, id="ttl-set"),
        pytest.param({"ttlSecondsAfterFinished": 5}, {"ttlSecondsAfterFinished": "never"}, id="ttl-changed"),
        pytest.param({"ttlSecondsAfterFinished": 5}, {}, id="ttl-removed"),
    ],
)
def test_what_steers_a_run_may_change(kind, before, after):
    assert refusals(kind, VALID[kind] | after, old=VALID[kind] | before) == []


IMMUTABLE = {
    "OrchestrationRun": {
        "parameters": ({"env": "dev"}, {"env": "prod"}),
        "policies": ({"failFast": True}, {"failFast": False}),
        "deliveryId": ("a", "b"),
        "retryOf": ({"name": "a"}, {"name": "b"}),
    },
    "ToolRun": {
        "parameters": ({"env": "dev"}, {"env": "prod"}),
        "deliveryId": ("a", "b"),
        "timeoutSeconds": (1, 2),
        "onJobMissing": ("Fail", "Retry"),
        "runtime": ({"a": 1}, {"a": 2}),
    },
    "AgentRun": {
        "parameters": ({"env": "dev"}, {"env": "prod"}),
        "goal": ({"objective": "a"}, {"objective": "b"}),
        "workload": ({"image": "a"}, {"image": "b"}),
        "secrets": (["a"], ["a", "b"]),
        "systemPrompt": ("a", "b"),
        "memoryRef": ({"name": "a"}, {"name": "b"}),
        "systemPromptRef": (
            {"kind": "Secret", "name": "a", "key": "k"},
            {"kind": "Secret", "name": "b", "key": "k"},
        ),
        "workflow": ({"steps": [{"name": "a"}]}, {"steps": [{"name": "b"}]}),
        "vcsRef": ({"name": "a"}, {"name": "b"}),
        "vcsPolicy": ({"required": True}, {"required": False}),
        "idempotencyKey": ("a", "b"),
        "onJobMissing": ("Fail", "Retry"),
    },
}


@pytest.mark.parametrize(
    ("kind", "field", "one", "other"),
    [
        pytest.param(kind, field, *values, id=f"{kind}.{field}")
        for kind, fields in IMMUTABLE.items()
        for field, values in fields.items()
    ],
)
def test_what_a_run_does_cannot_be_changed_added_or_removed(kind, field, one, other):
    plain, with_one, with_other = VALID[kind], VALID[kind] | {field: one}, VALID[kind] | {field: other}
    assert refusals(kind, with_one) == []
    for before, after in ((with_one, with_other), (plain, with_one), (with_one, plain)):
        assert refusals(kind, after, old=before) == [f"{field} is immutable: create a new run instead"]


@pytest.mark.parametrize(
    ("kind", "field", "other"),
    [
        pytest.param("ToolRun", "toolRef", {"name": "other"}, id="ToolRun.toolRef"),
        pytest.param("AgentRun", "agentRef", {"name": "other"}, id="AgentRun.agentRef"),
        pytest.param("AgentRun", "runtime", {"type": "temporal"}, id="AgentRun.runtime"),
        pytest.param(
            "AgentRun", "implementationSpecRef", {"name": "other"}, id="AgentRun.implementationSpecRef"
        ),
    ],
)
def test_what_a_run_must_have_cannot_be_changed(kind, field, other):
    found = refusals(kind, VALID[kind] | {field: other}, old=VALID[kind])
    assert found == [f"{field} is immutable: create a new run instead"]


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        pytest.param(
            REF, {"orchestrationRef": {"name": "b"}}, ["orchestrationRef"], id="other-orchestration"
        ),
        pytest.param(REF, INLINE, ["orchestrationRef", "orchestration"], id="ref-to-inline"),
        pytest.param(INLINE, REF, ["orchestrationRef", "orchestration"], id="inline-to-ref"),
        pytest.param(
            INLINE,
            {"orchestration": {"steps": [{"name": "test", "kind": "Checkpoint"}]}},
            ["orchestration"],
            id="step-renamed",
        ),
        pytest.param(
            INLINE,
            {"orchestration": {"steps": [*STEPS["steps"], {"name": "test", "kind": "Checkpoint"}]}},
            ["orchestration"],
            id="step-added",
        ),
        pytest.param(
            INLINE,
            {"orchestration": STEPS | {"policies": {"extra": 1}}},
            ["orchestration"],
            id="unknown-field-added-where-kept",
        ),
    ],
)
def test_what_an_orchestration_run_executes_cannot_be_changed(before, after, fields):
    found = refusals("OrchestrationRun", after, old=before)
    assert found == [f"{field} is immutable: create a new run instead" for field in fields]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(REF, id="by-reference"),
        pytest.param(INLINE, id="in-place"),
        pytest.param({"retryOf": {"name": "a"}}, id="a-retry-takes-the-definition-of-its-run"),
        pytest.param({"retryOf": {"name": "a"}} | REF, id="a-retry-may-name-it"),
    ],
)
def test_a_run_says_once_what_it_executes(spec):
    assert refusals("OrchestrationRun", spec) == []


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="neither"),
        pytest.param(REF | INLINE, id="both"),
        pytest.param({"retryOf": {"name": "a"}} | REF | INLINE, id="both-in-a-retry"),
    ],
)
def test_a_run_that_does_not_say_once_what_it_executes_is_refused(spec):
    found = refusals("OrchestrationRun", spec)
    assert found == ["exactly one of orchestrationRef and orchestration must be set"]


@every_run_kind
@pytest.mark.parametrize("ttl", [0, 5, "never"])
def test_a_ttl_is_seconds_or_never(kind, ttl):
    assert refusals(kind, VALID[kind] | {"ttlSecondsAfterFinished": ttl}) == []


@every_run_kind
@pytest.mark.parametrize("ttl", [-1, "soon", "5", "Never", ""])
def test_any_other_ttl_is_refused(kind, ttl):
    found = refusals(kind, VALID[kind] | {"ttlSecondsAfterFinished": ttl})
    assert found == ["must be a number of seconds, 0 or more, or 'never'"]


def test_an_agent_run_says_once_what_it_does():
    both = VALID["AgentRun"] | {"implementation": {"inline": {"text": "Do it."}}}
    neither = {name: value for name, value in VALID["AgentRun"].items() if name != "implementationSpecRef"}
    for spec in (both, neither):
        found = refusals("AgentRun", spec)
        assert found == ["exactly one of implementationSpecRef, implementation must be set"]
