"""The tables of step kinds and run kinds, and that nothing else compares kinds."""

import re
from pathlib import Path

import pytest

from jangar.kinds.registry import (
    RUN_KINDS,
    STEP_KINDS,
    adapter_of_child,
    child_kinds,
    creates_child,
    step_adapter,
)

SOURCE = Path(__file__).parents[3] / "src" / "jangar"
STEP_KIND_NAMES = re.compile(r"StepKind\b|[\"']SubOrchestration[\"']")


def test_only_kinds_and_the_api_name_step_kinds():
    """Everything else asks the registry."""
    modules = {
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        if STEP_KIND_NAMES.search(path.read_text())
    }
    assert modules == {"api", "kinds"}


def test_every_step_kind_is_registered_under_its_own_name():
    """A row that is copied keeps no other kind's name."""
    assert all(kind == adapter.name for kind, adapter in STEP_KINDS.items())
    assert all(kind == run.kind.name for kind, run in RUN_KINDS.items())


def test_children_are_runs():
    """What the product's steps create is in the table of run kinds."""
    assert {kind.name for kind in child_kinds()} == set(RUN_KINDS)


@pytest.mark.parametrize("kind", [kind for kind in STEP_KINDS if not creates_child(kind)])
def test_a_step_without_a_child_is_never_started(kind):
    """It has no operations on objects."""
    adapter = step_adapter(kind)
    assert adapter.child_name == kind
    with pytest.raises(AssertionError, match="creates no object"):
        adapter.start(None, None, {})


def test_a_child_whose_step_is_not_known_is_read_by_its_kind():
    """A user may have changed its label."""
    assert adapter_of_child("OrchestrationRun") is step_adapter("SubOrchestration")
    assert adapter_of_child("Question").child is not None
    assert adapter_of_child(None).child is not None


def test_a_run_waits_for_what_its_kind_names():
    """A retry waits for the retried run, a ToolRun for its Tool, an AgentRun for nothing."""
    run = {"spec": {"orchestrationRef": {"name": "o"}, "retryOf": {"name": "r"}, "toolRef": {"name": "t"}}}
    assert RUN_KINDS["OrchestrationRun"].awaited(run) == [("Orchestration", "o"), ("OrchestrationRun", "r")]
    assert RUN_KINDS["ToolRun"].awaited(run) == [("Tool", "t")]
    assert RUN_KINDS["AgentRun"].awaited(run) == []
    assert RUN_KINDS["OrchestrationRun"].definition_name({"orchestration": {}}) is None
