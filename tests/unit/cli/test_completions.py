"""What a shell offers without asking an API."""

import time

import pytest
import typer

from jangar.cli import completions


def test_kinds_phases_and_forms_are_offered():
    """B11: from the tables that the commands themselves read."""
    assert completions.complete_kinds("orchestrationr") == ["orchestrationruns"]
    assert {"runs", "agents", "toolruns", "pods"} <= set(completions.complete_kinds(""))
    assert completions.complete_phases("su") == ["Succeeded"]
    assert completions.complete_forms("js") == ["json", "jsonpath="]


@pytest.mark.parametrize(
    "complete",
    [
        completions.complete_runs,
        completions.complete_steps,
        completions.complete_step_paths,
        completions.complete_names,
        completions.complete_namespaces,
    ],
)
def test_nothing_is_offered_without_an_api(complete, tmp_path, capfd):
    """B11: no error, no output, no wait."""
    command = typer.main.get_command(typer.Typer(callback=lambda: None, invoke_without_command=True))
    context = typer.Context(command)
    context.params = {"data_dir": tmp_path, "run": "nightly", "kind": "tools"}
    began = time.monotonic()
    assert complete(context, "") == []
    assert time.monotonic() - began < 30
    assert capfd.readouterr() == ("", "")
