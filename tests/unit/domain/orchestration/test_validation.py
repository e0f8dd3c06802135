"""DAG-1, DAG-2: all mistakes of a definition at once, each with its step, field and fix."""

import re
import time
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.api.orchestration import OrchestrationSpec, Policies, Step
from jangar.api.phases import ExecutionMode, OnJobMissing, StepKind
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.graph import graph_of
from jangar.domain.orchestration.templates import parse_template
from jangar.domain.orchestration.validation import define, definition_problems, execution_mode

KINDS = "AgentRun, ToolRun, SubOrchestration"
NAME_FIX = "use 1-63 letters, digits, - and _, beginning and ending with a letter or digit"
TEMPLATE_FIX = 'write {{ parameters.NAME }} or {{ steps.STEP.outputs.NAME }}, with ?? "text" for a default'
CONDITION_FIX = "write a CEL expression over parameters and steps, without braces"


@dataclass(frozen=True)
class FakeCondition:
    source: str

    def references(self, variable):
        return frozenset(re.findall(rf"\b{variable}\.([\w-]+)", self.source))

    def uses_whole(self, _variable):
        return True

    def evaluate(self, bindings):
        raise NotImplementedError


def compiled(source):
    if source == "bad":
        raise ValueError("line 1: syntax error")
    return FakeCondition(source)


def step(name="a", kind="Checkpoint", **fields):
    """A step that needs nothing; `inputs` stands for `with`, which is a word of Python."""
    if "inputs" in fields:
        fields["with"] = fields.pop("inputs")
    return {"name": name, "kind": kind, **fields}


def spec(*steps, **fields):
    return OrchestrationSpec.model_validate({"steps": list(steps), **fields})


def problems(*steps, **fields):
    return definition_problems(spec(*steps, **fields), compile_condition=compiled)


def problem(reason, path, message, fix, name=None):
    return Problem(reason=reason, path=("spec", *path), message=message, fix=fix, step=name)


def defined(*steps, **fields):
    found = define(spec(*steps, **fields), compile_condition=compiled)
    assert isinstance(found, Definition)
    return found


@pytest.mark.rule("DAG-1")
@pytest.mark.parametrize(
    ("steps", "mode", "needs"),
    [
        pytest.param(
            [step("a"), step("b"), step("c")], "Sequential", ((), (0,), (1,)), id="no-key-is-a-list"
        ),
        pytest.param(
            [step("a"), step("b", dependsOn=[])], "Graph", ((), ()), id="an-empty-key-makes-a-graph"
        ),
        pytest.param(
            [step("a"), step("b", dependsOn=["a", "c", "a"]), step("c")],
            "Graph",
            ((), (0, 2), ()),
            id="without-the-key-a-root",
        ),
        pytest.param([step("a", dependsOn=None), step("b")], "Sequential", ((), (0,)), id="null-is-no-key"),
    ],
)
def test_the_key_depends_on_decides_the_mode(steps, mode, needs):
    """DAG-1: no step has the key: a list; any step has it, even empty: a graph."""
    found = defined(*steps)
    assert (found.mode, execution_mode(spec(*steps))) == (ExecutionMode(mode), ExecutionMode(mode))
    assert tuple(item.needs for item in found.steps) == needs
    assert found.graph == graph_of([item["name"] for item in steps], needs)


