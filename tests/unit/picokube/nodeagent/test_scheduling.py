"""Which pods are bound, how many, and what is swept away behind them."""

import pytest

from kubekit.cache.object_cache import Cached, Change
from picokube.nodeagent.node import Slots, is_schedulable, unschedulable_reason

LABELS = {"kubernetes.io/os": "linux"}


def a_pod(name="p", *, node="", phase="Pending", deleted=False, **spec):
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    if deleted:
        meta["deletionTimestamp"] = "2026-02-07T12:00:00Z"
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}


def change(kind, pod):
    cached = Cached.of(pod)
    return Change(kind, None if kind == "added" else cached, None if kind == "deleted" else cached)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(a_pod(), True, id="waits"),
        pytest.param(a_pod(node="laptop"), False, id="bound"),
        pytest.param(a_pod(deleted=True), False, id="leaving"),
        pytest.param(a_pod(schedulerName="mine"), False, id="of-another-scheduler"),
        pytest.param(a_pod(schedulingGates=[{"name": "g"}]), False, id="gated"),
    ],
)
def test_pods_that_wait_for_a_node_are_ours(pod, expected):
    assert is_schedulable(pod) is expected


def test_a_pod_is_reported_why_it_waits():
    assert unschedulable_reason(a_pod(), LABELS, free=1, max_pods=2) == ""
    assert "--max-pods" in unschedulable_reason(a_pod(), LABELS, free=0, max_pods=2)
    assert "node affinity/selector" in unschedulable_reason(
        a_pod(nodeSelector={"a": "b"}), LABELS, free=1, max_pods=2
    )
    assert unschedulable_reason(a_pod(nodeSelector=LABELS), LABELS, free=1, max_pods=2) == ""


def test_room_is_taken_until_a_pod_has_ended():
    """By pods of this node only; reserved slots count; the end of a pod frees a slot."""
    slots = Slots("laptop", 2)
    assert not slots.observe(change("added", a_pod("a", node="laptop")))
    assert not slots.observe(change("added", a_pod("b", node="elsewhere")))
    assert slots.free == 1
    assert slots.reserve()
    assert not slots.reserve()
    slots.release()
    assert slots.observe(change("changed", a_pod("a", node="laptop", phase="Succeeded")))
    assert not slots.observe(change("deleted", a_pod("a", node="laptop", phase="Succeeded")))
    assert slots.free == 2
