"""Jobs and CronJobs: defaults, selectors, immutable fields."""

from contract.kubernetes_api.objects import CONTAINER, CRON_JOBS, JOBS, cron_job, job
from contract.kubernetes_api.session import STRATEGIC, Session

INNER = {"containers": [CONTAINER], "restartPolicy": "Never"}


def _refused(s: Session, **spec) -> None:
    s.post(f"{JOBS}?dryRun=All", job("a", **spec))


def a_job_is_filled_with_defaults(s: Session):
    s.post(JOBS, job("a"))
    s.get(f"{JOBS}/a")


def a_job_selects_its_pods_by_its_uid(s: Session):
    s.post(
        JOBS,
        job("a", labels={"mine": "yes"}),
        select=lambda b: [b["metadata"]["labels"], b["spec"]["selector"], b["spec"]["template"]["metadata"]],
    )
    body = job("b")
    body["spec"]["template"]["metadata"] = {"labels": {"own": "label"}}
    s.post(
        JOBS,
        body,
        select=lambda b: [
            b["metadata"].get("labels"),
            b["spec"]["selector"],
            b["spec"]["template"]["metadata"],
        ],
    )


def parallelism_and_completions_default_together(s: Session):
    def pick(body):
        return [
            body["spec"].get(name)
            for name in ("parallelism", "completions", "completionMode", "backoffLimit")
        ]

    s.post(JOBS, job("a", parallelism=3), select=pick)
    s.post(JOBS, job("b", completions=3), select=pick)
    s.post(JOBS, job("c", completions=3, completionMode="Indexed"), select=pick)
    s.post(JOBS, job("d", completions=4, completionMode="Indexed", backoffLimitPerIndex=1), select=pick)


def the_restart_policy_is_never_or_on_failure(s: Session):
    _refused(s, template={"containers": [CONTAINER]})
    _refused(s, template={**INNER, "restartPolicy": "Always"})
    _refused(s, template={**INNER, "restartPolicy": "Sometimes"})


def the_template_is_checked_like_a_pod(s: Session):
    _refused(s, template={"restartPolicy": "Never"})
    _refused(s, template={**INNER, "containers": [{"name": "Bad_Name", "image": "x"}]})
    _refused(s, template={**INNER, "containers": [{"name": "main"}]})


def numbers_are_not_negative(s: Session):
    for field in (
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ):
        _refused(s, **{field: -1})
    _refused(s, activeDeadlineSeconds=0)


def indexed_jobs_have_their_own_limits(s: Session):
    _refused(s, completionMode="Indexed")
    _refused(s, completionMode="Sideways")
    _refused(s, completions=200000, completionMode="Indexed")
    _refused(s, backoffLimitPerIndex=1)
    _refused(s, maxFailedIndexes=1)


def selectors_are_the_servers(s: Session):
    body = job("a")
    body["spec"]["selector"] = {"matchLabels": {"a": "b"}}
    s.post(JOBS, body)
    body["spec"]["manualSelector"] = True
    s.post(JOBS, body)
    body["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    s.post(JOBS, body)


def the_template_never_changes(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a"))
    s.patch(
        f"{JOBS}/a",
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}},
        STRATEGIC,
        select=_outline,
    )
    s.merge(f"{JOBS}/a", {"spec": {"completions": 5}}, select=_outline)
    s.merge(f"{JOBS}/a", {"spec": {"completionMode": "Indexed"}}, select=_outline)
    s.merge(f"{JOBS}/a", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}, select=_outline)


def _outline(body):
    """Errors for immutable fields print the Go value; only the field and the rule are compared."""
    if body["kind"] != "Status":
        return body
    return [
        body["code"],
        body["reason"],
        body["message"].split(":")[0],
        body["message"].rsplit(":", 1)[-1],
        [[cause["field"], cause["reason"]] for cause in body["details"]["causes"]],
    ]