@pytest.mark.rule("DAG-2")
def test_a_good_definition_is_ready_to_be_planned():
    """DAG-2: everything that does not depend on a run is resolved."""
    build = step(
        "build",
        "ToolRun",
        toolRef={"name": "kaniko"},
        dependsOn=[],
        when="parameters.env == 'prod'",
        continueOnFailure=True,
        retries=2,
        retryBackoffSeconds=30,
        timeoutSeconds=600,
        onJobMissing="Retry",
        outputs=[{"name": "image", "default": ""}, {"name": "log"}],
        inputs={"env": "{{ parameters.env }}", "plain": "x"},
    )
    last = step("last", timeoutSeconds=0, dependsOn=["build"])
    parameters = [{"name": "env", "default": "dev"}, {"name": "tag"}]
    outputs = [{"name": "image", "value": "{{ steps.build.outputs.image }}"}]
    given = spec(
        build, last, parameters=parameters, outputs=outputs, policies={"failFast": True}, entrypoint="last"
    )
    assert define(given, compile_condition=compiled) == Definition(
        mode=ExecutionMode.GRAPH,
        graph=graph_of(["build", "last"], [[], [0]]),
        steps=(
            StepDefinition(
                index=0,
                name="build",
                kind=StepKind.TOOL_RUN,
                needs=(),
                target="kaniko",
                when=FakeCondition("parameters.env == 'prod'"),
                continue_on_failure=True,
                retries=2,
                retry_backoff=timedelta(seconds=30),
                timeout=timedelta(seconds=600),
                on_job_missing=OnJobMissing.RETRY,
                inputs={"env": parse_template("{{ parameters.env }}"), "plain": parse_template("x")},
                output_defaults={"image": ""},
                source=given.steps[0],
            ),
            StepDefinition(
                index=1,
                name="last",
                kind=StepKind.CHECKPOINT,
                needs=(0,),
                target=None,
                when=None,
                continue_on_failure=False,
                retries=None,
                retry_backoff=timedelta(0),
                timeout=None,
                on_job_missing=OnJobMissing.FAIL,
                inputs={},
                output_defaults={},
                source=given.steps[1],
            ),
        ),
        outputs={"image": parse_template("{{ steps.build.outputs.image }}")},
        policies=Policies(fail_fast=True),
        declares_parameters=True,
        parameter_defaults={"env": "dev"},
    )
    assert definition_problems(given, compile_condition=compiled) == []


@pytest.mark.rule("DAG-2")
def test_what_is_not_written_has_its_default():
    """DAG-2: a definition of one bare step."""
    found = defined(step("a"))
    assert (found.outputs, found.policies, found.declares_parameters, found.parameter_defaults) == (
        {},
        Policies(),
        False,
        {},
    )


@pytest.mark.rule("DAG-2")
def test_references_in_with_are_not_inputs_of_the_child():
    """DAG-2: the older spelling names the target and is not passed on."""
    found = defined(step("a", "ToolRun", inputs={"toolRef": '{"name": "kaniko"}', "agentRef": "x"}))
    assert found.steps[0].target == "kaniko"
    assert list(found.steps[0].inputs) == ["agentRef"]


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a", id="one"),
        pytest.param("7", id="a-digit"),
        pytest.param("Build-Image_2", id="all-that-is-allowed"),
        pytest.param("a--__b", id="marks-in-a-row"),
        pytest.param("x" * 63, id="longest"),
    ],
)
def test_good_names_are_accepted(name):
    """DAG-2: 1-63 letters, digits, - and _."""
    assert problems(step(name)) == []


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("-a", "-a", id="begins-with-a-dash"),
        pytest.param("a_", "a_", id="ends-with-an-underscore"),
        pytest.param("-", "-", id="only-a-dash"),
        pytest.param("a b", "a b", id="space"),
        pytest.param("a.b", "a.b", id="dot"),
        pytest.param("ä", "ä", id="not-ascii"),
        pytest.param("a\n", r"a\n", id="line-break"),
        pytest.param("x" * 64, "x" * 64, id="too-long"),
    ],
)
def test_bad_names_are_refused(name, shown):
    """DAG-2: a bad name, with what is allowed."""
    assert problems(step(name)) == [
        problem(
            Reason.INVALID_STEP_NAME,
            ("steps", 0, "name"),
            f'"{shown}" is not a valid step name',
            NAME_FIX,
            name,
        )
    ]


