"""When a CronJob makes a job, and which jobs it keeps."""

from datetime import UTC, datetime, timedelta

import pytest

from kubekit.times import rfc3339_seconds
from picokube.nodeagent.cron_jobs import SCHEDULED_AT, BadSchedule, due_times, plan_cron_job

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)


def a_cron(*, created=NOON - timedelta(minutes=1), last=None, active=(), **spec):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {}}}}
    status = {"lastScheduleTime": rfc3339_seconds(last)} if last else {}
    if active:
        status["active"] = [
            {"name": item["metadata"]["name"], "uid": item["metadata"]["uid"]} for item in active
        ]
    return {
        "metadata": {
            "name": "nightly",
            "namespace": "default",
            "uid": "cron-uid",
            "creationTimestamp": rfc3339_seconds(created),
        },
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": template, "concurrencyPolicy": "Allow", **spec},
        "status": status,
    }


def a_job(name, ended=None, at=NOON):
    status = {"startTime": rfc3339_seconds(at)}
    if ended:
        status["conditions"] = [{"type": ended, "status": "True"}]
        if ended == "Complete":
            status["completionTime"] = rfc3339_seconds(at)
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {},
        "status": status,
    }


def names(objects):
    return [item["metadata"]["name"] for item in objects]


def test_a_job_is_made_when_it_is_due():
    """Its name says for when; its owner is the CronJob; the next look is at the next time."""
    plan = plan_cron_job(a_cron(), [], now=NOON + timedelta(seconds=3))
    assert plan.create["metadata"]["name"] == f"nightly-{int(NOON.timestamp()) // 60}"
    assert plan.create["metadata"]["annotations"][SCHEDULED_AT] == rfc3339_seconds(NOON)
    assert plan.create["metadata"]["ownerReferences"][0]["uid"] == "cron-uid"
    assert plan.status["lastScheduleTime"] == rfc3339_seconds(NOON)
    assert plan.requeue_at == NOON + timedelta(minutes=5)


def test_a_time_is_used_once():
    plan = plan_cron_job(a_cron(last=NOON), [], now=NOON + timedelta(minutes=4))
    assert (plan.create, plan.status) == (None, None)


def test_after_an_absence_only_the_last_time_counts():
    plan = plan_cron_job(a_cron(last=NOON - timedelta(hours=2)), [], now=NOON + timedelta(seconds=1))
    assert plan.create["metadata"]["annotations"][SCHEDULED_AT] == rfc3339_seconds(NOON)


def test_after_a_long_absence_the_last_time_is_found_and_the_gap_is_reported():
    plan = plan_cron_job(a_cron(last=NOON - timedelta(days=200)), [], now=NOON + timedelta(seconds=1))
    assert plan.create["metadata"]["annotations"][SCHEDULED_AT] == rfc3339_seconds(NOON)
    assert [reason for reason, _ in plan.events] == ["TooManyMissedTimes"]


def test_a_time_past_the_deadline_is_missed():
    cron = a_cron(created=NOON - timedelta(hours=1), startingDeadlineSeconds=60)
    assert plan_cron_job(cron, [], now=NOON + timedelta(seconds=59)).create is not None
    assert plan_cron_job(cron, [], now=NOON + timedelta(seconds=61)).create is None


def test_a_suspended_cron_job_makes_none():
    assert plan_cron_job(a_cron(suspend=True), [], now=NOON).create is None


@pytest.mark.parametrize(
    ("policy", "created", "deleted"),
    [("Allow", True, []), ("Forbid", False, []), ("Replace", True, ["running"])],
)
def test_a_job_that_still_runs_is_treated_as_the_policy_says(policy, created, deleted):
    running = a_job("running")
    plan = plan_cron_job(a_cron(concurrencyPolicy=policy, active=[running]), [running], now=NOON)
    assert (plan.create is not None, names(plan.delete)) == (created, deleted)


def test_finished_jobs_beyond_the_limits_are_deleted_oldest_first():
    jobs = [a_job(f"ok-{n}", "Complete", NOON + timedelta(minutes=n)) for n in range(5)]
    jobs += [a_job(f"bad-{n}", "Failed", NOON + timedelta(minutes=n)) for n in range(3)]
    plan = plan_cron_job(a_cron(suspend=True), jobs, now=NOON)
    assert names(plan.delete) == ["ok-0", "ok-1", "bad-0", "bad-1"]
    assert plan.status["lastSuccessfulTime"] == rfc3339_seconds(NOON + timedelta(minutes=4))


def test_schedules_are_read_in_their_zone():
    """Noon in Tokyo is three in the morning in UTC."""
    found = due_times("0 12 * * *", "Asia/Tokyo", after=NOON, now=NOON)
    assert found.next == datetime(2026, 2, 8, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@hourly", NOON + timedelta(hours=1)),
        ("@daily", datetime(2026, 2, 8, tzinfo=UTC)),
        ("@every 90s", NOON + timedelta(seconds=90)),
        ("0 12 ? * *", NOON + timedelta(days=1)),
        ("TZ=Asia/Tokyo 0 12 * * *", datetime(2026, 2, 8, 3, tzinfo=UTC)),
    ],
)
def test_schedules_are_read_as_kubernetes_reads_them(text, expected):
    assert due_times(text, None, after=NOON, now=NOON).next == expected


def test_a_schedule_that_cannot_be_read_is_reported():
    with pytest.raises(BadSchedule):
        due_times("every day", None, after=NOON, now=NOON)
    assert plan_cron_job(a_cron(schedule="bad"), [], now=NOON).events[0][0] == "InvalidSchedule"