def some_fields_of_a_job_change(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a"))
    s.merge(f"{JOBS}/a", {"spec": {"parallelism": 2}})
    s.merge(f"{JOBS}/a", {"spec": {"podReplacementPolicy": "Failed"}})
    s.merge(f"{JOBS}/a", {"spec": {"suspend": True}})
    s.merge(
        f"{JOBS}/a",
        {"spec": {"ttlSecondsAfterFinished": 60, "activeDeadlineSeconds": 100, "backoffLimit": 1}},
    )
    s.merge(f"{JOBS}/a", {"metadata": {"finalizers": ["example.com/hold"], "annotations": {"a": "b"}}})


def a_suspended_job_may_change_its_scheduling(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a", suspend=True))
    s.merge(
        f"{JOBS}/a",
        {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
        select=lambda b: b["spec"]["template"]["spec"].get("nodeSelector") if "spec" in b else _outline(b),
    )
    s.merge(
        f"{JOBS}/a",
        {"spec": {"suspend": False}},
        select=lambda b: [b["spec"]["suspend"], b["metadata"]["generation"]],
    )


def the_name_of_a_job_fits_in_a_label(s: Session):
    s.post(JOBS, job("a" * 63))
    s.post(JOBS, job("a" * 64))
    s.post(JOBS, job("has.dots"))


def pod_failure_policy_is_checked(s: Session):
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    s.post(JOBS, job("a", podFailurePolicy={"rules": [rule]}))
    _refused(s, podFailurePolicy={"rules": [{"action": "FailJob"}]})
    _refused(
        s, podFailurePolicy={"rules": [{"action": "Shrug", "onExitCodes": {"operator": "In", "values": [1]}}]}
    )
    _refused(
        s,
        podFailurePolicy={"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0]}}]},
    )
    _refused(s, podFailurePolicy={"rules": [rule]}, template={**INNER, "restartPolicy": "OnFailure"})


def a_cron_job_is_filled_with_defaults(s: Session):
    s.post(CRON_JOBS, cron_job("a"))


def schedules_are_checked(s: Session):
    for schedule in ("", "nonsense", "* * * *", "61 * * * *", "TZ=UTC 0 * * * *", "@every 5m"):
        s.post(CRON_JOBS, cron_job("a", schedule))


def schedules_have_macros_and_names(s: Session):
    def pick(body):
        return body.get("spec", body).get("schedule", body)

    for n, schedule in enumerate(("@hourly", "0 0 * JAN MON-FRI", "0 0 ? * *", "*/5 0-6,20 1 * 7")):
        s.post(CRON_JOBS, cron_job(f"a{n}", schedule), select=pick)


def time_zones_are_checked(s: Session):
    s.post(
        CRON_JOBS,
        cron_job("a", timeZone="Europe/Berlin"),
        select=lambda b: b.get("spec", b).get("timeZone", b),
    )
    for zone in ("Nowhere/Else", "", "Local"):
        s.post(CRON_JOBS, cron_job("b", timeZone=zone))


def cron_job_policies_are_checked(s: Session):
    s.post(CRON_JOBS, cron_job("a", concurrencyPolicy="Sometimes"))
    s.post(CRON_JOBS, cron_job("a", startingDeadlineSeconds=-1))
    s.post(CRON_JOBS, cron_job("a", successfulJobsHistoryLimit=-1))
    s.post(CRON_JOBS, cron_job("a" * 53))
    body = cron_job("a")
    body["spec"]["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    s.post(CRON_JOBS, body)


def a_cron_job_changes_freely(s: Session):
    with s.unrecorded():
        s.post(CRON_JOBS, cron_job("a"))
    s.merge(
        f"{CRON_JOBS}/a",
        {"spec": {"schedule": "@daily", "suspend": True}},
        select=lambda b: [b["metadata"]["generation"], b["spec"]["schedule"]],
    )
    s.merge(
        f"{CRON_JOBS}/a/status",
        {"status": {"lastScheduleTime": "2024-01-01T00:00:00Z"}},
        select=lambda b: [b["metadata"]["generation"], b["status"]],
    )
