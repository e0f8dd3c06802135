"""`jangar history` on a history file, with nothing up."""

import asyncio
import json
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from contract.store.history_rows import NOON, ended, step
from jangar.cli.app import app
from jangar.store.database_history import DatabaseHistory
from jangar.store.urls import SqliteFile

ROWS = [
    ended(
        "nightly-1",
        namespace="default",
        definition="nightly",
        started_at=NOON - timedelta(seconds=90),
        outputs={"image": "app:1"},
        steps=[
            step(0, "build", child_uid="uid-child", attempt=1),
            step(1, "test", phase="Failed", reason="NonZeroExit", message="exit code 3"),
        ],
    ),
    ended("nightly-2", at=60, namespace="default", phase="Failed", reason="StepFailed", definition="nightly"),
    ended(
        "child",
        uid="uid-child",
        at=1,
        kind="ToolRun",
        namespace="default",
        owner_uid="uid-nightly-1",
        log_tail="compiling\n" * 30,
    ),
]


@pytest.fixture
def run_history(tmp_path):
    async def fill():
        history = DatabaseHistory(SqliteFile(tmp_path / "history.sqlite"))
        await history.store([*ROWS, ended("other", namespace="prod")])
        await history.close()

    asyncio.run(fill())
    return lambda *words: CliRunner().invoke(app, ["history", "--data-dir", str(tmp_path), *words])


def test_runs_are_listed_the_newest_last(run_history):
    """Those at the top, of one namespace; steps of others on request."""
    lines = run_history().output.splitlines()
    assert lines[0].split() == ["NAME", "KIND", "PHASE", "OF", "DURATION", "ENDED", "REASON"]
    assert [line.split()[0] for line in lines[1:]] == ["nightly-1", "nightly-2"]
    assert [line.split()[0] for line in run_history("--all").output.splitlines()[1:]] == [
        "nightly-1",
        "child",
        "nightly-2",
    ]
    assert "prod" in run_history("-A", "-o", "wide").output


def test_a_list_is_filtered(run_history):
    """By phase and kind, case-insensitively; an unknown value is a usage error."""
    assert run_history("--phase", "failed", "-o", "name").output == (
        "orchestrationrun.orchestration.proompteng.ai/nightly-2\n"
    )
    assert (
        run_history("--all", "--kind", "toolrun", "-o", "name").output
        == "toolrun.tools.proompteng.ai/child\n"
    )
    assert run_history("--since", "1m").output == "no matching runs in the history\n"
    assert run_history("--phase", "Running").exit_code == 2
    assert run_history("--kind", "Pod").exit_code == 2


def test_one_run_is_shown_with_steps_outputs_and_logs(run_history):
    """By name or by uid."""
    shown = run_history("nightly-1").output
    assert "Phase:         Succeeded" in shown
    assert "exit code 3" in shown
    assert "image=app:1" in shown
    assert "... 10 earlier lines" in shown
    assert shown == run_history("uid-nightly-1").output


def test_scripts_get_the_shape_of_the_object(run_history):
    """With steps and tails in its status."""
    found = json.loads(run_history("nightly-1", "-o", "json").output)
    assert found["metadata"]["name"] == "nightly-1"
    assert found["status"]["stepStatuses"][0]["logTail"].startswith("compiling")
    listed = json.loads(run_history("-o", "json").output)
    assert [item["status"]["phase"] for item in listed["items"]] == ["Succeeded", "Failed"]


def test_what_is_not_there_is_reported(run_history, tmp_path):
    """A name that nothing had, and a directory without a history."""
    assert run_history("nothing").exit_code == 4
    ran = CliRunner().invoke(app, ["history", "--data-dir", str(tmp_path / "none")])
    assert (ran.exit_code, "no history database at" in ran.output) == (5, True)


def test_a_database_is_named_by_the_variable_that_has_its_address(run_history, tmp_path):
    """So that its password is not in the list of processes."""
    variable = {"HISTORY_AT": f"sqlite:///{tmp_path}/history.sqlite", "BAD": "mysql://hunter2@h/d"}
    ran = CliRunner().invoke(app, ["history", "--database-env", "HISTORY_AT", "-o", "name"], env=variable)
    assert ran.output.count("nightly") == 2
    bad = CliRunner().invoke(app, ["history", "--database-env", "BAD"], env=variable)
    assert (bad.exit_code, "hunter2" in bad.output) == (2, False)
    assert CliRunner().invoke(app, ["history", "--database-env", "NOT_SET_AT_ALL"]).exit_code == 2