def missing_reference(field, message, fix, *under):
    return [problem(Reason.MISSING_REFERENCE, ("steps", 0, *under, field), message, fix, "a")]


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            spec(),
            [problem(Reason.MISSING_STEPS, ("steps",), "there are no steps", "add at least one step")],
            id="no-steps",
        ),
        pytest.param(
            spec(step(""), step(" ")),
            [
                problem(
                    Reason.STEP_MISSING_NAME, ("steps", 0, "name"), "the step has no name", "give it a name"
                ),
                problem(
                    Reason.STEP_MISSING_NAME,
                    ("steps", 1, "name"),
                    "the step has no name",
                    "give it a name",
                    " ",
                ),
            ],
            id="no-name",
        ),
        pytest.param(
            spec(step("a"), step("b"), step("a"), step("a")),
            [
                problem(
                    Reason.DUPLICATE_STEP,
                    ("steps", 2, "name"),
                    'steps[0] and steps[2] are both named "a"',
                    "give each step its own name",
                    "a",
                ),
                problem(
                    Reason.DUPLICATE_STEP,
                    ("steps", 3, "name"),
                    'steps[0] and steps[3] are both named "a"',
                    "give each step its own name",
                    "a",
                ),
            ],
            id="duplicate-name",
        ),
        pytest.param(
            spec(step("a", " ")),
            [
                problem(
                    Reason.STEP_MISSING_KIND,
                    ("steps", 0, "kind"),
                    "the step has no kind",
                    f"use one of {KINDS}",
                    "a",
                )
            ],
            id="no-kind",
        ),
        pytest.param(
            spec(step("a", "AgentRum")),
            [
                problem(
                    Reason.UNSUPPORTED_STEP,
                    ("steps", 0, "kind"),
                    'kind "AgentRum" is not supported',
                    'did you mean "AgentRun"?',
                    "a",
                )
            ],
            id="kind-with-a-guess",
        ),
        pytest.param(
            spec(step("a", "Xyz")),
            [
                problem(
                    Reason.UNSUPPORTED_STEP,
                    ("steps", 0, "kind"),
                    'kind "Xyz" is not supported',
                    f"use one of {KINDS}",
                    "a",
                )
            ],
            id="kind-without-a-guess",
        ),
        pytest.param(
            spec(step("a", "Job")),
            [
                problem(
                    Reason.UNSUPPORTED_STEP,
                    ("steps", 0, "kind"),
                    'kind "Job" is not supported',
                    f"use one of {KINDS}",
                    "a",
                )
            ],
            id="kind-of-an-agent-runs-workflow",
        ),
        pytest.param(
            spec(step("a", "AgentRun")),
            [
                *missing_reference("agentRef", "a step of kind AgentRun needs agentRef", "add agentRef"),
                *missing_reference(
                    "implementationSpecRef",
                    "a step of kind AgentRun needs implementationSpecRef or implementation",
                    "add implementationSpecRef",
                ),
            ],
            id="agent-run",
        ),
        pytest.param(
            spec(step("a", "AgentRun", agentRef={"name": "x"})),
            missing_reference(
                "implementationSpecRef",
                "a step of kind AgentRun needs implementationSpecRef or implementation",
                "add implementationSpecRef",
            ),
            id="agent-run-without-task",
        ),
        pytest.param(
            spec(step("a", "ToolRun")),
            missing_reference("toolRef", "a step of kind ToolRun needs toolRef", "add toolRef"),
            id="tool-run",
        ),
        pytest.param(
            spec(step("a", "SubOrchestration")),
            missing_reference(
                "orchestrationRef",
                "a step of kind SubOrchestration needs orchestrationRef",
                "add orchestrationRef",
            ),
            id="sub-orchestration",
        ),
        pytest.param(
            spec(step("a", "ApprovalGate")),
            missing_reference("policyRef", "a step of kind ApprovalGate needs policyRef", "add policyRef"),
            id="approval-gate",
        ),
        pytest.param(
            spec(step("a", "SignalWait")),
            missing_reference(
                "signalRef", "a step of kind SignalWait needs signalRef or deliveryId", "add signalRef"
            ),
            id="signal-wait",
        ),
        pytest.param(
            spec(step("a", "SignalWait", inputs={"deliveryId": "two words"})),
            missing_reference(
                "deliveryId",
                'with.deliveryId is neither a name nor {"name": ...}',
                "set deliveryId on the step itself",
                "with",
            ),
            id="unreadable-older-spelling",
        ),
        pytest.param(
            spec(step("a", dependsOn=["b", "a"]), step("b")),
            [
                problem(
                    Reason.INVALID_DEPENDENCY,
                    ("steps", 0, "dependsOn", 1),
                    'step "a" depends on itself',
                    "remove the dependency",
                    "a",
                )
            ],
            id="self-dependency",
        ),
        pytest.param(
            spec(step("build"), step("test", dependsOn=["biuld", "zzz"])),
            [
                problem(
                    Reason.MISSING_DEPENDENCY,
                    ("steps", 1, "dependsOn", 0),
                    'depends on "biuld", which does not exist',
                    'did you mean "build"?',
                    "test",
                ),
                problem(
                    Reason.MISSING_DEPENDENCY,
                    ("steps", 1, "dependsOn", 1),
                    'depends on "zzz", which does not exist',
                    "name a step of this orchestration",
                    "test",
                ),
            ],
            id="unknown-dependency",
        ),
        pytest.param(
            spec(step("x"), step("b", dependsOn=["c"]), step("c", dependsOn=["x", "b"])),
            [
                problem(
                    Reason.DEPENDENCY_CYCLE,
                    ("steps", 1, "dependsOn"),
                    "dependency cycle: b -> c -> b",
                    "remove one of these dependencies",
                    "b",
                )
            ],
            id="cycle",
        ),
        pytest.param(
            spec(step("build"), entrypoint="main"),
            [
                problem(
                    Reason.ENTRYPOINT_MISSING,
                    ("entrypoint",),
                    'entrypoint "main" is not a step',
                    "name a step or remove the entrypoint",
                )
            ],
            id="entrypoint",
        ),
        pytest.param(
            spec(step("build"), entrypoint="Build"),
            [
                problem(
                    Reason.ENTRYPOINT_MISSING,
                    ("entrypoint",),
                    'entrypoint "Build" is not a step',
                    'did you mean "build"?',
                )
            ],
            id="entrypoint-with-a-guess",
        ),
        pytest.param(
            spec(step("a", inputs={"x": "{{ parameters.evn ?? 'd' }}"}), parameters=[{"name": "env"}]),
            [
                problem(
                    Reason.UNDECLARED_PARAMETER,
                    ("steps", 0, "with", "x"),
                    'refers to parameter "evn", which is not declared',
                    'did you mean "env"?',
                    "a",
                )
            ],
            id="undeclared-parameter-in-with",
        ),
        pytest.param(
            spec(step("a", when="parameters.zzz && parameters.yyy"), parameters=[{"name": "env"}]),
            [
                problem(
                    Reason.UNDECLARED_PARAMETER,
                    ("steps", 0, "when"),
                    f'refers to parameter "{name}", which is not declared',
                    "declare it in spec.parameters",
                    "a",
                )
                for name in ("yyy", "zzz")
            ],
            id="undeclared-parameters-in-when-by-name",
        ),
        pytest.param(
            spec(
                step("build"),
                outputs=[{"name": "o", "value": "{{ parameters.x }}"}],
                parameters=[{"name": "env"}],
            ),
            [
                problem(
                    Reason.UNDECLARED_PARAMETER,
                    ("outputs", 0, "value"),
                    'refers to parameter "x", which is not declared',
                    "declare it in spec.parameters",
                )
            ],
            id="undeclared-parameter-in-outputs",
        ),
        pytest.param(
            spec(step("build"), step("b", inputs={"x": "{{ steps.biuld.outputs.y }}"})),
            [
                problem(
                    Reason.MISSING_DEPENDENCY,
                    ("steps", 1, "with", "x"),
                    'refers to step "biuld", which does not exist',
                    'did you mean "build"?',
                    "b",
                )
            ],
            id="outputs-of-an-unknown-step",
        ),
        pytest.param(
            spec(step("build"), outputs=[{"name": "o", "value": "{{ steps.zzz.outputs.y }}"}]),
            [
                problem(
                    Reason.MISSING_DEPENDENCY,
                    ("outputs", 0, "value"),
                    'refers to step "zzz", which does not exist',
                    "name a step of this orchestration",
                )
            ],
            id="returned-outputs-of-an-unknown-step",
        ),
        pytest.param(
            spec(
                step("a", dependsOn=[]),
                step("b", when="steps.a.outputs.x == ''", inputs={"y": "{{ steps.a.outputs.x }}"}),
            ),
            [
                problem(
                    Reason.NOT_AN_ANCESTOR,
                    ("steps", 1, *field),
                    'refers to step "a", which is not an ancestor of this step',
                    'add "a" to dependsOn',
                    "b",
                )
                for field in (("when",), ("with", "y"))
            ],
            id="outputs-of-an-unrelated-step",
        ),
        pytest.param(
            spec(step("a", inputs={"x": "{{ steps.b.outputs.y }}"}), step("b")),
            [
                problem(
                    Reason.NOT_AN_ANCESTOR,
                    ("steps", 0, "with", "x"),
                    'refers to step "b", which is not an ancestor of this step',
                    'add "b" to dependsOn',
                    "a",
                )
            ],
            id="outputs-of-a-later-step-in-a-list",
        ),
        pytest.param(
            spec(
                step("a", inputs={"x": "{{ steps.a.outputs.y }}"}, dependsOn=["b"]),
                step("b", dependsOn=["a"]),
            ),
            [
                problem(
                    Reason.DEPENDENCY_CYCLE,
                    ("steps", 0, "dependsOn"),
                    "dependency cycle: a -> b -> a",
                    "remove one of these dependencies",
                    "a",
                ),
                problem(
                    Reason.NOT_AN_ANCESTOR,
                    ("steps", 0, "with", "x"),
                    'refers to step "a", which is not an ancestor of this step',
                    "a step cannot use its own outputs",
                    "a",
                ),
            ],
            id="own-outputs-even-in-a-cycle",
        ),
        pytest.param(
            spec(step("a", inputs={"x": "ok", "y": "a\n{{ b }}"})),
            [
                problem(
                    Reason.INVALID_TEMPLATE,
                    ("steps", 0, "with", "y"),
                    "line 2, column 4: expected parameters.NAME or steps.STEP.outputs.NAME, found b",
                    TEMPLATE_FIX,
                    "a",
                )
            ],
            id="bad-template",
        ),
        pytest.param(
            spec(step("a"), outputs=[{"name": "p", "value": "x"}, {"name": "o", "value": "{{"}]),
            [
                problem(
                    Reason.INVALID_TEMPLATE,
                    ("outputs", 1, "value"),
                    "line 1, column 1: {{ is never closed with }}",
                    TEMPLATE_FIX,
                )
            ],
            id="bad-template-in-outputs",
        ),
        pytest.param(
            spec(step("a", when="bad"), step("b", when="bad")),
            [
                problem(
                    Reason.INVALID_CONDITION,
                    ("steps", index, "when"),
                    "not a condition: line 1: syntax error",
                    CONDITION_FIX,
                    name,
                )
                for index, name in enumerate("ab")
            ],
            id="bad-condition",
        ),
        pytest.param(
            spec(step("a", outputs=[{"name": "x"}, {"name": "y"}, {"name": "x"}])),
            [
                problem(
                    Reason.INVALID_VALUE,
                    ("steps", 0, "outputs", 2, "name"),
                    'output "x" is declared by outputs[0] and outputs[2]',
                    "remove one of them",
                    "a",
                )
            ],
            id="duplicate-output-of-a-step",
        ),
        pytest.param(
            spec(step("a"), outputs=[{"name": "x", "value": "1"}, {"name": "x", "value": "2"}]),
            [
                problem(
                    Reason.INVALID_VALUE,
                    ("outputs", 1, "name"),
                    'output "x" is declared by outputs[0] and outputs[1]',
                    "remove one of them",
                )
            ],
            id="duplicate-output-of-the-orchestration",
        ),
        pytest.param(
            spec(step("a"), parameters=[{"name": "x"}, {"name": "x"}]),
            [
                problem(
                    Reason.INVALID_PARAMETER,
                    ("parameters", 1, "name"),
                    'parameter "x" is declared by parameters[0] and parameters[1]',
                    "remove one of them",
                )
            ],
            id="duplicate-parameter",
        ),
        pytest.param(
            OrchestrationSpec.model_construct(steps=[Step(name="a", kind="X")] * 10_001, parameters=None),
            [
                problem(
                    Reason.TOO_LARGE,
                    ("steps",),
                    "10001 steps are more than 10000",
                    "split it into sub-orchestrations",
                )
            ],
            id="too-many-steps",
        ),
    ],
)
def test_each_mistake_is_reported_with_its_field_and_a_fix(given, expected):
    """DAG-2: reason, path, message, fix and step of every problem, and nothing else."""
    assert definition_problems(given, compile_condition=compiled) == expected
    assert define(given, compile_condition=compiled) == expected


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    ("steps", "fields"),
    [
        pytest.param(
            [step("a", "AgentRun", agentRef={"name": "x"}, implementation={"text": "t"})], {}, id="agent-run"
        ),
        pytest.param(
            [step("a", "AgentRun", inputs={"agentRef": "x", "implementationSpecRef": '{"name":"i"}'})],
            {},
            id="agent-run-in-the-older-spelling",
        ),
        pytest.param(
            [step("a", "SubOrchestration", orchestrationRef={"name": "x"})], {}, id="sub-orchestration"
        ),
        pytest.param(
            [step("a", "ApprovalGate", inputs={"policyRef": "p"})], {}, id="gate-in-the-older-spelling"
        ),
        pytest.param([step("a", "SignalWait", deliveryId="d")], {}, id="signal-wait"),
        pytest.param([step("a", "MemoryOp")], {}, id="memory-op"),
        pytest.param([step("a")], {"entrypoint": "a"}, id="entrypoint"),
        pytest.param([step("a")], {"entrypoint": ""}, id="empty-entrypoint"),
        pytest.param([step("a", inputs={"x": "{{ parameters.any }}"})], {}, id="none-declared-takes-all"),
        pytest.param(
            [step("a", inputs={"x": "{{ parameters.any }}"})], {"parameters": []}, id="empty-declares-none"
        ),
        pytest.param(
            [step("a", when="parameters.x == ''", inputs={"x": "{{ parameters.x }}"})],
            {"parameters": [{"name": "x", "required": True, "default": "d"}]},
            id="declared-parameter",
        ),
        pytest.param(
            [
                step("a"),
                step("b"),
                step("c", inputs={"x": "{{ steps.a.outputs.y }}"}, when="steps.b.phase == 'x'"),
            ],
            {},
            id="earlier-steps-of-a-list",
        ),
        pytest.param(
            [
                step("c", dependsOn=["b"], inputs={"x": "{{ steps.a.outputs.y }}{{ steps.b.outputs.y }}"}),
                step("b", dependsOn=["a"]),
                step("a"),
            ],
            {},
            id="ancestors-in-a-graph",
        ),
        pytest.param(
            [step("a", dependsOn=[]), step("b")],
            {"outputs": [{"name": "o", "value": "{{ steps.a.outputs.y }}{{ steps.b.outputs.y }}"}]},
            id="outputs-of-any-step-are-returned",
        ),
    ],
)
def test_good_definitions_have_no_problems(steps, fields):
    """DAG-2: what the contract allows is accepted."""
    assert problems(*steps, **fields) == []


