"""What a job needs next, as kube-controller-manager would decide."""

from datetime import UTC, datetime, timedelta

import pytest

from kubekit.metadata import find_condition, is_condition_true
from kubekit.times import rfc3339_seconds
from picokube.nodeagent.jobs.job_controller import build_pod, pod_names
from picokube.nodeagent.jobs.job_plan import (
    INDEX,
    TRACKING,
    format_indexes,
    parse_indexes,
    plan_job,
    summarize_pod,
)

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
STARTED = rfc3339_seconds(NOON - timedelta(seconds=60))


def a_job(status=None, deleted=False, **spec):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": []}}
    defaults = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template}
    meta = {"name": "work", "namespace": "default", "uid": "job-uid", "resourceVersion": "1"}
    if deleted:
        meta["deletionTimestamp"] = STARTED
    return {"metadata": meta, "spec": {**defaults, **spec}, "status": status or {}}


def a_pod(
    name="p",
    phase="Running",
    *,
    index=None,
    leaving=False,
    tracked=True,
    ended_ago=60,
    restarts=0,
    ready=False,
):
    meta = {"name": name, "uid": f"uid-{name}", "creationTimestamp": STARTED}
    if index is not None:
        meta["annotations"] = {INDEX: str(index)}
    if leaving:
        meta |= {"deletionTimestamp": rfc3339_seconds(NOON), "deletionGracePeriodSeconds": 30}
    if tracked:
        meta["finalizers"] = ["theirs", TRACKING]
    container = {"name": "main", "restartCount": restarts, "state": {"running": {}}}
    if phase in ("Succeeded", "Failed"):
        end = rfc3339_seconds(NOON - timedelta(seconds=ended_ago))
        container["state"] = {"terminated": {"exitCode": 0, "finishedAt": end}}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": phase, "containerStatuses": [container], "conditions": conditions}
    return summarize_pod({"metadata": meta, "status": status})


def plan(job, *pods):
    return plan_job(job, pods, now=NOON)


def test_a_new_job_gets_a_pod_and_a_start():
    """The first pass creates the pod; the start is written with it, and is not urgent."""
    found = plan(a_job())
    assert (found.create, found.delete, found.is_urgent) == (1, [], False)
    assert found.status["startTime"] == rfc3339_seconds(NOON)
    assert found.status["active"] == 1


def test_a_pod_that_succeeds_completes_the_job_in_one_status():
    """Counted, judged and timed at once; the pod is released afterwards."""
    found = plan(a_job(status={"startTime": STARTED}), a_pod(phase="Succeeded"))
    assert found.is_urgent
    assert found.status["succeeded"] == 1
    assert found.status["completionTime"] == rfc3339_seconds(NOON)
    assert is_condition_true(found.status.get("conditions"), "SuccessCriteriaMet")
    assert is_condition_true(found.status.get("conditions"), "Complete")
    assert [pod.name for pod in found.release] == ["p"]
    assert found.create == 0


def test_a_finished_job_only_releases():
    """After a crash between the last status and the release nothing is counted again."""
    status = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    found = plan(a_job(status=status), a_pod(phase="Succeeded"))
    assert (found.status, found.create) == (None, 0)
    assert [pod.name for pod in found.release] == ["p"]


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [pytest.param(0, True, id="at-the-limit"), pytest.param(1, False, id="below-the-limit")],
)
def test_failures_beyond_the_limit_fail_the_job(limit, verdict):
    """One failure more than allowed ends the job with the reason of a cluster."""
    found = plan(a_job(backoffLimit=limit), a_pod(phase="Failed"))
    failed = find_condition(found.status.get("conditions"), "Failed")
    assert (failed is not None) is verdict
    if verdict:
        assert failed["reason"] == "BackoffLimitExceeded"
        assert failed["message"] == "Job has reached the specified backoff limit"
        assert found.status["failed"] == 1


def test_a_failed_pod_is_noted_before_it_is_released_and_counted_after():
    """Noted by uid, released, then counted: a crash at any point counts it once."""
    noted = plan(a_job(status={"startTime": STARTED}), a_pod(phase="Failed"))
    assert noted.status["uncountedTerminatedPods"] == {"failed": ["uid-p"]}
    assert noted.status.get("failed", 0) == 0
    assert [pod.name for pod in noted.release] == ["p"]
    again = plan(a_job(status=noted.status), a_pod(phase="Failed"))
    assert again.status is None
    assert [pod.name for pod in again.release] == ["p"]
    counted = plan(a_job(status=noted.status), a_pod(phase="Failed", tracked=False))
    assert counted.status["failed"] == 1
    assert counted.status["uncountedTerminatedPods"] == {}


