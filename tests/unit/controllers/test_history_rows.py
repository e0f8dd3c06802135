"""From objects that ended to rows, and what waits to be stored."""

from datetime import timedelta

import pytest

from jangar.api.tools import TOOL_RUN
from jangar.controllers.history.pending import FollowedKind, PendingObjects
from jangar.controllers.history.rows import end_written_at, ended
from jangar.controllers.resources import resource_of
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached, Change
from kubekit.client.api_client import Client
from support.answering_transport import AnsweringTransport
from support.builders import NOON


def followed(*, may_act=True):
    informer = Informer(
        Client(AnsweringTransport(), manager="test"), resource_of(TOOL_RUN), namespaces=Namespaces.every()
    )
    return PendingObjects(kinds={"ToolRun": FollowedKind(informer, lambda _: None, lambda _: may_act)})


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
    cached = an_object(
        outcome={"exitCode": 3},
        outputs={"a": "b"},
        job={"name": "build-1"},
        reason="NonZeroExit",
        phase="Failed",
    )
    found = ended("ToolRun", cached, root_uid="top", log_tail="x")
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
    objects, cached = followed(), an_object(phase=phase)
    objects.update("ToolRun", changed(None, cached), 0.0)
    assert end_written_at(cached) is None
    assert objects.pending == {}
    assert objects.is_pending(cached)


@pytest.mark.rule("GC-6")
def test_an_end_waits_until_it_is_stored_and_once_only():
    """Another write of the object that does not change its row is not stored again."""
    objects, cached = followed(), an_object()
    objects.update("ToolRun", changed(None, cached), 1.0)
    (entry,) = objects.ready(1.0)
    assert entry.may_be_stored
    objects.mark_stored(entry)
    objects.update("ToolRun", changed(cached, an_object(version="8")), 2.0)
    assert objects.pending == {}
    assert not objects.is_pending(cached)


def test_a_newer_end_that_comes_while_the_older_is_stored_waits_on():
    """A condition that was added after the end is stored, too."""
    objects, cached = followed(), an_object()
    objects.update("ToolRun", changed(None, cached), 1.0)
    (entry,) = objects.ready(1.0)
    newer = an_object(version="9", updated="2026-01-02T03:04:06Z")
    objects.update("ToolRun", changed(cached, newer), 2.0)
    objects.mark_stored(entry)
    assert objects.is_pending(newer)
    assert [item.cached for item in objects.ready(3.0)] == [newer]


@pytest.mark.rule("GC-9")
def test_what_is_gone_before_it_was_stored_is_stored_from_memory():
    """And the loss is reported."""
    objects, cached = followed(), an_object()
    objects.update("ToolRun", changed(None, cached), 1.0)
    lost = objects.update("ToolRun", Change("deleted", cached, None), 2.0)
    assert lost is not None
    assert [item.is_deleted for item in objects.ready(3.0)] == [True]
    objects.mark_stored(lost)
    assert objects.pending == {}
    assert objects.is_pending(cached)


def test_what_another_process_looks_after_is_left_to_it():
    """It is cached again when that changes."""
    objects = followed(may_act=False)
    objects.update("ToolRun", changed(None, an_object()), 1.0)
    assert list(objects.ready(1.0)) == []
    assert objects.pending == {}


def test_an_older_status_without_an_update_time_still_has_an_end():
    """As the legacy controllers wrote it."""
    cached = an_object(updated=None)
    assert end_written_at(cached) == TIME
    assert ended("ToolRun", cached, root_uid="u1").run.updated_at < NOON.replace(year=2100)
