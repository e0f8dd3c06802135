"""How long a change may wait until a pass looks at it."""

import pytest

from jangar.controllers.watch_predicates import (
    is_new_child,
    job_wait_state,
    only_status_changed,
    pod_wait_state,
    same_wait_state,
    stop_was_requested,
)
from kubekit.cache.object_cache import Cached, Change

ENDED = {"containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": 0}}}], "phase": "Running"}


def an_object(version=1, *, spec=None, status=None, **metadata):
    meta = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": str(version), **metadata}
    return Cached.of({"metadata": meta, "spec": spec or {}, "status": status or {}})


def a_change(old, new):
    kind = "added" if old is None else "deleted" if new is None else "changed"
    return Change(kind, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(None, an_object(status={"phase": "Pending"}), id="just-made"),
        pytest.param(an_object(finalizers=["a.b/c"]), an_object(2), id="a-finalizer-taken-away"),
        pytest.param(an_object(status=ENDED), an_object(2, status=ENDED, labels={"a": "b"}), id="labels"),
    ],
)
def test_pod_changes_without_news_are_deferred(old, new):
    """Several such changes are one look."""
    assert same_wait_state(pod_wait_state)(a_change(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(an_object(), an_object(2, status=ENDED), id="its-container-ended"),
        pytest.param(an_object(), an_object(2, status={"phase": "Failed"}), id="it-failed"),
        pytest.param(an_object(), an_object(2, deletionTimestamp="2026-01-01T00:00:00Z"), id="being-deleted"),
        pytest.param(an_object(), None, id="gone"),
        pytest.param(None, an_object(status=ENDED), id="made-and-ended-before-it-was-seen"),
    ],
)
@pytest.mark.rule("GC-8")
def test_what_a_child_waits_for_is_looked_at_at_once(old, new):
    """The earliest certain sign is not held back."""
    assert not same_wait_state(pod_wait_state)(a_change(old, new))


def test_a_job_event_depends_on_its_verdict_and_not_on_its_ttl():
    """Its TTL and finalizers are written by the controller that the event would wake."""
    verdict = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert not same_wait_state(job_wait_state)(a_change(an_object(), an_object(2, status=verdict)))
    assert not same_wait_state(job_wait_state)(a_change(an_object(), None))
    assert same_wait_state(job_wait_state)(a_change(None, an_object()))
    assert same_wait_state(job_wait_state)(
        a_change(an_object(), an_object(2, spec={"ttlSecondsAfterFinished": 5}))
    )


@pytest.mark.rule("CAN-2")
@pytest.mark.parametrize("spec", [{"cancel": True}, {"desiredState": "Cancelled"}])
def test_a_request_to_stop_goes_before_all_else_once(spec):
    """When it comes, not with every change after it."""
    assert stop_was_requested(a_change(an_object(), an_object(2, spec=spec)))
    assert stop_was_requested(a_change(None, an_object(spec=spec)))
    assert not stop_was_requested(a_change(an_object(spec=spec), an_object(2, spec=spec)))
    assert not stop_was_requested(a_change(an_object(spec=spec), None))
    assert not stop_was_requested(a_change(None, an_object(spec=spec, status={"phase": "Succeeded"})))


def test_a_status_written_by_a_pass_waits_and_a_changed_spec_does_not():
    """The pass that wrote the status has already taken it into account."""
    assert only_status_changed(a_change(an_object(), an_object(2, status={"phase": "Running"})))
    assert not only_status_changed(a_change(an_object(), an_object(2, spec={"suspend": True})))
    assert not only_status_changed(a_change(None, an_object()))


def test_a_child_that_only_waits_is_no_news_to_its_run():
    """Unless it is being deleted."""
    assert is_new_child(a_change(None, an_object()))
    assert not is_new_child(a_change(an_object(), an_object(2, status={"phase": "Running"})))
    assert not is_new_child(a_change(None, an_object(deletionTimestamp="2026-01-01T00:00:00Z")))
