"""Inputs and outputs of steps, where a person looks for them: `describe`, `explain` and `history`."""

from dataclasses import replace

import pytest

from jangar.cli.run_description import (
    description_document,
    description_lines,
    explanation_document,
    explanation_lines,
)
from jangar.cli.stored_run import stored_run_document, stored_run_lines
from jangar.domain.views import step_inputs
from jangar.operations.past_runs import StoredRun
from jangar.operations.run_documents import list_item
from jangar.operations.run_list import RunFilter
from jangar.operations.run_reading import explanations, step_data
from jangar.store.rows import RunRow, StepRow
from support.builders import a_definition, a_step, at
from unit.cli.followed_runs import FAILED, NOW, SUCCEEDED, a_seen

BUILD = a_definition(
    a_step("build", **{"with": {"branch": "{{ parameters.branch }}"}}),
    a_step(
        "publish",
        "build",
        **{"with": {"image": "{{ steps.build.outputs.image }}", "log": "{{ parameters.log }}"}},
    ),
    a_step("announce", "publish", **{"with": {"text": "{{ steps.publish.outputs.address }}"}}),
    parameters=[{"name": "branch"}, {"name": "log"}],
)


def a_run():
    states = {"build": SUCCEEDED | {"outputs": {"image": "app:main"}}, "publish": FAILED}
    read = a_seen(BUILD, states).read
    spec = {**read.obj["spec"], "parameters": {"branch": "main", "log": "x" * 3000}}
    meta = {**read.obj["metadata"], "resourceVersion": "7"}
    kind = {"apiVersion": "orchestration.proompteng.ai/v1alpha1", "kind": "OrchestrationRun"}
    return replace(read, obj={**read.obj, **kind, "metadata": meta, "spec": spec})


def test_describe_shows_what_each_step_was_given_and_returned():
    """B6: rendered, and cut with a mark. A step that has not started was given nothing yet."""
    reported = description_lines(a_run(), [], NOW, width=80, color=False, tails={})
    at_data = reported.index("Inputs and outputs:")
    assert reported[at_data + 1 : at_data + 6] == [
        "  build",
        "    in   branch=main",
        "    out  image=app:main",
        "  publish",
        "    in   image=app:main",
    ]
    assert reported[at_data + 6].endswith("… (3,000 characters)")
    assert "  announce" not in reported
    assert max(map(len, reported)) <= 80


def test_scripts_get_whole_values():
    """B6: what is cut for a person is whole in JSON."""
    steps = description_document(a_run(), [], NOW, {})["steps"]
    assert [len(step["inputs"].get("log", "")) for step in steps] == [0, 3000, 0]
    assert steps[0]["outputs"] == {"image": "app:main"}


def test_inputs_of_a_run_are_bounded_together(monkeypatch):
    """B6: a run whose steps multiply a long parameter cannot exhaust the memory of its viewer."""
    monkeypatch.setattr(step_inputs, "MAX_SHOWN_BYTES", 1000)
    inputs = {item.step: item.inputs for item in step_data(a_run())}
    assert inputs["build"] == {"branch": "main"}
    assert inputs["publish"] == {"image": "app:main", "log": "{{ parameters.log }}"}


def test_explain_shows_the_inputs_of_a_failed_step():
    """B6: why it failed is often in what it was given."""
    run = a_run()
    reported = explanation_lines(run, explanations(run, ""), width=80)
    at_step = next(at for at, line in enumerate(reported) if line.startswith("  publish"))
    assert reported[at_step + 1].split() == ["in", "image=app:main"]
    assert max(map(len, reported)) <= 80
    (step,) = explanation_document(run, explanations(run, "build"))["steps"]
    assert (step["inputs"], step["outputs"]) == ({"branch": "main"}, {"image": "app:main"})


def test_history_shows_inputs_and_outputs_of_steps():
    """B6: also after the run is deleted."""
    row = RunRow(
        uid="u",
        kind="OrchestrationRun",
        namespace="default",
        name="nightly",
        version=1,
        phase="Succeeded",
        created_at=at(0),
        finished_at=at(5),
        updated_at=at(5),
        root_uid="u",
        spec={"parameters": {"branch": "main"}},
    )
    steps = [
        StepRow(position=0, name="build", kind="ToolRun", phase="Succeeded", outputs={"image": "app:main"})
    ]
    inputs = {item.step: item.inputs for item in step_data(a_run())}
    past = StoredRun(row=row, steps=steps, inputs=inputs)
    reported = stored_run_lines(past, width=80, color=False)
    assert "Parameters:    branch=main" in reported
    at_data = reported.index("Inputs and outputs:")
    assert reported[at_data + 1 : at_data + 4] == [
        "  build",
        "    in   branch=main",
        "    out  image=app:main",
    ]
    (step,) = stored_run_document(past)["status"]["stepStatuses"]
    assert (step["inputs"], step["outputs"]) == ({"branch": "main"}, {"image": "app:main"})


@pytest.mark.parametrize(("children", "is_shown"), [(False, False), (True, True)])
def test_a_list_leaves_out_nested_runs_by_default(children, is_shown):
    """B7: their names are generated, and their parent shows them."""
    obj = dict(a_run().obj)
    owner = {"kind": "OrchestrationRun", "name": "outer", "uid": "o", "controller": True}
    obj["metadata"] = {**obj["metadata"], "ownerReferences": [owner]}
    wanted = RunFilter(nested=children)
    assert wanted.matches(list_item(obj)) is is_shown
    assert wanted.matches(list_item(a_run().obj))


@pytest.mark.rule("AGENT-3")
def test_the_last_log_lines_of_failed_steps_are_shown():
    """B5: people and scripts find them where they look first; a step without any has none."""
    name = a_run().record.steps[0].name
    tails = {name: ["cannot open x", "giving up"], "other": []}
    reported = description_lines(a_run(), [], NOW, width=80, color=False, tails=tails)
    place = reported.index(f"Last log lines of {name}:")
    assert reported[place + 1 : place + 3] == ["  | cannot open x", "  | giving up"]
    assert not any("other" in line for line in reported)
    steps = description_document(a_run(), [], NOW, tails)["steps"]
    assert steps[0]["lastLogLines"] == ["cannot open x", "giving up"]
