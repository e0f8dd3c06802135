"""Conditions of definitions: their times, and what is said of a group that is not one's own."""

import pytest

from picokube.apiserver.strategies.crds.status import (
    approval,
    condition,
    emptied,
    emptying,
    mark_deleted,
    with_condition,
)

NOW, LATER = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"


def test_a_condition_keeps_its_place_and_the_time_of_its_last_turn():
    status = with_condition({}, condition("A", "True", "First", ""), NOW)
    status = with_condition(status, condition("B", "True", "First", ""), NOW)
    status = with_condition(status, condition("A", "True", "Second", ""), LATER)
    status = with_condition(status, condition("B", "False", "Second", ""), LATER)
    found = [(item["type"], item["reason"], item["lastTransitionTime"]) for item in status["conditions"]]
    assert found == [("A", "Second", NOW), ("B", "Second", LATER)]


@pytest.mark.parametrize(
    ("is_established", "reason"), [(True, "InstanceDeletionCompleted"), (False, "NeverEstablished")]
)
def test_a_deletion_is_pending_then_in_progress_then_done(is_established, reason):
    """The finalizer is there as long as it is not done; those of others stay."""
    status = "True" if is_established else "False"
    established = {"type": "Established", "status": status, "reason": "", "message": ""}
    definition = {"metadata": {"finalizers": ["mine"]}, "status": {"conditions": [established]}}
    mark_deleted(definition, NOW)
    assert definition["metadata"]["deletionTimestamp"] == NOW
    assert definition["metadata"]["finalizers"] == ["mine", "customresourcecleanup.apiextensions.k8s.io"]
    assert definition["status"]["conditions"][1]["reason"] == "InstanceDeletionPending"
    definition["status"] = emptying(definition, LATER)
    assert definition["status"]["conditions"][1]["reason"] == "InstanceDeletionInProgress"
    assert definition["status"]["conditions"][1]["lastTransitionTime"] == NOW
    done = emptied(definition, LATER)
    assert done["metadata"]["finalizers"] == ["mine"]
    assert (done["status"]["conditions"][1]["status"], done["status"]["conditions"][1]["reason"]) == (
        "False",
        reason,
    )


@pytest.mark.parametrize(
    ("group", "annotation", "reason"),
    [
        ("example.com", "", None),
        ("example.k8s.io.com", "", None),
        ("example.k8s.io", "https://example.com/1", "ApprovedAnnotation"),
        ("kubernetes.io", "unapproved", "UnapprovedAnnotation"),
    ],
)
def test_only_a_protected_group_needs_an_approval(group, annotation, reason):
    annotations = {"api-approved.kubernetes.io": annotation}
    found = approval({"metadata": {"annotations": annotations}, "spec": {"group": group}})
    assert (found or {}).get("reason") == reason
