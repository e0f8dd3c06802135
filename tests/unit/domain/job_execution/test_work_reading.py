"""Jobs and pods as the API server serves them, read into facts."""

from datetime import UTC, datetime, timedelta

import pytest

from jangar.domain.job_execution.facts import (
    ContainerFacts,
    JobFacts,
    PodFacts,
    TemplateNames,
    Terminated,
    job_facts,
    pod_facts,
    template_names,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)


@pytest.mark.rule("GC-8")
def test_a_pod_is_read_with_everything_that_counts():
    """GC-8: states of the containers, deletion, eviction, finalizers."""
    pod = {
        "metadata": {
            "name": "build-x",
            "uid": "p1",
            "creationTimestamp": "2026-02-07T12:00:00Z",
            "deletionTimestamp": "2026-02-07T12:00:40Z",
            "deletionGracePeriodSeconds": 30,
            "finalizers": ["batch.kubernetes.io/job-tracking", "jangar.proompteng.ai/outcome"],
        },
        "status": {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "disk is full",
            "conditions": [
                {"type": "Ready", "status": "False"},
                {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-02-07T12:00:09Z"},
            ],
            "initContainerStatuses": [{"name": "fetch", "state": {"terminated": {"exitCode": 0}}}],
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {
                        "terminated": {
                            "exitCode": 137,
                            "reason": "OOMKilled",
                            "startedAt": "2026-02-07T12:00:01Z",
                            "finishedAt": "2026-02-07T12:00:11Z",
                            "message": '{"a": 1}',
                        }
                    },
                },
                {"name": "proxy", "state": {"running": {"startedAt": "2026-02-07T12:00:01Z"}}},
                {"name": "slow", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
            ],
        },
    }
    assert pod_facts(pod) == PodFacts(
        name="build-x",
        uid="p1",
        created_at=NOON,
        phase="Failed",
        reason="Evicted",
        message="disk is full",
        deleting=True,
        deletion_requested_at=NOON + timedelta(seconds=10),
        disrupted=True,
        disrupted_at=NOON + timedelta(seconds=9),
        init_containers=(ContainerFacts(name="fetch", terminated=Terminated(exit_code=0)),),
        containers=(
            ContainerFacts(
                name="main",
                terminated=Terminated(
                    exit_code=137,
                    reason="OOMKilled",
                    started_at=NOON + timedelta(seconds=1),
                    finished_at=NOON + timedelta(seconds=11),
                    message='{"a": 1}',
                ),
            ),
            ContainerFacts(name="proxy", running=True),
            ContainerFacts(name="slow", waiting_reason="ImagePullBackOff"),
        ),
        finalizers=("batch.kubernetes.io/job-tracking", "jangar.proompteng.ai/outcome"),
    )


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({}, PodFacts(name="", uid=""), id="nothing"),
        pytest.param({"metadata": None, "status": None}, PodFacts(name="", uid=""), id="nulls"),
        pytest.param(
            {
                "metadata": {"name": "a", "uid": "u", "creationTimestamp": None},
                "status": {"containerStatuses": None},
            },
            PodFacts(name="a", uid="u"),
            id="nulls-within",
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": "2026-02-07T12:00:00Z"}},
            PodFacts(name="", uid="", deleting=True),
            id="deletion-without-grace",
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": "2026-02-07T12:00:00Z", "deletionGracePeriodSeconds": 0}},
            PodFacts(name="", uid="", deleting=True, deletion_requested_at=NOON, deletion_is_final=True),
            id="deletion-with-no-grace-left",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "noon"}}, PodFacts(name="", uid=""), id="a-time-that-is-none"
        ),
        pytest.param(
            {"status": {"conditions": [{"type": "DisruptionTarget", "status": "False"}]}},
            PodFacts(name="", uid=""),
            id="not-disrupted",
        ),
        pytest.param(
            {"status": {"containerStatuses": [{}, {"state": {"terminated": {}}}]}},
            PodFacts(
                name="",
                uid="",
                containers=(
                    ContainerFacts(name=""),
                    ContainerFacts(name="", terminated=Terminated(exit_code=-1)),
                ),
            ),
            id="an-end-without-a-code-is-no-success",
        ),
    ],
)
@pytest.mark.rule("GC-8")
def test_a_pod_may_lack_anything(pod, expected):
    """GC-8: a pod that was just created has hardly a status."""
    assert pod_facts(pod) == expected


