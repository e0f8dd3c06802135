"""What lint says about runs of agents and their providers: what their controllers would refuse, with its place."""

import random

import pytest
import yaml
from lint_cases import linted, reported

from jangar.controllers.agentrun.job_request import AgentCaches, AgentRunRequests
from jangar.domain.agentrun.command import AgentDefaults
from jangar.domain.job_execution.observation import WorkRejected
from jangar.lint.conditions import compile_loop
from jangar.lint.finding import Severity
from kubekit.cache.object_cache import Cache, Cached
from support.proving import FULL

CASES = 3_000 if FULL else 1_000
KINDS = ("Agent", "AgentProvider", "ImplementationSpec", "Memory", "VersionControlProvider")
HEAD = """\
apiVersion: agents.proompteng.ai/v1alpha1
kind: {kind}
metadata: {{name: it}}
spec:
"""
RUN = {
    "agentRef": {"name": "coder"},
    "implementation": {"inline": {"text": "do"}},
    "runtime": {"type": "workflow"},
}


def fields(text):
    """Field and message of each finding, without lines."""
    return [item.split(" ", 1)[1] for item in reported(linted(text))]


def of_run(spec):
    manifest = {
        "apiVersion": "agents.proompteng.ai/v1alpha1",
        "kind": "AgentRun",
        "metadata": {"name": "run", "namespace": "ci"},
        "spec": spec,
    }
    return yaml.safe_dump(manifest)


def of_steps(*steps, **spec):
    return of_run(RUN | {"workflow": {"steps": list(steps)}} | spec)


def test_everything_that_is_wrong_with_a_workflow_is_reported_at_once_with_its_place():
    """With the line, the field and what to write instead."""
    text = (
        HEAD.format(kind="AgentRun")
        + """\
  agentRef: {name: coder}
  implementation: {inline: {text: do}}
  runtime: {type: workflow}
  workflow:
    steps:
    - name: plan
    - name: "-bad-"
    - name: plan
    - name: improve
      loop:
        maxIterations: 3
        condition: {expression: "iteration.last.control."}
        state: {required: true, volumeNames: [state]}
"""
    )
    found = reported(linted(text))
    assert found[0].startswith('11:7 spec.workflow.steps[1].name: "-bad-" is not a valid step name (use 1-63')
    assert found[1].startswith("12:7 spec.workflow.steps[2].name: steps[0] and steps[2] are both named")
    assert found[2].startswith("16:21 spec.workflow.steps[3].loop.condition.expression: ")
    assert found[2].endswith("(write an expression that evaluates to true or false)")
    assert found[3] == (
        "17:33 spec.workflow.steps[3].loop.state.volumeNames: the workload has no volume state (name one that it has)"
    )
    assert len(found) == 4


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {},
            ["spec.workflow.steps: the workflow has no steps (add at least one step)"],
            id="no-workflow",
        ),
        pytest.param(
            {"runtime": {"type": "temporal"}},
            ['spec.runtime.type: runtime type "temporal" is not supported (use one of job, workflow)'],
            id="runtime",
        ),
        pytest.param(
            {"runtime": {"type": "job"}, "parameters": {"p": "x" * 2049}},
            ["spec.parameters.p: has more than 2048 bytes (put it into a file or a Secret)"],
            id="long-parameter",
        ),
        pytest.param(
            {
                "workflow": {"steps": [{"name": "a"}, {"name": "b", "parameters": {"issue": "7"}}]},
                "implementation": {"inline": {"text": "do", "contract": {"requiredKeys": ["issueNumber"]}}},
            },
            [
                (
                    "spec.workflow.steps[0].parameters: the task requires parameters: issueNumber "
                    "(set a value for each of them)"
                )
            ],
            id="missing-parameter",
        ),
        pytest.param({"runtime": {"type": "job"}}, [], id="job"),
    ],
)
def test_what_no_controller_starts_is_a_problem(spec, expected):
    """Each with what to do about it."""
    assert fields(of_run(RUN | spec)) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(
            [{"name": "a", "retries": "many"}, {"name": "a"}],
            ["steps[0].retries: ", "steps[1].name: "],
            id="a-word-for-a-number",
        ),
        pytest.param([{}, {"name": "-"}], ["steps[0].name: ", "steps[1].name: "], id="no-name"),
        pytest.param(
            [{"name": "a", "loop": {}}, {"name": "a"}],
            ["steps[0].loop.maxIterations: ", "steps[1].name: "],
            id="no-limit",
        ),
        pytest.param(
            [{"name": "a", "loop": {"maxIterations": 0}}, {"name": "a"}],
            ["steps[0].loop.maxIterations: ", "steps[1].name: "],
            id="a-limit-of-none",
        ),
        pytest.param(
            [{"name": "a", "implementationSpecRef": {}}, {"name": "a"}],
            ["steps[0].implementationSpecRef.name: ", "steps[1].name: "],
            id="a-reference-to-nothing",
        ),
        pytest.param([5, {"name": "-"}], ["steps[0]: ", "steps[1].name: "], id="a-step-is-a-number"),
    ],
)
def test_a_wrong_type_hides_no_other_problem_of_a_workflow(steps, expected):
    """What the types refuse is reported once, and the rest is still checked."""
    found = fields(of_steps(*steps))
    assert [item.removeprefix("spec.workflow.").split(": ")[0] + ": " for item in found] == expected


