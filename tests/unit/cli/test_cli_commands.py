"""The commands as users call them: output, exit codes, help."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from jangar import __version__
from jangar.api.kinds import KINDS
from jangar.cli.app import app

GOOD = """\
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: Orchestration
metadata: {name: nightly}
spec:
  steps:
  - {name: build, kind: ToolRun, toolRef: {name: t}, dependsOn: []}
  - {name: test, kind: ToolRun, toolRef: {name: t}, dependsOn: [build]}
"""
CYCLE = GOOD.replace("dependsOn: []", "dependsOn: [test]")
RUN = """\
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: OrchestrationRun
metadata: {name: once}
spec:
  orchestration:
    steps: [{name: a, kind: ToolRun, toolRef: {name: t}}, {name: b, kind: ToolRun, toolRef: {name: t}}]
"""
WARNING = """\
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: OrchestrationRun
metadata: {name: later}
spec: {orchestrationRef: {name: weekly}}
"""


COMMANDS = [registered_command.name for registered_command in app.registered_commands]


def run(*arguments, input=None):  # noqa: A002 - the runner's word
    return CliRunner().invoke(app, list(arguments), input=input)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="nightly.yaml"):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_lint_is_silent_but_for_the_summary_when_all_is_well(file):
    ran = run("lint", file(GOOD))
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "", "1 object in 1 file: no problems\n")


@pytest.mark.rule("DAG-2")
def test_lint_reports_a_problem_as_compilers_do_and_fails(file):
    ran = run("lint", file(CYCLE))
    assert ran.exit_code == 1
    assert ran.stdout == (
        "nightly.yaml:6:54: error: Orchestration/nightly: spec.steps[0].dependsOn: "
        "dependency cycle: build -> test -> build (remove one of these dependencies)\n"
    )
    assert ran.stderr == "1 object in 1 file: 1 problem\n"


def test_lint_reads_standard_input():
    ran = run("lint", "-", input=CYCLE)
    assert ran.exit_code == 1
    assert ran.stdout.startswith("<stdin>:6:54: error: ")


def test_warnings_fail_only_on_request(file):
    name = file(GOOD + WARNING)
    assert run("lint", name).exit_code == 0
    ran = run("lint", "--strict", name)
    assert ran.exit_code == 1
    assert "nightly.yaml:12:8: warning: OrchestrationRun/later: spec.orchestrationRef: " in ran.stdout
    assert ran.stderr == "2 objects in 1 file: 1 warning\n"


def test_lint_counts_what_it_does_not_check(file):
    ran = run("lint", file("apiVersion: v1\nkind: Secret\n---\napiVersion: v1\nkind: ConfigMap\n"))
    assert (ran.exit_code, ran.stderr) == (
        0,
        "0 objects in 1 file: no problems; 2 other objects not checked\n",
    )


def test_lint_as_json_has_every_part_of_a_problem(file):
    ran = run("lint", "-o", "json", file(CYCLE))
    assert ran.exit_code == 1
    assert json.loads(ran.stdout) == {
        "problems": [
            {
                "file": "nightly.yaml",
                "line": 6,
                "column": 54,
                "kind": "Orchestration",
                "name": "nightly",
                "field": "spec.steps[0].dependsOn",
                "step": "build",
                "reason": "DependencyCycle",
                "message": "dependency cycle: build -> test -> build",
                "fix": "remove one of these dependencies",
                "severity": "error",
            }
        ],
        "unreadable": [],
        "checked": 1,
        "files": 1,
        "notChecked": 0,
        "errors": 1,
        "warnings": 0,
    }
    assert ran.stderr == ""


@pytest.mark.parametrize("command", ["lint", "graph"])
def test_a_file_that_is_not_there_is_wrong_usage(command):
    ran = run(command, "nosuch.yaml")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == f"jangar {command}: cannot read nosuch.yaml: no such file\n"


def test_what_can_be_read_is_checked_even_if_something_cannot(file):
    ran = run("lint", "nosuch.yaml", file(CYCLE))
    assert ran.exit_code == 2
    assert "DependencyCycle" not in ran.stdout
    assert "build -> test -> build" in ran.stdout


def test_a_directory_without_manifests_is_wrong_usage(tmp_path):
    ran = run("lint", str(tmp_path))
    assert (ran.exit_code, ran.stderr) == (
        2,
        f"jangar lint: cannot read {tmp_path}: no .yaml, .yml or .json files in it\n",
    )


def test_graph_draws_every_definition_of_a_file(file):
    ran = run("graph", file(GOOD + RUN))
    assert ran.exit_code == 0
    assert ran.stdout == (
        "Orchestration/nightly: 2 steps in 2 levels\n\n"
        "┌───────┐\n│ build │\n└───┬───┘\n    │\n┌───▼───┐\n│ test  │\n└───────┘\n\n"
        "OrchestrationRun/once: 2 steps one after another\n\n"
        "┌───┐\n│ a │\n└─┬─┘\n  │\n┌─▼─┐\n│ b │\n└───┘\n"
    )


def test_graph_draws_one_of_several_by_name(file):
    assert run("graph", "--name", "once", "-o", "dot", file(GOOD + RUN)).stdout.startswith(
        'digraph "OrchestrationRun/once" {\n'
    )


def test_graph_lists_what_is_too_wide_for_the_terminal(file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    wide = GOOD + "".join(
        f"  - {{name: wide-{n}, kind: ToolRun, toolRef: {{name: t}}, dependsOn: [build]}}\n" for n in range(5)
    )
    ran = run("graph", file(wide))
    assert ran.exit_code == 0
    assert "2  test    after build\n   wide-0  after build\n" in ran.stdout


@pytest.mark.parametrize("output", ["mermaid", "dot", "json"])
def test_graph_has_other_forms(file, output):
    ran = run("graph", "-o", output, file(GOOD))
    assert ran.exit_code == 0
    assert "build" in ran.stdout


def test_graph_refuses_a_definition_with_problems(file):
    ran = run("graph", file(CYCLE))
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert "build -> test -> build" in ran.stderr


def test_graph_minds_only_problems_of_what_it_draws(file):
    ran = run("graph", "--name", "once", file(CYCLE + RUN))
    assert (ran.exit_code, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        pytest.param(
            "apiVersion: v1\nkind: Secret\n", [], "nightly.yaml contains no Orchestration", id="none"
        ),
        pytest.param(
            GOOD + RUN,
            ["--name", "weekly"],
            "nightly.yaml contains no weekly; it contains Orchestration/nightly, OrchestrationRun/once",
            id="none-of-that-name",
        ),
    ],
)
def test_graph_of_nothing_is_not_found(file, text, arguments, message):
    ran = run("graph", file(text), *arguments)
    assert (ran.exit_code, ran.stderr) == (4, f"jangar graph: {message}\n")


def test_crds_are_documents_that_kubectl_applies():
    ran = run("crds")
    found = list(yaml.safe_load_all(ran.stdout))
    assert ran.exit_code == 0
    assert [item["spec"]["names"]["kind"] for item in found] == [kind.name for kind in KINDS]
    assert "&id" not in ran.stdout


def test_crds_as_json_are_a_list_and_names_are_lines():
    found = json.loads(run("crds", "-o", "json").stdout)
    names = run("crds", "-o", "name").stdout.splitlines()
    assert found["kind"] == "List"
    assert [item["metadata"]["name"] for item in found["items"]] == names
    assert "orchestrations.orchestration.proompteng.ai" in names


def test_version_says_what_is_installed():
    assert run("--version").stdout == f"jangar {__version__}\n"
    assert run("version").stdout.splitlines()[0] == f"jangar {__version__}"
    assert json.loads(run("version", "-o", "json").stdout)["apiVersion"] == "v1alpha1"


@pytest.mark.parametrize(
    "command", [[], *([name] for name in COMMANDS)], ids=lambda item: " ".join(item) or "jangar"
)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_has_examples(command, option):
    ran = run(*command, option)
    assert ran.exit_code == 0
    assert "Examples:\n    jangar " in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["lnt"], "Did you mean 'lint'?", id="command"),
        pytest.param(["lint", "--stritc", "x"], "--strict", id="option"),
        pytest.param(["lint", "-o", "xml", "x"], "xml", id="choice"),
        pytest.param(["lint"], "Missing argument", id="no-file"),
        pytest.param(["graph", "a", "b"], "unexpected extra argument", id="too-many"),
        pytest.param([], "Usage: ", id="nothing"),
    ],
)
def test_wrong_usage_is_explained_and_ends_with_2(arguments, message):
    ran = run(*arguments)
    assert ran.exit_code == 2
    assert message in ran.stderr
    assert ran.stdout == ""
