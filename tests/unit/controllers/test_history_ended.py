"""From objects that ended to rows, and what waits to be stored."""

from datetime import timedelta

import pytest

from jangar.controllers.history.ended import ended, written_at
from jangar.controllers.history.waiting import Ledger
from kubekit.cache.object_cache import Cached, Change
from support.builders import NOON

TIME = "2026-01-02T03:04:05.678Z"


def an_object(*, phase="Succeeded", version="7", updated=TIME, **status):
    return Cached.of(
        {
            "metadata": {
                "name": "build",
                "namespace": "ci",
                "uid": "u1",
                "resourceVersion": version,
                "creationTimestamp": "2026-01-02T03:00:00Z",
                "labels": {"jangar.proompteng.ai/step": "build", "jangar.proompteng.ai/attempt": "2"},
                "ownerReferences": [
                    {"uid": "r1", "kind": "OrchestrationRun", "name": "run", "controller": True}
                ],
            },
            "spec": {"toolRef": {"name": "make"}},
            "status": {"phase": phase, "updatedAt": updated, "finishedAt": TIME, **status},
        }
    )


def changed(old, new):
    return Change("changed" if old else "added", old, new)


@pytest.mark.rule("GC-6")
def test_a_row_has_what_the_status_says():
    """Outcome, outputs, owner, times and where the log was."""
    seen = an_object(
        outcome={"exitCode": 3},
        outputs={"a": "b"},
        job={"name": "build-1"},
        reason="NonZeroExit",
        phase="Failed",
    )
    found = ended("ToolRun", seen, root_uid="top", log_tail="x")
    row = found.run
    assert (row.uid, row.kind, row.phase, row.reason, row.exit_code) == (
        "u1",
        "ToolRun",
        "Failed",
        "NonZeroExit",
        3,
    )
    assert (row.owner_uid, row.root_uid, row.step, row.attempt, row.definition) == (
        "r1",
        "top",
        "build",
        2,
        "make",
    )
    assert (row.version, row.outputs, row.log_location) == (7, {"a": "b"}, "job/build-1")
    assert row.finished_at - row.created_at == timedelta(minutes=4, seconds=5.678)
    assert found.log_tail == "x"


def test_steps_of_a_big_run_come_from_its_pages():
    """The status has not all of them."""
    document = {"name": "a", "kind": "ToolRun", "phase": "Skipped", "resourceRef": {"name": "c", "uid": "u"}}
    inline = ended("OrchestrationRun", an_object(stepStatuses=[document]), root_uid="u1")
    paged = ended("OrchestrationRun", an_object(stepStatuses=[document]), root_uid="u1", steps=[document] * 3)
    assert [step.child_uid for step in inline.steps] == ["u"]
    assert [step.position for step in paged.steps] == [0, 1, 2]


@pytest.mark.parametrize("phase", ["Pending", "Running", "Cancelling", None])
def test_what_has_not_ended_is_not_stored(phase):
    """But it is pending: a deletion that ends it must wait for its row."""
    ledger, seen = Ledger(), an_object(phase=phase)
    ledger.heard("ToolRun", changed(None, seen), 0.0)
    assert written_at(seen) is None
    assert ledger.waiting == {}
    assert ledger.is_pending(seen)


@pytest.mark.rule("GC-6")
def test_an_end_waits_until_it_is_stored_and_once_only():
    """Another write of the object that says nothing new is no news."""
    ledger, seen = Ledger(), an_object()
    ledger.heard("ToolRun", changed(None, seen), 1.0)
    (entry,) = ledger.ready(1.0, lambda _: True)
    assert entry.may_be_known
    ledger.done(entry)
    ledger.heard("ToolRun", changed(seen, an_object(version="8")), 2.0)
    assert ledger.waiting == {}
    assert not ledger.is_pending(seen)


def test_a_newer_end_that_comes_while_the_older_is_stored_waits_on():
    """A condition that was added after the end is stored, too."""
    ledger, seen = Ledger(), an_object()
    ledger.heard("ToolRun", changed(None, seen), 1.0)
    (entry,) = ledger.ready(1.0, lambda _: True)
    newer = an_object(version="9", updated="2026-01-02T03:04:06Z")
    ledger.heard("ToolRun", changed(seen, newer), 2.0)
    ledger.done(entry)
    assert ledger.is_pending(newer)
    assert [item.seen for item in ledger.ready(3.0, lambda _: True)] == [newer]


@pytest.mark.rule("GC-9")
def test_what_is_gone_before_it_was_stored_is_stored_from_memory():
    """And told of."""
    ledger, seen = Ledger(), an_object()
    ledger.heard("ToolRun", changed(None, seen), 1.0)
    lost = ledger.heard("ToolRun", Change("deleted", seen, None), 2.0)
    assert lost is not None
    assert [item.is_gone for item in ledger.ready(3.0, lambda item: item.is_gone)] == [True]
    ledger.done(lost)
    assert (ledger.waiting, ledger.stored) == ({}, {})


def test_what_another_process_looks_after_is_left_to_it():
    """It is seen again when that changes."""
    ledger = Ledger()
    ledger.heard("ToolRun", changed(None, an_object()), 1.0)
    assert list(ledger.ready(1.0, lambda _: False)) == []
    assert ledger.waiting == {}


def test_an_older_status_without_an_update_time_still_has_an_end():
    """Of the existing system."""
    seen = an_object(updated=None)
    assert written_at(seen) == TIME
    assert ended("ToolRun", seen, root_uid="u1").run.updated_at < NOON.replace(year=2100)
