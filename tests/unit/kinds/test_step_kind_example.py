"""A step kind that is one folder and one row works everywhere, with no other file edited."""

import asyncio
import re
from pathlib import Path

import pytest

import support.step_kind_example
from jangar.cli.run_description import description_lines
from jangar.controllers.orchestrationrun.children import child_manifest, child_seen, hash_of, stop_patch
from jangar.domain.orchestration.explain import RunView, explain_step
from jangar.domain.orchestration.planning.actions import StartChild, StopChild
from jangar.domain.orchestration.status_document import run_document, run_record
from jangar.kinds import registry
from jangar.kinds.registry import STEP_KINDS
from jangar.lint.files import SourceFile
from jangar.lint.report import lint
from jangar.operations import run_documents
from jangar.operations.run_reading import ReadRun
from jangar.operations.step_logs import StepLogs, log_source
from kubekit.cache.object_cache import Cached
from support.builders import a_definition, a_step, at
from support.run_driver import Driver
from support.step_kind_example.step import STEP

ROOT = Path(__file__).parents[3]
RECIPES = ROOT / "docs" / "architecture" / "adding.md"
ASK = {
    "name": "ask",
    "kind": "AskPerson",
    "dependsOn": [],
    "with": {"text": "Deploy {{ parameters.version }}?"},
}
DEPLOY = a_step("deploy", "ask", **{"with": {"decision": "{{ steps.ask.outputs.answer }}"}})
OWNER = {"kind": "OrchestrationRun", "name": "nightly", "uid": "uid-1", "controller": True}


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """The row."""
    monkeypatch.setitem(STEP_KINDS, STEP.name, STEP)


@pytest.fixture
def run():
    made = Driver(a_definition(ASK, DEPLOY), parameters={"version": "7"})
    made.tick()
    return made


def question(run, *, status=None, **spec):
    """The object that the run's start action creates, as an API server returns it."""
    (action,) = (item for item in run.actions if isinstance(item, StartChild))
    owner = Cached.of(
        {"metadata": {"name": "nightly", "namespace": "ci", "uid": "uid-1", "resourceVersion": "1"}}
    )
    manifest = child_manifest(action, run.definition.steps[0], run=owner, owner=OWNER, lineage=())
    server = {"uid": "uid-q", "resourceVersion": "1", "creationTimestamp": "2026-02-07T12:00:00Z"}
    return {
        **manifest,
        "metadata": {**manifest["metadata"], **server},
        "spec": {**manifest["spec"], **spec},
        "status": status or {},
    }


def observed(run, obj):
    """The run after its controller has seen the object."""
    child = child_seen(Cached.of(obj), STEP)
    run.children[child.name] = child
    run.tick(1)


def read(run):
    """The run as a client reads it."""
    obj = {
        "metadata": {
            "name": "nightly",
            "namespace": "ci",
            "uid": "uid-1",
            "resourceVersion": "1",
            "creationTimestamp": "2026-02-07T12:00:00Z",
        },
        "spec": {"orchestrationRef": {"name": "release"}, "parameters": {"version": "7"}},
        "status": run_document(run.record, run_name="nightly"),
    }
    record = run_record(obj["status"])
    return ReadRun(obj=obj, record=record, view=RunView(definition=run.definition, record=record))


def test_lint_validates_the_step():
    """A correct step has no findings; a mistake has the message and the place of the kind."""
    text = (
        "apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: Orchestration\nmetadata: {name: release}\n"
        "spec:\n  steps:\n  - name: ask\n    kind: AskPerson\n    with: {WITH}\n"
    )
    files = [
        SourceFile(name="good.yaml", data=text.replace("WITH", "text: Deploy?").encode(), named=True),
        SourceFile(name="bad.yaml", data=text.replace("WITH", "note: x").encode(), named=True),
    ]
    assert list(lint(files[:1]).findings) == []
    (finding,) = lint(files[1:]).findings
    assert (finding.field, finding.message, finding.fix) == (
        "spec.steps[0].with.text",
        "a step of kind AskPerson needs a question",
        "add with.text",
    )


def test_the_planner_starts_the_child(run):
    """The object has the kind, the spec and the hash of the step kind."""
    obj = question(run)
    assert (obj["apiVersion"], obj["kind"]) == ("example.proompteng.ai/v1alpha1", "Question")
    assert obj["spec"] == {"text": "Deploy 7?"}
    assert hash_of(obj, "AskPerson") == run.step("ask").child_hash