@pytest.mark.parametrize(
    ("ended_ago", "create"), [pytest.param(9, 0, id="too-soon"), pytest.param(10, 1, id="after-ten-seconds")]
)
def test_the_next_pod_waits_after_a_failure(ended_ago, create):
    """Ten seconds after the first failure; the plan says when to look again."""
    found = plan(a_job(), a_pod(phase="Failed", ended_ago=ended_ago))
    assert found.create == create
    if not create:
        assert found.requeue_at == NOON + timedelta(seconds=1)


def test_waits_double_with_each_failure():
    pods = [a_pod(f"p{n}", "Failed", ended_ago=30) for n in range(3)]
    assert plan(a_job(), *pods).requeue_at == NOON + timedelta(seconds=10)


def test_a_deadline_fails_the_job_and_its_pod_counts_as_failed():
    """First the target and the deletes, the verdict when no pod is left; the pod keeps its mark until it is counted."""
    job = a_job(status={"startTime": STARTED}, activeDeadlineSeconds=60)
    first = plan(job, a_pod())
    assert ([pod.name for pod in first.delete], first.uncounted_deletes) == (["p"], False)
    assert find_condition(first.status.get("conditions"), "FailureTarget")["reason"] == "DeadlineExceeded"
    assert find_condition(first.status.get("conditions"), "Failed") is None
    second = plan(a_job(status=first.status, activeDeadlineSeconds=60), a_pod(phase="Failed", leaving=True))
    assert find_condition(second.status.get("conditions"), "Failed")["reason"] == "DeadlineExceeded"
    assert second.status["failed"] == 1


def test_a_deadline_to_come_is_looked_at_in_time():
    job = a_job(status={"startTime": STARTED, "active": 1}, activeDeadlineSeconds=90)
    assert plan(job, a_pod()).requeue_at == NOON + timedelta(seconds=30)


def test_suspending_deletes_pods_that_no_one_counts():
    """The pod is released and deleted with its grace; the job is neither complete nor failed."""
    found = plan(a_job(suspend=True, status={"startTime": STARTED, "active": 1}), a_pod())
    assert ([pod.name for pod in found.delete], found.uncounted_deletes) == (["p"], True)
    assert find_condition(found.status.get("conditions"), "Suspended")["reason"] == "JobSuspended"
    assert found.status["terminating"] == 1
    assert "completionTime" not in found.status


def test_a_job_that_is_born_suspended_does_not_start():
    found = plan(a_job(suspend=True))
    assert found.create == 0
    assert "startTime" not in found.status


def test_a_resumed_job_starts_over():
    status = {"conditions": [{"type": "Suspended", "status": "True"}], "startTime": STARTED}
    found = plan(a_job(status=status))
    assert found.create == 1
    assert find_condition(found.status.get("conditions"), "Suspended")["status"] == "False"
    assert found.status["startTime"] == rfc3339_seconds(NOON)


@pytest.mark.parametrize(
    ("policy", "create"),
    [pytest.param("Failed", 0, id="waits-for-the-end"), pytest.param("TerminatingOrFailed", 1, id="at-once")],
)
def test_pods_that_leave_are_replaced_as_the_policy_says(policy, create):
    """One that is being deleted is replaced at once, or only when it has failed."""
    job = a_job(podReplacementPolicy=policy, status={"startTime": STARTED})
    found = plan_job(job, [a_pod(leaving=True)], now=NOON + timedelta(minutes=5))
    assert found.create == create


def test_a_job_is_not_complete_while_a_pod_leaves():
    found = plan(a_job(parallelism=2, completions=1), a_pod(phase="Succeeded"), a_pod("q", leaving=True))
    assert is_condition_true(found.status.get("conditions"), "SuccessCriteriaMet")
    assert not is_condition_true(found.status.get("conditions"), "Complete")


def test_no_more_pods_than_completions_are_left():
    pods = [a_pod("a", "Succeeded"), a_pod("b", "Succeeded"), a_pod("c")]
    assert plan(a_job(completions=4, parallelism=3), *pods).create == 1


def test_too_many_pods_lose_the_least_done():
    """The one that is not ready goes first."""
    found = plan(a_job(completions=3, parallelism=1), a_pod("old", ready=True), a_pod("new", "Pending"))
    assert [pod.name for pod in found.delete] == ["new"]


def test_without_completions_one_success_is_enough_when_the_rest_has_ended():
    job = a_job(parallelism=2, completions=None)
    assert not is_condition_true(
        plan(job, a_pod("a", "Succeeded"), a_pod("b")).status.get("conditions"), "Complete"
    )
    assert is_condition_true(
        plan(job, a_pod("a", "Succeeded"), a_pod("b", "Failed")).status.get("conditions"), "Complete"
    )