@pytest.mark.rule("DAG-2")
def test_ten_thousand_steps_are_allowed():
    """DAG-14: the bound itself is within it."""
    assert len(defined(*(step(f"s{n}") for n in range(10_000))).steps) == 10_000


@pytest.mark.rule("DAG-2")
def test_problems_come_by_step_then_field_then_the_rest():
    """DAG-2: the order is fixed, because the first problem's reason is the one that status shows."""
    found = problems(
        step(
            "-a",
            "ToolRun",
            dependsOn=["b", "-a", "q"],
            when="bad",
            inputs={"x": "{{", "y": "{{ steps.q.outputs.r }}"},
        ),
        step("b", "Xyz", dependsOn=["-a"], outputs=[{"name": "o"}, {"name": "o"}]),
        step("b"),
        entrypoint="main",
        parameters=[{"name": "p"}, {"name": "p"}],
        outputs=[{"name": "o", "value": "{{"}, {"name": "o", "value": "x"}],
    )
    assert [(item.reason.value, item.field) for item in found] == [
        ("InvalidStepName", "spec.steps[0].name"),
        ("MissingReference", "spec.steps[0].toolRef"),
        ("InvalidDependency", "spec.steps[0].dependsOn[1]"),
        ("MissingDependency", "spec.steps[0].dependsOn[2]"),
        ("DependencyCycle", "spec.steps[0].dependsOn"),
        ("InvalidCondition", "spec.steps[0].when"),
        ("InvalidTemplate", "spec.steps[0].with.x"),
        ("MissingDependency", "spec.steps[0].with.y"),
        ("UnsupportedStep", "spec.steps[1].kind"),
        ("InvalidValue", "spec.steps[1].outputs[1].name"),
        ("DuplicateStep", "spec.steps[2].name"),
        ("EntrypointMissing", "spec.entrypoint"),
        ("InvalidParameter", "spec.parameters[1].name"),
        ("InvalidValue", "spec.outputs[1].name"),
        ("InvalidTemplate", "spec.outputs[0].value"),
    ]


