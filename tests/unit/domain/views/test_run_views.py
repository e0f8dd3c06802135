"""What every face shows of a run: the row, the detail, the graph and the timeline."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jangar.api.phases import ExecutionMode, Phase, StepKind, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Cancel, LeftBehind
from jangar.domain.orchestration.explain import RunView
from jangar.domain.orchestration.state import Attempt, RunRecord
from jangar.domain.status_contract import Lifecycle
from jangar.domain.views.run_detail import run_detail
from jangar.domain.views.run_graph import Edge, Node, layers, run_graph
from jangar.domain.views.run_row import RunIdentity, elapsed, run_row
from jangar.domain.views.run_timeline import Bar, run_timeline
from support.builders import NOON, a_definition, a_step, at

IDENTITY = RunIdentity(namespace="agents", name="nightly", uid="u", created_at=NOON, orchestration="build")
DIAMOND = a_definition(a_step("a"), a_step("b", "a"), a_step("c", "a"), a_step("d", "b", "c"))


def a_record(**states):
    steps = tuple(replace(fresh, **states.get(fresh.name, {})) for fresh in DIAMOND.fresh)
    lifecycle = Lifecycle(phase=Phase.RUNNING, reason="Running", message="m", started_at=at(1))
    return RunRecord(lifecycle=lifecycle, steps=steps, mode=ExecutionMode.GRAPH)


def test_a_row_says_how_far_a_run_is():
    """Ended steps of all, and how long it has taken so far."""
    record = a_record(a={"phase": StepPhase.SUCCEEDED}, b={"phase": StepPhase.SKIPPED})
    row = run_row(IDENTITY, record, now=at(11))
    assert (row.namespace, row.name, row.uid, row.orchestration) == ("agents", "nightly", "u", "build")
    assert (row.phase, row.reason, row.message, row.steps) == (Phase.RUNNING, "Running", "m", "2/4")
    assert (row.created_at, row.started_at, row.finished_at) == (NOON, at(1), None)
    assert row.duration == timedelta(seconds=10)


def test_a_run_that_no_one_looked_at_is_pending():
    """A row never lacks a phase."""
    row = run_row(IDENTITY, RunRecord(), now=at(5))
    assert (row.phase, row.reason, row.message, row.steps, row.duration) == (
        Phase.PENDING,
        "",
        "",
        "0/0",
        None,
    )


@pytest.mark.parametrize(
    ("started", "finished", "expected"),
    [
        pytest.param(None, None, None, id="not-started"),
        pytest.param(at(1), None, timedelta(seconds=9), id="still-going"),
        pytest.param(at(1), at(4), timedelta(seconds=3), id="ended"),
        pytest.param(at(20), None, timedelta(0), id="clock-went-back"),
    ],
)
def test_time_taken_is_never_negative(started, finished, expected):
    """To the end, or to now."""
    assert elapsed(started, finished, now=at(10)) == expected


def test_the_detail_explains_every_step():
    """Steps in list order, each with its dependencies and the words that explain it."""
    record = a_record(
        a={
            "phase": StepPhase.SUCCEEDED,
            "reason": Reason.SUCCEEDED,
            "attempt": 1,
            "started_at": at(1),
            "finished_at": at(3),
            "outputs": {"x": "1"},
            "exit_code": 0,
            "child": "child-a",
        }
    )
    detail = run_detail(IDENTITY, RunView(definition=DIAMOND, record=record), now=at(9))
    assert detail.row == run_row(IDENTITY, record, now=at(9))
    assert (detail.mode, detail.counts["pending"], detail.counts["succeeded"]) == (ExecutionMode.GRAPH, 3, 1)
    first, *_, last = detail.steps
    assert (first.name, first.kind, first.phase, first.sentence) == (
        "a",
        StepKind.TOOL_RUN,
        StepPhase.SUCCEEDED,
        "succeeded",
    )
    assert (first.outputs, first.exit_code, first.duration, first.child) == (
        {"x": "1"},
        0,
        timedelta(seconds=2),
        "child-a",
    )
    assert (last.name, last.depends_on, last.reason) == ("d", ("b", "c"), Reason.WAITING_FOR_DEPENDENCIES)
    assert last.sentence == "waits for b (Pending), c (Pending)"
    assert (last.outputs, last.attempts, last.causes, last.failure_ignored) == ({}, (), (), False)


def test_the_detail_of_a_cancelled_run_says_what_is_left():
    """The request's time, and what may still run."""
    left = (LeftBehind(kind="ToolRun", name="x"),)
    record = replace(
        a_record(), cancel=Cancel(requested_at=at(5), deadline=at(65)), left_behind=left, outputs={"r": "1"}
    )
    detail = run_detail(IDENTITY, RunView(definition=DIAMOND, record=record), now=at(9))
    assert (detail.cancel_requested_at, detail.left_behind, detail.outputs) == (at(5), left, {"r": "1"})
    assert detail.conditions == ()
    empty = run_detail(IDENTITY, RunView(definition=DIAMOND, record=RunRecord()), now=at(9))
    assert (empty.cancel_requested_at, empty.outputs, empty.mode) == (None, {}, ExecutionMode.GRAPH)