@pytest.mark.parametrize(
    ("limit", "restarts", "fails"), [(0, 0, False), (0, 1, True), (2, 1, False), (2, 2, True)]
)
def test_restarts_in_a_pod_count_against_the_limit(limit, restarts, fails):
    job = a_job(backoffLimit=limit, status={"startTime": STARTED})
    job["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    found = plan(job, a_pod(restarts=restarts))
    assert bool(found.delete) is fails


def test_a_deleted_job_lets_its_pods_go_and_stops_nothing():
    """As a cluster does: the owner of the finalizer stops the pod."""
    found = plan(a_job(deleted=True), a_pod())
    assert (found.delete, found.create, found.status) == ((), 0, None)
    assert [pod.name for pod in found.release] == ["p"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex"),
        ({"podFailurePolicy": {"rules": []}}, "spec.podFailurePolicy"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(spec, field):
    failed = find_condition(plan(a_job(**spec)).status.get("conditions"), "Failed")
    assert failed["reason"] == "UnsupportedField"
    assert failed["message"].startswith(field)


def test_nothing_new_is_not_written():
    job = a_job()
    first = plan(job, a_pod()).status
    assert plan_job(a_job(status=first), [a_pod()], now=NOON + timedelta(hours=1)).status is None


def test_pods_of_a_job_have_names_that_a_second_try_finds_again():
    """The same state gives the same names; names that are taken are passed over."""
    names = pod_names(a_job(), ())
    first, second = next(names), next(names)
    assert first != second
    assert next(pod_names(a_job(), {first})) == second
    assert next(pod_names(a_job(status={"failed": 1}), ())) == second


def test_a_pod_carries_its_owner_its_mark_and_the_finalizers_of_the_template():
    job = a_job()
    job["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
    pod = build_pod(job, "work-abcde", node="laptop")
    assert pod["metadata"]["finalizers"] == ["example.com/hold", TRACKING]
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
    assert pod["spec"]["nodeName"] == "laptop"
    assert "nodeName" not in job["spec"]["template"]["spec"]


def an_indexed_job(status=None, **spec):
    return a_job(status, completionMode="Indexed", **{"completions": 4, "parallelism": 2, **spec})


def test_an_indexed_job_works_on_the_lowest_indexes_first():
    assert plan(an_indexed_job()).indexes == (0, 1)
    assert plan(an_indexed_job(), a_pod("a", index=0)).indexes == (1,)
    done = plan(an_indexed_job(), a_pod("a", "Succeeded", index=0), a_pod("b", index=1))
    assert (done.indexes, done.status["completedIndexes"], done.status["succeeded"]) == ((2,), "0", 1)


def test_an_index_that_failed_is_tried_again_and_counts_once():
    job = an_indexed_job(status={"completedIndexes": "0", "succeeded": 1})
    found = plan(job, a_pod("a", "Failed", index=1))
    assert found.indexes == (1, 2)
    twice = plan(job, a_pod("a", "Succeeded", index=0), a_pod("b", "Succeeded", index=2))
    assert (twice.status["completedIndexes"], twice.status["succeeded"]) == ("0,2", 2)


def test_two_pods_of_one_index_are_one_too_many():
    found = plan(an_indexed_job(), a_pod("a", index=0), a_pod("b", index=0))
    assert [pod.name for pod in found.delete] == ["b"]


def test_an_indexed_job_is_complete_with_all_its_indexes():
    job = an_indexed_job(status={"completedIndexes": "0-2", "succeeded": 3, "startTime": STARTED})
    found = plan(job, a_pod("d", "Succeeded", index=3))
    assert is_condition_true(found.status["conditions"], "Complete")
    assert (found.status["completedIndexes"], found.status["succeeded"]) == ("0-3", 4)


@pytest.mark.parametrize(
    ("text", "indexes"), [("", set()), ("3", {3}), ("0-2,5", {0, 1, 2, 5}), ("1-2", {1, 2})]
)
def test_indexes_are_written_as_ranges(text, indexes):
    assert parse_indexes(text) == indexes
    assert format_indexes(indexes) == text


def test_a_pod_of_an_index_knows_its_number():
    job = an_indexed_job()
    job["spec"]["template"]["spec"]["containers"] = [{"name": "main"}]
    name = next(pod_names(job, (), 7))
    pod = build_pod(job, name, index=7)
    assert name.startswith("work-7-")
    assert pod["metadata"]["labels"][INDEX] == pod["metadata"]["annotations"][INDEX] == "7"
    assert pod["spec"]["hostname"] == "work-7"
    assert pod["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