@pytest.mark.rule("DAG-2")
def test_no_steps_is_reported_before_the_rest():
    """DAG-2: an empty definition says so first."""
    assert [item.reason for item in problems(entrypoint="main")] == [
        Reason.MISSING_STEPS,
        Reason.ENTRYPOINT_MISSING,
    ]


@pytest.mark.rule("DAG-2")
def test_a_name_used_twice_does_not_hide_a_cycle():
    """DAG-2, B10: both are reported at once, whichever step is removed."""
    found = problems(step("a"), step("b", dependsOn=["a"]), step("a", dependsOn=["b"]))
    assert [item.reason for item in found] == [Reason.DEPENDENCY_CYCLE, Reason.DUPLICATE_STEP]
    assert found[0].message == "dependency cycle: a -> b -> a"
    without = problems(step("a"), step("b", dependsOn=["a"]), step("a", dependsOn=[]))
    assert [item.reason for item in without] == [Reason.DUPLICATE_STEP]


@pytest.mark.rule("DAG-2")
def test_equal_conditions_are_compiled_once():
    """DAG-14: compiling is dear, and steps often share a condition."""
    sources = []

    def counting(source):
        sources.append(source)
        return compiled(source)

    steps = [step(f"s{n}", when=when) for n, when in enumerate(["x", "bad", "x", "bad"])]
    assert len(definition_problems(spec(*steps), compile_condition=counting)) == 2
    assert sources == ["x", "bad"]


