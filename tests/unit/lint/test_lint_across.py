"""What is said between objects: recursion and a run's parameters fail; absent names and doubles only warn."""

import pytest
from lint_cases import linted, reported

from jangar.lint.finding import Severity


def orchestration(name: str, *calls: str, extra: str = "") -> str:
    steps = "".join(
        f"  - {{name: {call}, kind: SubOrchestration, orchestrationRef: {{name: {call}}}}}\n"
        for call in calls
    )
    return (
        "apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: Orchestration\n"
        f"metadata: {{name: {name}{extra}}}\nspec:\n  steps:\n"
        f"  - {{name: first, kind: ToolRun, toolRef: {{name: t}}}}\n{steps}"
    )


def run_of(name: str, parameters: str = "{}") -> str:
    return (
        "apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: OrchestrationRun\nmetadata: {generateName: x-}\n"
        f"spec: {{orchestrationRef: {{name: {name}}}, parameters: {parameters}}}\n"
    )


@pytest.mark.rule("DAG-13")
def test_orchestrations_that_contain_each_other_are_refused_across_files():
    report = linted(orchestration("a", "b"), orchestration("b", "c"), orchestration("c", "a"))
    assert [(finding.file, finding.reason, finding.severity) for finding in report.findings] == [
        (f"{name}.yaml", "RecursiveOrchestration", Severity.ERROR) for name in "abc"
    ]
    assert "a -> b -> c -> a" in report.findings[0].message


@pytest.mark.rule("DAG-13")
def test_a_namespace_does_not_call_into_another():
    report = linted(
        orchestration("a", "b", extra=", namespace: one"), orchestration("b", "a", extra=", namespace: two")
    )
    assert [finding.severity for finding in report.findings] == [Severity.WARNING, Severity.WARNING]


def test_a_name_in_none_of_the_files_is_a_warning_if_the_files_hold_others_of_its_kind():
    report = linted(orchestration("nightly"), run_of("nigthly"))
    (finding,) = report.findings
    assert (finding.severity, finding.reason) == (Severity.WARNING, "ReferenceNotFound")
    assert reported(report) == [
        '4:8 spec.orchestrationRef: Orchestration "nigthly" is in none of these files (did you mean "nightly"?)'
    ]
    assert (report.errors, report.warnings) == (0, 1)


def test_a_name_may_be_in_the_cluster_if_the_files_hold_none_of_its_kind():
    assert reported(linted(run_of("nightly"))) == []


def test_the_same_object_twice_is_a_warning():
    report = linted(orchestration("a"), orchestration("a"))
    assert reported(report) == [
        "3:12 metadata.name: the same object stands in a.yaml:3 (the one applied last wins; keep one)"
    ]
    assert report.errors == 0


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(orchestration("a", extra=", namespace: other"), id="another-namespace"),
        pytest.param(run_of("a"), id="another-kind"),
        pytest.param(run_of("a") + "---\n" + run_of("a"), id="generated-names"),
    ],
)
def test_objects_that_differ_in_kind_or_namespace_are_not_the_same(other):
    assert reported(linted(orchestration("a"), other)) == []


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("{env: prod}", [], id="good"),
        pytest.param("{}", ['parameter "env" is required'], id="missing"),
        pytest.param("{env: qa}", ['value "qa" of parameter "env" is not allowed'], id="not-allowed"),
        pytest.param("{env: prod, evn: x}", ['parameter "evn" is not declared'], id="undeclared"),
        pytest.param("{env: 5}", ["must be of type string, found integer"], id="wrong-type-is-reported-once"),
    ],
)
def test_parameters_of_a_run_are_checked_against_a_definition_at_hand(given, expected):
    definition = orchestration("nightly").replace(
        "spec:\n", "spec:\n  parameters: [{name: env, required: true, enum: [dev, prod]}]\n"
    )
    found = [finding.message for finding in linted(definition, run_of("nightly", given)).findings]
    assert len(found) == len(expected)
    assert all(item.startswith(start) for item, start in zip(found, expected, strict=True)), found


def a_run(name: str, spec: str) -> str:
    return (
        "apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: OrchestrationRun\n"
        f"metadata: {{name: {name}}}\nspec: {spec}\n"
    )


@pytest.mark.rule("DAG-16")
@pytest.mark.parametrize(
    ("retried", "retry", "problem"),
    [
        pytest.param("{orchestrationRef: {name: a}}", "{retryOf: {name: old}}", "", id="names nothing"),
        pytest.param(
            "{orchestrationRef: {name: a}}",
            "{retryOf: {name: old}, orchestrationRef: {name: a}}",
            "",
            id="names the same",
        ),
        pytest.param(
            "{orchestrationRef: {name: a}}",
            "{retryOf: {name: old}, orchestrationRef: {name: b}}",
            "the run retries old, which was created from Orchestration a, not from Orchestration b",
            id="names another",
        ),
        pytest.param(
            "{orchestration: {steps: [{name: s, kind: ToolRun, toolRef: {name: t}}]}}",
            "{retryOf: {name: old}, orchestrationRef: {name: b}}",
            "which was created from an inline definition",
            id="names one for a definition in place",
        ),
        pytest.param(
            "{orchestrationRef: {name: a}}",
            "{retryOf: {name: old}, orchestration: {steps: [{name: s, kind: ToolRun, toolRef: {name: t}}]}}",
            "a run with retryOf executes the definition of the retried run",
            id="has one of its own",
        ),
    ],
)
def test_a_retry_says_nothing_else_than_the_run_that_it_repeats(retried, retry, problem):
    """E1: the retry executes the retried run's snapshot, so naming another Orchestration is a mistake."""
    report = linted(a_run("old", retried), a_run("new", retry))
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert [error.reason for error in errors] == (["InvalidSpec"] if problem else [])
    assert all(problem in error.message for error in errors)