def test_a_workflow_within_an_orchestration_is_warned_about():
    """The orchestration can be run, and that step of it will fail."""
    text = """\
        apiVersion: orchestration.proompteng.ai/v1alpha1
        kind: Orchestration
        metadata: {name: nightly}
        spec:
          steps:
          - name: work
            kind: AgentRun
            agentRef: {name: coder}
            implementation: {inline: {text: do}}
            runtime: {type: workflow}
            workflow: {steps: [{name: a}, {name: a}]}
        """
    report = linted(text)
    (found,) = report.findings
    assert (found.field, found.step) == ("spec.steps[0].workflow.steps[1].name", "work")
    assert found.severity is Severity.WARNING
    assert linted(text.replace("{name: a}]", "{name: b}]")).findings == ()


def test_templates_of_a_provider_are_checked():
    """Syntax, and what they may do."""
    text = (
        HEAD.format(kind="AgentProvider")
        + """\
  binary: sh
  argsTemplate: ["-c", "{{ parameters.x"]
  envTemplate: {A: "{% for x in y %}{% endfor %}"}
  inputFiles: [{path: /a, content: "{{ f() }}"}]
"""
    )
    assert [field.split(": ")[0] for field in fields(text)] == [
        "spec.argsTemplate[1]",
        "spec.envTemplate.A",
        "spec.inputFiles[0].content",
    ]
    assert fields(HEAD.format(kind="AgentProvider") + "  binary: ' '\n") == [
        "spec.binary: binary is empty (set the program to start)"
    ]


NAMES = ("a", "b", "a-b", "", " ", "-", "a_", "x" * 63, "x" * 64, "ä", "A1")
EXPRESSIONS = (
    "true", "iteration.index < 3", "iteration.last.control.more", "iteration.", "'text'", "1 + 1", "steps.a == 1",
    "iteration.index < 'x'", "", "size(iteration.last) > 0", "(", "iteration.last.phase == 'Succeeded'", "foo(1)",
)  # fmt: skip
VOLUMES = (
    {"type": "pvc", "name": "state", "mountPath": "/state", "claimName": "kept"},
    {"type": "pvc", "name": "bare", "mountPath": "/bare"},
    {"type": "emptyDir", "name": "scratch", "mountPath": "/scratch"},
)


def a_workload(rng):
    return {"volumes": rng.sample(VOLUMES, rng.randrange(len(VOLUMES) + 1))}


def a_task(rng):
    contract = {"requiredKeys": rng.sample(["p", "q", "repository"], rng.randrange(3))}
    return {"inline": {"text": "do", **rng.choice(({}, {"contract": contract}))}}


def some_parameters(rng):
    values = ("", "v", "x" * 2048, "x" * 2049)
    return {name: rng.choice(values) for name in rng.sample(["p", "q", "repo"], rng.randrange(4))}


def a_step(rng):
    step = {"name": rng.choice(NAMES)}
    if rng.random() < 0.4:
        state = {"required": rng.random() < 0.7, "volumeNames": rng.sample(["state", "bare", "no"], 1)}
        step["loop"] = {
            "maxIterations": rng.choice((1, 2, 1000)),
            **rng.choice(({}, {"condition": {"expression": rng.choice(EXPRESSIONS)}})),
            **rng.choice(({}, {}, {"state": state}, {"state": {"required": True}})),
        }
    for name, made in (
        ("workload", a_workload),
        ("implementation", a_task),
        ("parameters", some_parameters),
    ):
        if rng.random() < 0.2:
            step[name] = made(rng)
    return step


def a_spec(rng):
    spec = {
        "agentRef": {"name": "coder"},
        "implementation": a_task(rng),
        "runtime": {"type": rng.choice(("workflow", "workflow", "workflow", "job", "temporal", "custom"))},
        **rng.choice(({}, {"parameters": some_parameters(rng)})),
        **rng.choice(({}, {"workload": a_workload(rng)})),
    }
    if rng.random() < 0.95:
        spec["workflow"] = {"steps": [a_step(rng) for _ in range(rng.randrange(4))]}
    return spec


def a_cache(**objects):
    cache = Cache({}, report=lambda error: pytest.fail(str(error)))
    for name, spec in objects.items():
        meta = {"name": name, "namespace": "ci", "uid": name, "resourceVersion": "1", "generation": 1}
        cache.record_write({"metadata": meta, "spec": spec})
    return cache


def refused(orders, spec):
    """Whether the controller would start nothing of it."""
    meta = {"name": "run", "namespace": "ci", "uid": "u", "resourceVersion": "1", "generation": 1}
    found = orders(Cached.of({"metadata": meta, "spec": spec}))
    return found.work.message if isinstance(found.work, WorkRejected) else None


@pytest.mark.rule("DAG-2")
def test_lint_and_controller_agree_about_workflows():
    """Over generated ones, good and bad: the same verdict, and every place that the controller names."""
    there = {"Agent": {"coder": {"providerRef": {"name": "sh"}}}, "AgentProvider": {"sh": {"binary": "sh"}}}
    orders = AgentRunRequests(
        caches=AgentCaches(of={kind: a_cache(**there.get(kind, {})) for kind in KINDS}),
        defaults=AgentDefaults(image="jangar"),
        compile_loop=compile_loop,
    )
    rng = random.Random(23)  # noqa: S311 - nothing secret
    verdicts = {True: 0, False: 0}
    for _ in range(CASES):
        spec = a_spec(rng)
        report = linted(of_run(spec))
        why = refused(orders, spec)
        assert (report.findings != ()) == (why is not None), (spec, reported(report), why)
        for finding in report.findings:
            assert f"{finding.field}: {finding.message}" in why, (spec, why)
        verdicts[why is None] += 1
    assert min(verdicts.values()) > CASES // 20
