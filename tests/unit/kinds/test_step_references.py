"""DAG-2: the objects that a step names, in the typed fields and in the older form inside `with`."""

import pytest

from jangar.api.orchestration import Step
from jangar.api.phases import StepKind
from jangar.kinds.registry import STEP_KINDS, step_adapter
from jangar.kinds.step_references import StepReferences, reference_name

pytestmark = pytest.mark.rule("DAG-2")


def step(**fields):
    return Step.model_validate({"name": "s", "kind": "ToolRun", **fields})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("agentRef", {"name": "x"}, id="agentRef"),
        pytest.param("toolRef", {"name": "x"}, id="toolRef"),
        pytest.param("orchestrationRef", {"name": "x"}, id="orchestrationRef"),
        pytest.param("policyRef", "x", id="policyRef"),
        pytest.param("signalRef", {"name": "x"}, id="signalRef"),
        pytest.param("deliveryId", "x", id="deliveryId"),
        pytest.param("implementationSpecRef", {"name": "x"}, id="implementationSpecRef"),
    ],
)
def test_each_field_is_read_in_both_spellings(field, value):
    """DAG-2: the typed field, a plain name in `with`, or JSON in `with`."""
    assert reference_name(step(**{field: value}), field) == "x"
    assert reference_name(step(**{"with": {field: "x"}}), field) == "x"
    assert reference_name(step(**{"with": {field: '{"name": "x"}'}}), field) == "x"
    assert reference_name(step(**{field: value, "with": {field: "y"}}), field) == "x"
    assert reference_name(step(), field) is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(" codex ", "codex", id="space-around"),
        pytest.param(' {"name": " codex ", "other": 1} ', "codex", id="space-in-json"),
        pytest.param("", None, id="empty"),
        pytest.param("two words", None, id="not-a-name"),
        pytest.param('"codex"', None, id="quoted"),
        pytest.param("{{ parameters.agent }}", None, id="template"),
        pytest.param("x-{{ parameters.agent }}", None, id="partly-template"),
        pytest.param("{", None, id="broken-json"),
        pytest.param("{}", None, id="no-name"),
        pytest.param('{"name": ""}', None, id="empty-name"),
        pytest.param('{"name": 7}', None, id="name-is-no-text"),
        pytest.param('{"name":' + "[" * 100_000, None, id="hostile-json"),
    ],
)
def test_the_older_spelling_is_a_name_or_json_with_a_name(written, expected):
    """DAG-2: anything else in `with` is not a reference."""
    assert reference_name(step(**{"with": {"toolRef": written}}), "toolRef") == expected


def test_a_blank_typed_name_counts_as_absent():
    """DAG-2: a name of spaces names nothing."""
    assert reference_name(step(toolRef={"name": " "}), "toolRef") is None
    assert reference_name(step(toolRef={"name": " "}, **{"with": {"toolRef": "t"}}), "toolRef") == "t"
    assert reference_name(step(policyRef=" p "), "policyRef") == "p"


@pytest.mark.parametrize(
    ("implementation", "expected"),
    [
        pytest.param(None, False, id="absent"),
        pytest.param({}, False, id="empty"),
        pytest.param({"text": ""}, False, id="empty-text"),
        pytest.param({"text": "do it"}, True, id="text"),
        pytest.param({"inline": {"text": "do it"}}, True, id="inline"),
    ],
)
def test_an_implementation_is_text_or_inline(implementation, expected):
    """DAG-2: an AgentRun's task can be inline in the step."""
    problems = StepReferences(required=(("implementation",),)).problems(step(implementation=implementation))
    assert (not list(problems)) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param(StepKind.AGENT_RUN, "an-agent", id="agent"),
        pytest.param(StepKind.TOOL_RUN, "a-tool", id="tool"),
        pytest.param(StepKind.SUB_ORCHESTRATION, "an-orchestration", id="orchestration"),
        pytest.param(StepKind.APPROVAL_GATE, None, id="gate"),
        pytest.param(StepKind.SIGNAL_WAIT, None, id="wait"),
        pytest.param(StepKind.CHECKPOINT, None, id="checkpoint"),
        pytest.param(StepKind.MEMORY_OP, None, id="memory"),
    ],
)
def test_the_target_is_what_the_child_runs(kind, expected):
    """DAG-2: kinds that create no child have no target."""
    everything = step(
        agentRef={"name": "an-agent"},
        toolRef={"name": "a-tool"},
        orchestrationRef={"name": "an-orchestration"},
        policyRef="a-policy",
    )
    assert step_adapter(kind).references.target(everything) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param(StepKind.AGENT_RUN, {"agentRef", "implementationSpecRef"}, id="agent"),
        pytest.param(StepKind.TOOL_RUN, {"toolRef"}, id="tool"),
        pytest.param(StepKind.SUB_ORCHESTRATION, set(), id="typed-field-wins"),
        pytest.param(StepKind.APPROVAL_GATE, set(), id="unreadable-is-not-spent"),
        pytest.param(StepKind.SIGNAL_WAIT, {"deliveryId"}, id="wait"),
        pytest.param(StepKind.CHECKPOINT, set(), id="checkpoint"),
    ],
)
def test_keys_read_as_references_are_not_parameters(kind, expected):
    """DAG-11: what `with` says about the step itself is not passed to the child, anything else is."""
    given = step(
        orchestrationRef={"name": "o"},
        **{
            "with": {
                "agentRef": "a",
                "toolRef": "t",
                "implementationSpecRef": '{"name":"i"}',
                "implementation": "x",
                "orchestrationRef": "p",
                "policyRef": "two words",
                "deliveryId": "d",
                "other": "x",
            }
        },
    )
    assert step_adapter(kind).references.legacy_keys(given) == expected


def test_every_documented_step_kind_is_registered():
    """DAG-2: a kind that users can write has an adapter."""
    assert set(StepKind) <= set(STEP_KINDS)