@pytest.mark.rule("DAG-2")
def test_only_a_refusal_of_the_compiler_is_a_problem():
    """DAG-2: a bug of the compiler is not blamed on the user."""

    def broken(_source):
        raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        definition_problems(spec(step("a", when="x")), compile_condition=broken)


@st.composite
def graphs(draw):
    names = [f"s{n}" for n in range(draw(st.integers(1, 7)))]
    return [step(name, dependsOn=draw(st.lists(st.sampled_from(names), max_size=3))) for name in names]


@pytest.mark.rule("DAG-2")
@settings(deadline=None, max_examples=60)
@given(graphs())
def test_a_graph_is_defined_exactly_where_no_step_waits_for_itself(steps):
    """DAG-2: against the slow way of finding out whether a step can be reached from itself."""
    needs = {item["name"]: set(item["dependsOn"]) for item in steps}
    for _ in steps:
        needs = {name: item.union(*(needs[need] for need in item)) for name, item in needs.items()}
    circular = any(name in item for name, item in needs.items())
    assert bool(problems(*steps)) == circular


BIG = 10_000


def big(**fields):
    """10,000 steps; each field is a function of the step's number."""
    return spec(*(step(f"s{n}", **{key: value(n) for key, value in fields.items()}) for n in range(BIG)))