def test_an_answer_ends_the_step_and_is_an_input_of_the_next_one(run):
    """Observe and outputs are the step kind's own."""
    observed(run, question(run))
    assert run.steps["ask"] == "Running/Running"
    observed(run, question_of(run, status={"answer": "yes"}))
    assert run.steps["ask"] == "Succeeded/Succeeded"
    (started,) = (item for item in run.actions if isinstance(item, StartChild))
    assert (started.step, started.parameters["decision"]) == ("deploy", "yes")


def question_of(run, **more):
    """The same object later."""
    fresh = Driver(run.definition, parameters={"version": "7"})
    fresh.tick()
    return question(fresh, **more)


def test_a_cancel_stops_the_child_as_its_kind_says(run):
    """The patch is the step kind's own, with the reason and the deadline of every stop."""
    observed(run, question(run))
    run.cancel()
    run.tick(1)
    (stop,) = (item for item in run.actions if isinstance(item, StopChild))
    patch = stop_patch(stop, STEP)
    assert patch["spec"] == {"withdrawn": True}
    assert patch["metadata"]["annotations"]
    observed(run, question_of(run, withdrawn=True))
    assert not [item for item in run.actions if isinstance(item, StopChild)]
    observed(run, question_of(run, withdrawn=True, status={"closed": True}))
    assert run.steps["ask"] == "Cancelled/RunCancelled"


def test_the_step_is_explained_in_the_words_of_its_kind(run):
    """The subject of the sentence is the step kind's own."""
    observed(run, question(run))
    explained = explain_step(RunView(definition=run.definition, record=run.record), "ask")
    assert explained is not None
    assert explained.sentence == "the question is running"


def test_the_cli_and_the_http_api_show_the_step(run):
    """With its kind and its sentence; the status names the child's kind."""
    observed(run, question(run))
    document = run_documents.detail(read(run), now=at(9))
    shown = document["steps"][0]
    assert (shown["kind"], shown["sentence"]) == ("AskPerson", "the question is running")
    assert read(run).obj["status"]["stepStatuses"][0]["resourceRef"]["kind"] == "Question"
    text = "\n".join(description_lines(read(run), [], at(9), width=None, color=False, tails={}))
    assert re.search(r"ask +Running .*the question is running", text)


def test_a_step_that_was_not_started_says_why_it_has_no_log():
    """With the kind's own message."""
    run = Driver(a_definition(a_step("build"), ASK | {"dependsOn": ["build"]}), parameters={"version": "7"})
    run.tick()
    logs = StepLogs(None)
    log = asyncio.run(logs.read(log_source(read(run), run.step("ask"), "ask", None)))
    assert log.missing == "the question was not asked: waits for build (Pending)"


def test_no_other_file_knows_the_example():
    """Only its folder and the tests that register it name the kind."""
    names = re.compile(r"AskPerson|step_kind_example")
    own = Path(support.step_kind_example.__file__).parent
    found = {
        path.relative_to(ROOT)
        for folder in ("src", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if own not in path.parents and names.search(path.read_text())
    }
    assert found == {
        Path("tests/unit/kinds/test_step_kind_example.py"),
        Path("tests/simulation/test_example_step_kind.py"),
    }


def test_the_recipe_names_exactly_the_files_that_a_step_kind_needs():
    """A folder with a step, and the registry: the example has no more, and neither have the kinds of the product."""
    listed = recipe_files("step")
    assert listed == ["src/jangar/kinds/NAME/step.py", "src/jangar/kinds/registry.py"]
    for folder in ("agent_run", "orchestration_run", "tool_run"):
        assert (ROOT / listed[0].replace("NAME", folder)).exists()
    assert Path(registry.__file__) == ROOT / listed[1]
    own = {path.name for path in Path(support.step_kind_example.__file__).parent.glob("*.py")}
    assert own == {"__init__.py", "question.py", "step.py"}


def test_the_recipe_of_a_run_kind_names_files_that_exist():
    """Checked with the kind ToolRun."""
    for name in recipe_files("run"):
        folder = "tools" if "/api/" in name else "toolrun" if "/controllers/" in name else "tool_run"
        assert (ROOT / name.replace("NAME", folder)).exists(), name


def recipe_files(kind):
    section = RECIPES.read_text().partition(f"## How to add a {kind} kind")[2].partition("\n## ")[0]
    steps = section[section.index("\n1. ") :]
    return re.findall(r"`(src/[^`]+)`", steps)