def test_the_graph_has_a_layer_for_each_depth():
    """A step stands one layer below the deepest of its needs."""
    graph = run_graph(DIAMOND, a_record(b={"phase": StepPhase.RUNNING}).steps)
    assert graph.nodes == (
        Node(name="a", kind=StepKind.TOOL_RUN, phase=StepPhase.PENDING, layer=0),
        Node(name="b", kind=StepKind.TOOL_RUN, phase=StepPhase.RUNNING, layer=1),
        Node(name="c", kind=StepKind.TOOL_RUN, phase=StepPhase.PENDING, layer=1),
        Node(name="d", kind=StepKind.TOOL_RUN, phase=StepPhase.PENDING, layer=2),
    )
    assert graph.edges == (
        Edge(source="a", target="b"),
        Edge(source="a", target="c"),
        Edge(source="b", target="d"),
        Edge(source="c", target="d"),
    )


def test_the_graph_of_a_definition_needs_no_run():
    """Every step is Pending, whatever order the list has."""
    backwards = a_definition(a_step("z", "y"), a_step("y", "x"), a_step("x"))
    assert layers(backwards.graph) == [2, 1, 0]
    assert {node.phase for node in run_graph(backwards).nodes} == {StepPhase.PENDING}


def test_the_timeline_has_a_bar_for_each_attempt():
    """Ended attempts, and the current one without an end; in the order in which they began."""
    ended = Attempt(
        attempt=1, phase=StepPhase.FAILED, reason="JobFailed", started_at=at(2), finished_at=at(4)
    )
    record = a_record(
        a={"phase": StepPhase.RUNNING, "reason": "Running", "attempt": 2, "attempt_started_at": at(6)}
        | {"attempts": (ended,)},
        b={"phase": StepPhase.SUCCEEDED, "reason": "Succeeded", "attempt": 1, "attempt_started_at": at(5)}
        | {"finished_at": at(9)},
    )
    timeline = run_timeline(record)
    assert (timeline.started_at, timeline.finished_at) == (at(1), None)
    assert timeline.bars == (
        Bar(
            step="a",
            attempt=1,
            phase=StepPhase.FAILED,
            reason="JobFailed",
            started_at=at(2),
            finished_at=at(4),
        ),
        Bar(
            step="b",
            attempt=1,
            phase=StepPhase.SUCCEEDED,
            reason="Succeeded",
            started_at=at(5),
            finished_at=at(9),
        ),
        Bar(
            step="a", attempt=2, phase=StepPhase.RUNNING, reason="Running", started_at=at(6), finished_at=None
        ),
    )


def test_a_step_that_waits_to_retry_has_no_current_bar():
    """Its last attempt is among the ended ones."""
    ended = Attempt(
        attempt=1, phase=StepPhase.FAILED, reason="JobFailed", started_at=at(2), finished_at=at(4)
    )
    unknown = Attempt(attempt=1, phase=StepPhase.FAILED, reason="JobFailed")
    retrying = {"phase": StepPhase.RETRYING, "attempt": 1, "attempt_started_at": at(2)}
    record = a_record(a=retrying | {"attempts": (ended,)}, b=retrying | {"attempts": (unknown,)})
    assert [(bar.step, bar.attempt) for bar in run_timeline(record).bars] == [("a", 1)]