@pytest.mark.rule("DAG-14")
@pytest.mark.parametrize(
    ("given", "count"),
    [
        pytest.param(
            big(
                dependsOn=lambda n: [f"s{n - 1}"] if n else [],
                inputs=lambda n: {"x": f"{{{{ steps.s{n - 1}.outputs.y }}}}"} if n else {},
            ),
            0,
            id="a-chain-that-hands-on-outputs",
        ),
        pytest.param(
            big(
                dependsOn=lambda n: [f"s{(n - 1) * m // 5}" for m in range(1, 6)] if n else [],
                inputs=lambda n: {"x": "{{ steps.s0.outputs.y }}"} if n else {},
            ),
            0,
            id="fifty-thousand-edges-and-one-source",
        ),
        pytest.param(
            big(when=lambda n: "steps.s0.outputs.y == 'x'" if n else "true"), 0, id="a-list-with-one-source"
        ),
        pytest.param(big(dependsOn=lambda n: [f"s{(n + 1) % BIG}"]), 1, id="a-ring"),
        pytest.param(
            big(dependsOn=lambda n: [f"st-{n}-{m}" for m in range(5)]), 50_000, id="only-unknown-names"
        ),
    ],
)
def test_big_definitions_are_checked_in_about_a_second(given, count):
    """DAG-14: 10,000 steps and 50,000 edges, deep or wide, right or wrong."""
    began = time.process_time()
    assert len(definition_problems(given, compile_condition=compiled)) == count
    assert time.process_time() - began < 2.5
