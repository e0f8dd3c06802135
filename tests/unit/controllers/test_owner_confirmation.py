"""Whether a run's record says that it started a child: what a child asks before each Job (E1, E11)."""

import pytest

from jangar.api.phases import StepKind
from jangar.controllers.job_execution.observe import confirmation
from jangar.controllers.orchestrationrun.children import hash_of
from jangar.controllers.resources import ATTEMPT, RUN_UID, STEP
from jangar.domain.job_execution.observation import Owner
from kubekit.cache.object_cache import Cached


def a_child(uid="u1", name="run-a-1", step="a", attempt="1", **spec):
    meta = {"name": name, "namespace": "ci", "uid": uid, "resourceVersion": "1"}
    meta["labels"] = {RUN_UID: "r1", STEP: step, ATTEMPT: attempt}
    return Cached.of({"metadata": meta, "spec": {"toolRef": {"name": "t"}, **spec}})


HASH = hash_of(a_child().view, StepKind.TOOL_RUN)


def recorded(phase="Pending", attempt=1, **reference):
    child = {"name": "run-a-1", "hash": HASH} | reference
    return [
        {"name": "z", "kind": "ToolRun"},
        {"name": "a", "kind": "ToolRun", "phase": phase, "attempt": attempt, "resourceRef": child},
    ]


UNSTARTED = [{"name": "a", "kind": "ToolRun", "phase": "Pending"}]
SKIPPED = [{"name": "a", "kind": "ToolRun", "phase": "Skipped"}]


@pytest.mark.parametrize(
    ("steps", "child", "expected"),
    [
        pytest.param(recorded(), a_child(), Owner.ACTIVE, id="intended"),
        pytest.param(recorded(uid="u1"), a_child(), Owner.ACTIVE, id="seen"),
        pytest.param(recorded(hash=None), a_child(), Owner.ACTIVE, id="by an earlier version"),
        pytest.param(recorded(uid="u2"), a_child(), Owner.NOT_CONFIRMED, id="another uid"),
        pytest.param(recorded(), a_child(timeoutSeconds=9), Owner.NOT_CONFIRMED, id="another spec"),
        pytest.param(recorded(uid="u1"), a_child(timeoutSeconds=9), Owner.NOT_CONFIRMED, id="changed spec"),
        pytest.param(recorded(), a_child(cancel=True, suspend=True), Owner.ACTIVE, id="steered"),
        pytest.param(recorded(), a_child(name="other"), Owner.NOT_CONFIRMED, id="another name"),
        pytest.param(recorded(), a_child(step="b"), Owner.NOT_CONFIRMED, id="no such step"),
        pytest.param(recorded(), a_child(name="x", attempt="one"), Owner.NOT_CONFIRMED, id="no attempt"),
        pytest.param(recorded(attempt=2, name="n"), a_child(), Owner.NOT_CONFIRMED, id="an attempt before"),
        pytest.param([], a_child(), Owner.NOT_RECORDED_YET, id="nothing recorded"),
        pytest.param(UNSTARTED, a_child(), Owner.NOT_RECORDED_YET, id="its step may still start"),
        pytest.param(
            UNSTARTED,
            a_child(name="x", attempt="2"),
            Owner.NOT_CONFIRMED,
            id="its step may start with another",
        ),
        pytest.param(SKIPPED, a_child(), Owner.NOT_CONFIRMED, id="its step never starts"),
    ],
)
def test_a_child_is_started_only_by_the_record_of_its_run(steps, child, expected):
    """E1, E11: name, uid where it is known, and the hash of what the pinned step makes."""
    assert confirmation(steps, child) is expected