@pytest.mark.rule("GC-3")
def test_a_job_is_read_with_everything_that_counts():
    """GC-3: deletion, suspension and the verdict."""
    job = {
        "metadata": {
            "name": "build",
            "uid": "j1",
            "creationTimestamp": "2026-02-07T12:00:00Z",
            "deletionTimestamp": "2026-02-07T12:00:40Z",
            "finalizers": ["jangar.proompteng.ai/outcome"],
        },
        "spec": {"suspend": True, "ttlSecondsAfterFinished": 0},
        "status": {
            "active": 1,
            "conditions": [
                {"type": "Complete", "status": "False"},
                {
                    "type": "Failed",
                    "status": "True",
                    "reason": "BackoffLimitExceeded",
                    "message": "too many",
                    "lastTransitionTime": "2026-02-07T12:00:05Z",
                },
            ],
        },
    }
    assert job_facts(job) == JobFacts(
        name="build",
        uid="j1",
        created_at=NOON,
        deleting=True,
        suspended=True,
        active=1,
        failed=True,
        verdict_at=NOON + timedelta(seconds=5),
        verdict_reason="BackoffLimitExceeded",
        verdict_message="too many",
        ttl_seconds=0,
        finalizers=("jangar.proompteng.ai/outcome",),
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"conditions": [{"type": "Suspended", "status": "True"}]}, True, id="at-rest"),
        pytest.param(
            {"conditions": [{"type": "Suspended", "status": "True"}], "active": 1}, False, id="active"
        ),
        pytest.param(
            {"conditions": [{"type": "Suspended", "status": "True"}], "terminating": 1},
            False,
            id="terminating",
        ),
        pytest.param({"conditions": [{"type": "Suspended", "status": "False"}]}, False, id="resumed"),
        pytest.param({}, False, id="not-told"),
    ],
)
@pytest.mark.rule("CAN-4")
def test_a_suspended_job_is_at_rest_when_its_controller_says_so(status, expected):
    """CAN-4: spec.suspend is a request, no pod active or terminating is the answer."""
    assert job_facts({"spec": {"suspend": True}, "status": status}).at_rest is expected


@pytest.mark.rule("GC-8")
def test_a_complete_job_and_one_without_anything():
    """GC-8: tolerant of what is missing."""
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-02-07T12:00:00Z"}
    assert job_facts({"status": {"conditions": [complete]}}) == JobFacts(
        name="", uid="", complete=True, verdict_at=NOON
    )
    assert job_facts({}) == JobFacts(name="", uid="")


@pytest.mark.rule("GC-8")
def test_our_containers_are_those_of_our_template():
    """GC-8: an init container that always restarts is a sidecar."""
    template = {
        "spec": {
            "containers": [{"name": "main"}, {"name": "helper"}],
            "initContainers": [{"name": "fetch"}, {"name": "logs", "restartPolicy": "Always"}],
        }
    }
    assert template_names(template) == TemplateNames(
        containers=("main", "helper"), init_containers=("fetch",)
    )
    assert template_names({}) == TemplateNames(containers=())


@pytest.mark.parametrize(
    ("created", "bound", "taken_on", "behind"),
    [
        pytest.param("12:00:00", "12:00:01", "12:00:01", 0, id="no-earlier-than-it-was-bound"),
        pytest.param("12:00:00", "12:00:01", "12:00:30", 0, id="late-proves-nothing"),
        pytest.param("12:00:00", None, "11:59:55", 5, id="before-it-was-there"),
        pytest.param("12:00:00", "12:02:00", "12:00:30", 90, id="before-it-was-bound"),
        pytest.param("12:00:00", "12:00:01", None, 0, id="not-taken-on"),
    ],
)
@pytest.mark.rule("CAN-7")
def test_a_node_that_takes_on_a_pod_before_it_is_there_has_a_clock_that_is_behind(
    created, bound, taken_on, behind
):
    """Creation and binding are the API server's times, the start is the node's."""
    day = "2026-02-07T"
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": f"{day}{bound}Z"}
    status = {"conditions": [scheduled] if bound else [], "startTime": taken_on and f"{day}{taken_on}Z"}
    pod = {"metadata": {"creationTimestamp": f"{day}{created}Z"}, "status": status}
    assert pod_facts(pod).clock_behind == timedelta(seconds=behind)
