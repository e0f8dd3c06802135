"""How a piece of work ended, from the earliest certain sign."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Stop
from jangar.domain.job_execution.facts import ContainerFacts, JobFacts, PodFacts, TemplateNames, Terminated
from jangar.domain.job_execution.outcome import (
    NothingCertain,
    Outcome,
    StillRunning,
    duplicate_pods,
    first_pod,
    read_outcome,
    stopped_outcome,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
OURS = TemplateNames(containers=("main", "helper"), init_containers=("fetch",))
MAIN = TemplateNames(containers=("main",), init_containers=("fetch",))


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def ended(name="main", code=0, at=10, reason=None, message=None):
    end = Terminated(
        exit_code=code,
        reason=reason,
        started_at=NOON,
        finished_at=None if at is None else after(at),
        message=message,
    )
    return ContainerFacts(name=name, terminated=end)


def running(name="main"):
    return ContainerFacts(name=name, running=True)


def a_pod(*containers, uid="p1", phase="Running", **facts):
    return PodFacts(name=f"build-{uid}", uid=uid, phase=phase, containers=containers, **facts)


def a_job(**facts):
    return JobFacts(name="build", uid="j1", **facts)


def a_stop(at=10, reason=Reason.CANCELLED):
    return Stop(requested_at=after(at), reason=reason, deadline=after(at + 60))


def read(*pods, template=MAIN, job=None, **facts):
    return read_outcome(template, job=job or a_job(), pods=pods, **facts)


def verdict(found):
    return (found.phase, found.reason, found.exit_code)


SUCCEEDED = (Phase.SUCCEEDED, Reason.SUCCEEDED, 0)
STOPPED = (Phase.CANCELLED, Reason.CANCELLED, 0)


@pytest.mark.parametrize(
    ("template", "pod", "expected"),
    [
        pytest.param(MAIN, a_pod(ended()), SUCCEEDED, id="ended-before-the-pods-phase-says-so"),
        pytest.param(MAIN, a_pod(ended(), phase="Succeeded"), SUCCEEDED, id="and-after"),
        pytest.param(OURS, a_pod(ended(), ended("helper")), SUCCEEDED, id="all-of-ours"),
        pytest.param(
            MAIN, a_pod(ended(), running("istio-proxy")), SUCCEEDED, id="a-sidecar-holds-nothing-back"
        ),
        pytest.param(
            MAIN, a_pod(ended(), ended("istio-proxy", 1)), SUCCEEDED, id="nor-does-it-fail-the-work"
        ),
        pytest.param(
            MAIN,
            a_pod(ended(), ended("istio-proxy", 1), phase="Failed"),
            SUCCEEDED,
            id="even-if-the-pod-failed",
        ),
        pytest.param(
            MAIN, a_pod(ended("main", 3)), (Phase.FAILED, Reason.NON_ZERO_EXIT, 3), id="the-exit-code-decides"
        ),
        pytest.param(
            MAIN,
            a_pod(ended("main", 137, reason="OOMKilled")),
            (Phase.FAILED, Reason.OOM_KILLED, 137),
            id="out-of-memory",
        ),
        pytest.param(
            MAIN,
            a_pod(ended("main", 0, reason="OOMKilled")),
            SUCCEEDED,
            id="a-process-of-it-was-but-it-ended-well",
        ),
        pytest.param(
            OURS,
            a_pod(ended("main", 3, at=9), ended("helper", 4, at=8)),
            (Phase.FAILED, Reason.NON_ZERO_EXIT, 4),
            id="the-first-failure-is-reported",
        ),
        pytest.param(
            OURS,
            a_pod(ended("helper", 4), ended("main", 3)),
            (Phase.FAILED, Reason.NON_ZERO_EXIT, 3),
            id="the-templates-order-breaks-ties",
        ),
        pytest.param(
            MAIN,
            a_pod(ContainerFacts(name="main"), init_containers=(ended("fetch", 2),)),
            (Phase.FAILED, Reason.INIT_FAILED, 2),
            id="an-init-container-of-ours-failed",
        ),
        pytest.param(
            MAIN,
            a_pod(init_containers=(ended("fetch", 137, reason="OOMKilled"),)),
            (Phase.FAILED, Reason.OOM_KILLED, 137),
            id="an-init-container-out-of-memory",
        ),
        pytest.param(
            MAIN,
            a_pod(phase="Succeeded"),
            (Phase.SUCCEEDED, Reason.SUCCEEDED, None),
            id="the-phase-alone-succeeded",
        ),
        pytest.param(
            MAIN, a_pod(phase="Failed"), (Phase.FAILED, Reason.JOB_FAILED, None), id="the-phase-alone-failed"
        ),
        pytest.param(
            OURS,
            a_pod(ended("main", 5), phase="Failed"),
            (Phase.FAILED, Reason.NON_ZERO_EXIT, 5),
            id="a-code-of-one-with-the-phase",
        ),
        pytest.param(
            OURS,
            a_pod(ended("main", 0), phase="Failed"),
            (Phase.FAILED, Reason.JOB_FAILED, 0),
            id="one-good-code-is-no-success-of-two",
        ),
        pytest.param(
            MAIN,
            a_pod(phase="Failed", reason="NodeRebooted"),
            (Phase.FAILED, Reason.NODE_REBOOTED, None),
            id="the-laptop-was-restarted",
        ),
        pytest.param(
            TemplateNames(containers=()),
            a_pod(phase="Succeeded"),
            (Phase.SUCCEEDED, Reason.SUCCEEDED, None),
            id="no-names-known-waits-for-the-phase",
        ),
    ],
)
@pytest.mark.rule("GC-8", "DAG-11")
def test_the_earliest_certain_sign_is_the_outcome(template, pod, expected):
    """GC-8, DAG-11: our containers decide, by their exit codes alone; the pod's phase is only a fallback."""
    found = read(pod, template=template)
    assert verdict(found) == expected
    assert found.pod_uid == "p1"


@pytest.mark.parametrize(
    ("template", "pod", "started"),
    [
        pytest.param(MAIN, a_pod(phase="Pending"), False, id="pending"),
        pytest.param(MAIN, a_pod(ContainerFacts(name="main")), False, id="waiting"),
        pytest.param(MAIN, a_pod(running("istio-proxy")), False, id="only-a-sidecar-runs"),
        pytest.param(MAIN, a_pod(running()), True, id="running"),
        pytest.param(OURS, a_pod(ended(), running("helper")), True, id="one-of-two-runs"),
        pytest.param(OURS, a_pod(ended()), True, id="one-of-two-is-not-reported-yet"),
        pytest.param(
            MAIN, a_pod(running(), init_containers=(ended("fetch"),)), True, id="a-good-init-container"
        ),
        pytest.param(
            MAIN, a_pod(running(), init_containers=(ended("mesh", 1),)), True, id="an-injected-init-container"
        ),
        pytest.param(MAIN, a_pod(running(), deleting=True), True, id="being-deleted-has-not-ended"),
        pytest.param(TemplateNames(containers=()), a_pod(ended()), False, id="no-names-known"),
    ],
)
@pytest.mark.rule("GC-8")
def test_until_a_certain_sign_the_work_runs(template, pod, started):
    """GC-8: every container named in our template, or nothing."""
    assert read(pod, template=template) == StillRunning(pod_uid="p1", started=started)


@pytest.mark.rule("GC-6", "GC-8")
def test_the_outcome_carries_what_the_containers_left():
    """GC-6, GC-8: code, times and the raw result of the template's first container."""
    main = replace(
        ended("main", 3, at=9, message='{"a": 1}'),
        terminated=Terminated(exit_code=3, started_at=after(2), finished_at=after(9), message='{"a": 1}'),
    )
    assert read(a_pod(ended("helper", 0, at=10, message="no"), main), template=OURS) == Outcome(
        phase=Phase.FAILED,
        reason=Reason.NON_ZERO_EXIT,
        message="container main ended with exit code 3",
        exit_code=3,
        started_at=NOON,
        finished_at=after(10),
        result='{"a": 1}',
        pod_uid="p1",
    )


@pytest.mark.rule("DAG-11")
def test_only_the_templates_first_container_returns_a_result():
    """DAG-11: the result of another container does not count."""
    pod = a_pod(ended("helper", 4, message="not the result"), phase="Failed")
    assert read(pod, template=OURS).result is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(lambda: read(a_pod(ended())), "", id="success-needs-no-words"),
        pytest.param(
            lambda: read(a_pod(ended("main", 137, reason="OOMKilled"))),
            "container main ran out of memory (exit code 137)",
            id="memory",
        ),
        pytest.param(
            lambda: read(a_pod(init_containers=(ended("fetch", 2),))),
            "init container fetch ended with exit code 2",
            id="init",
        ),
        pytest.param(
            lambda: read(a_pod(init_containers=(ended("fetch", 137, reason="OOMKilled"),))),
            "init container fetch ran out of memory (exit code 137)",
            id="init-memory",
        ),
        pytest.param(
            lambda: read(a_pod(phase="Failed", reason="Evicted", message="disk is full")),
            "disk is full",
            id="eviction",
        ),
        pytest.param(
            lambda: read(a_pod(phase="Failed", reason="Evicted")), "the pod was evicted", id="eviction-untold"
        ),
        pytest.param(
            lambda: read(a_pod(phase="Failed", reason="NodeRebooted")),
            "the node restarted while the pod was running",
            id="reboot",
        ),
        pytest.param(lambda: read(a_pod(phase="Failed")), "the pod failed", id="pod"),
        pytest.param(
            lambda: read(a_pod(phase="Failed", reason="DeadlineExceeded", message="too long")),
            "the pod failed: DeadlineExceeded: too long",
            id="pod-with-words",
        ),
        pytest.param(
            lambda: read(a_pod(ended(), deleting=True)),
            "the pod was deleted while it was running",
            id="pod-deleted",
        ),
        pytest.param(
            lambda: read(a_pod(ended(), deleting=True), job=a_job(deleting=True)),
            "the Job was deleted while it was running",
            id="job-deleted",
        ),
        pytest.param(lambda: read(a_pod(ended()), stop=a_stop()), "stopped on request", id="cancel"),
        pytest.param(
            lambda: read(a_pod(ended()), stop=a_stop(reason=Reason.STEP_TIMED_OUT)),
            "stopped: StepTimedOut",
            id="timeout",
        ),
    ],
)
@pytest.mark.rule("RUN-4")
def test_the_message_says_what_happened(found, message):
    """RUN-4: every end can be explained."""
    assert found().message == message


@pytest.mark.parametrize(
    ("stop", "pod", "expected"),
    [
        pytest.param(a_stop(11), a_pod(ended(at=10)), SUCCEEDED, id="ended-the-second-before"),
        pytest.param(a_stop(10.9), a_pod(ended(at=10)), STOPPED, id="ended-in-that-second"),
        pytest.param(a_stop(10), a_pod(ended(at=10.4)), STOPPED, id="ended-in-that-second-by-a-fraction"),
        pytest.param(a_stop(9), a_pod(ended(at=10)), STOPPED, id="ended-later-though-with-exit-code-0"),
        pytest.param(a_stop(), a_pod(ended(at=None)), STOPPED, id="ended-time-unknown"),
        pytest.param(
            a_stop(20),
            a_pod(ended("main", 3)),
            (Phase.FAILED, Reason.NON_ZERO_EXIT, 3),
            id="failed-before-it",
        ),
        pytest.param(
            a_stop(9),
            a_pod(ended("main", 143)),
            (Phase.CANCELLED, Reason.CANCELLED, 143),
            id="a-cancel-is-no-failure",
        ),
        pytest.param(
            a_stop(9, Reason.RUN_CANCELLED),
            a_pod(ended("main", 143)),
            (Phase.CANCELLED, Reason.CANCELLED, 143),
            id="nor-is-the-runs-cancel",
        ),
        pytest.param(
            a_stop(9, Reason.STEP_TIMED_OUT),
            a_pod(ended()),
            (Phase.FAILED, Reason.STEP_TIMED_OUT, 0),
            id="a-timeout-is-a-failure",
        ),
        pytest.param(
            a_stop(9, Reason.RUN_TIMED_OUT),
            a_pod(ended()),
            (Phase.FAILED, Reason.RUN_TIMED_OUT, 0),
            id="the-runs-timeout-too",
        ),
        pytest.param(
            a_stop(9, Reason.JOB_DELETED),
            a_pod(ended()),
            (Phase.FAILED, Reason.JOB_DELETED, 0),
            id="deleted-by-others",
        ),
        pytest.param(
            a_stop(20),
            a_pod(ended(at=10), deleting=True, deletion_requested_at=after(20)),
            SUCCEEDED,
            id="the-suspend-that-follows-takes-nothing-back",
        ),
        pytest.param(
            a_stop(9), a_pod(phase="Failed"), (Phase.CANCELLED, Reason.CANCELLED, None), id="never-ran"
        ),
        pytest.param(
            a_stop(11),
            a_pod(init_containers=(ended("fetch", 2, at=10),)),
            (Phase.FAILED, Reason.INIT_FAILED, 2),
            id="an-init-container-failed-before-it",
        ),
    ],
)
@pytest.mark.rule("CAN-7")
def test_what_ended_before_the_stop_keeps_its_result_and_nothing_else_succeeds(stop, pod, expected):
    """CAN-7: truth before order, compared at whole seconds."""
    assert verdict(read(pod, stop=stop)) == expected


@pytest.mark.rule("CAN-7")
def test_the_last_container_to_end_is_the_end():
    """CAN-7: work of which a part was still running when the stop came was stopped."""
    pod = a_pod(ended("main", at=5), ended("helper", at=12))
    assert verdict(read(pod, template=OURS, stop=a_stop(10))) == STOPPED
    partly = a_pod(ended("main", at=5), phase="Failed")
    assert verdict(read(partly, template=OURS, stop=a_stop(10))) == STOPPED
    unknown = a_pod(ended("main", at=5), ended("helper", at=None))
    assert verdict(read(unknown, template=OURS, stop=a_stop(10))) == STOPPED


POD_DELETED = (Phase.FAILED, Reason.POD_DELETED, 0)
EVICTED = (Phase.FAILED, Reason.EVICTED, 0)


@pytest.mark.parametrize(
    ("pod", "job", "expected"),
    [
        pytest.param(
            a_pod(ended(at=10), deleting=True, deletion_requested_at=after(9)),
            a_job(),
            POD_DELETED,
            id="deleted",
        ),
        pytest.param(
            a_pod(ended(at=10), deleting=True, deletion_requested_at=after(10.5)),
            a_job(),
            POD_DELETED,
            id="deleted-in-that-second",
        ),
        pytest.param(
            a_pod(ended(at=10), deleting=True, deletion_requested_at=after(11)),
            a_job(),
            SUCCEEDED,
            id="deleted-after-its-end",
        ),
        pytest.param(a_pod(ended(), deleting=True), a_job(), POD_DELETED, id="deleted-time-unknown"),
        pytest.param(
            a_pod(ended("main", 143), deleting=True, deletion_requested_at=after(9)),
            a_job(deleting=True),
            (Phase.FAILED, Reason.JOB_DELETED, 143),
            id="deleted-with-its-job",
        ),
        pytest.param(a_pod(ended()), a_job(deleting=True), SUCCEEDED, id="a-deleted-job-lets-its-pod-run"),
        pytest.param(a_pod(ended(), reason="Evicted", phase="Failed"), a_job(), EVICTED, id="evicted"),
        pytest.param(
            a_pod(ended(at=10), disrupted=True, disrupted_at=after(9)), a_job(), EVICTED, id="drained"
        ),
        pytest.param(
            a_pod(ended(at=10), disrupted=True, disrupted_at=after(11)),
            a_job(),
            SUCCEEDED,
            id="drained-after-its-end",
        ),
        pytest.param(
            a_pod(ended(at=10), disrupted=True, disrupted_at=after(9), deleting=True),
            a_job(deleting=True),
            EVICTED,
            id="an-eviction-deletes-too",
        ),
        pytest.param(
            a_pod(phase="Failed", reason="Evicted", disrupted=True, disrupted_at=after(9)),
            a_job(),
            (Phase.FAILED, Reason.EVICTED, None),
            id="evicted-before-anything-ran",
        ),
    ],
)
@pytest.mark.rule("GC-3")
def test_work_that_others_ended_did_not_come_to_its_own_end(pod, job, expected):
    """GC-3: PodDeleted, Evicted, JobDeleted; what had ended before keeps its result."""
    assert verdict(read(pod, job=job)) == expected


JOB_AT_REST = a_job(suspended=True, at_rest=True)
CANCELLED = (Phase.CANCELLED, Reason.CANCELLED, None)


@pytest.mark.parametrize(
    ("job", "stop", "expected"),
    [
        pytest.param(
            a_job(complete=True, verdict_at=after(5)),
            None,
            (Phase.SUCCEEDED, Reason.SUCCEEDED, None),
            id="complete",
        ),
        pytest.param(
            a_job(failed=True, verdict_at=after(5)),
            None,
            (Phase.FAILED, Reason.JOB_FAILED, None),
            id="failed",
        ),
        pytest.param(
            a_job(complete=True, verdict_at=after(5)),
            a_stop(6),
            (Phase.SUCCEEDED, Reason.SUCCEEDED, None),
            id="complete-before-the-stop",
        ),
        pytest.param(
            a_job(complete=True, verdict_at=after(7)), a_stop(6), CANCELLED, id="complete-after-the-stop"
        ),
        pytest.param(JOB_AT_REST, a_stop(), CANCELLED, id="suspended-before-it-had-a-pod"),
        pytest.param(a_job(deleting=True), a_stop(), CANCELLED, id="deleted-before-it-had-a-pod"),
    ],
)
@pytest.mark.rule("GC-3", "CAN-7")
def test_a_job_without_pods_speaks_for_itself_when_a_live_read_confirms_it(job, stop, expected):
    """GC-3, CAN-7: the Job's own verdict; a cache that has no pods proves nothing."""
    assert verdict(read(job=job, stop=stop, live=True)) == expected
    assert read(job=job, stop=stop) == NothingCertain(read_live=True)


@pytest.mark.parametrize(
    ("job", "facts"),
    [
        pytest.param(a_job(), {}, id="just-created"),
        pytest.param(a_job(), {"stop": a_stop()}, id="just-created-and-stopped"),
        pytest.param(JOB_AT_REST, {}, id="suspended-by-others"),
        pytest.param(a_job(deleting=True), {}, id="deleted-and-the-stop-not-announced"),
        pytest.param(a_job(deleting=True, active=1), {"stop": a_stop()}, id="deleted-with-a-pod-somewhere"),
        pytest.param(a_job(active=1), {"first_pod_uid": "p1"}, id="the-recorded-pod-gone-and-another-active"),
    ],
)
@pytest.mark.rule("GC-8")
def test_without_a_sign_nothing_is_certain(job, facts):
    """GC-8: the earliest certain sign, not a guess."""
    assert read(job=job, live=True, **facts) == NothingCertain()


@pytest.mark.rule("GC-2")
def test_without_a_job_nothing_is_concluded_from_pods_that_are_not_there():
    """GC-2: a missing Job is judged by its presence, not here."""
    found = read_outcome(MAIN, job=None, pods=(), stop=a_stop(), first_pod_uid="p1", live=True)
    assert found == NothingCertain()


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        pytest.param(None, (Phase.FAILED, Reason.POD_DELETED, None), id="by-others"),
        pytest.param(a_stop(), CANCELLED, id="while-we-stopped-it"),
    ],
)
@pytest.mark.rule("GC-3")
def test_a_recorded_pod_that_vanished_ends_the_attempt(stop, expected):
    """GC-3: though our finalizer should have held it; the cache alone is not believed."""
    found = read(stop=stop, first_pod_uid="p1", live=True)
    assert verdict(found) == expected
    assert found.pod_uid == "p1"
    assert read(stop=stop, first_pod_uid="p1") == NothingCertain(read_live=True)


@pytest.mark.parametrize(
    ("found", "message", "finished_at"),
    [
        pytest.param(
            lambda: read(
                job=a_job(
                    failed=True,
                    verdict_at=after(5),
                    verdict_reason="BackoffLimitExceeded",
                    verdict_message="too many",
                ),
                live=True,
            ),
            "BackoffLimitExceeded: too many",
            after(5),
            id="failed",
        ),
        pytest.param(
            lambda: read(job=a_job(failed=True), live=True), "the Job failed", None, id="failed-without-words"
        ),
        pytest.param(
            lambda: read(job=a_job(complete=True, verdict_at=after(5)), live=True),
            "",
            after(5),
            id="complete",
        ),
        pytest.param(
            lambda: read(first_pod_uid="p1", live=True),
            "the pod was removed before its result was recorded",
            None,
            id="gone",
        ),
    ],
)
@pytest.mark.rule("GC-3")
def test_the_jobs_own_verdict_is_reported(found, message, finished_at):
    """GC-3: reason and message of the Job's condition."""
    end = found()
    assert (end.message, end.finished_at) == (message, finished_at)


@pytest.mark.rule("RUN-3")
def test_the_first_pods_outcome_counts_and_every_other_is_a_duplicate():
    """RUN-3: a second pod of one Job is detected; the first one's outcome counts."""
    first = a_pod(ended("main", 3), uid="a", created_at=NOON)
    second = a_pod(ended("main", 0), uid="b", created_at=after(1))
    third = a_pod(uid="c", created_at=None)
    assert verdict(read(third, second, first)) == (Phase.FAILED, Reason.NON_ZERO_EXIT, 3)
    assert duplicate_pods([third, second, first]) == (third, second)
    assert duplicate_pods([first]) == ()
    assert first_pod([]) is None


@pytest.mark.rule("RUN-3")
def test_the_recorded_pod_is_the_first_whatever_the_clock_says():
    """RUN-3: creation times have whole seconds; what was recorded decides."""
    early = a_pod(uid="a", created_at=NOON)
    recorded = a_pod(ended(), uid="b", created_at=NOON)
    assert first_pod([early, recorded]) == early
    assert first_pod([early, recorded], recorded_uid="b") == recorded
    assert duplicate_pods([early, recorded], recorded_uid="b") == (early,)
    assert duplicate_pods([early], recorded_uid="gone") == (early,)
    assert read(early, recorded, first_pod_uid="b").pod_uid == "b"


@pytest.mark.parametrize(
    ("reason", "in_time", "expected"),
    [
        (Reason.CANCELLED, True, (Phase.CANCELLED, Reason.CANCELLED)),
        (Reason.CANCELLED, False, (Phase.CANCELLED, Reason.CANCEL_TIMED_OUT)),
        (Reason.STEP_TIMED_OUT, True, (Phase.FAILED, Reason.STEP_TIMED_OUT)),
        (Reason.STEP_TIMED_OUT, False, (Phase.FAILED, Reason.STEP_TIMED_OUT)),
    ],
)
@pytest.mark.rule("CAN-6")
def test_past_the_deadline_the_attempt_ends_with_its_reason(reason, in_time, expected):
    """CAN-6: a cancel says that it timed out."""
    found = stopped_outcome(a_stop(reason=reason), in_time=in_time)
    assert (found.phase, found.reason) == expected


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        pytest.param(143, Reason.CANCELLED, (Phase.CANCELLED, Reason.CANCELLED, 143), id="obeys"),
        pytest.param(0, Reason.CANCELLED, (Phase.CANCELLED, Reason.CANCELLED, 0), id="ends-well"),
        pytest.param(143, Reason.STEP_TIMED_OUT, (Phase.FAILED, Reason.STEP_TIMED_OUT, 143), id="timed-out"),
    ],
)
@pytest.mark.rule("CAN-7")
def test_work_that_a_suspended_job_ended_was_stopped_though_our_clock_is_ahead(code, reason, expected):
    """By the node's clock it ended before the stop was announced; but its Job deleted it, because of that stop."""
    pod = a_pod(ended(code=code, at=11), deleting=True, deletion_requested_at=after(10))
    stop = a_stop(at=70, reason=reason)
    assert verdict(read(pod, job=a_job(suspended=True), stop=stop)) == expected


@pytest.mark.rule("CAN-7", "GC-3")
def test_a_pod_that_others_ended_before_the_stop_keeps_its_reason():
    """Evicted, or deleted from a Job that was not suspended."""
    evicted = a_pod(ended(code=143, at=11), deleting=True, deletion_requested_at=after(10), disrupted=True)
    deleted = a_pod(ended(code=143, at=11), deleting=True, deletion_requested_at=after(10))
    assert read(evicted, job=a_job(suspended=True), stop=a_stop(at=70)).reason == Reason.EVICTED
    assert read(deleted, stop=a_stop(at=70)).reason == Reason.POD_DELETED


def _off(**facts):
    """A pod that our suspension deleted a minute after noon, on a node whose clock is off."""
    return {"deleting": True, "deletion_requested_at": after(60), **facts}


@pytest.mark.parametrize(
    ("code", "at", "facts", "expected"),
    [
        pytest.param(0, 57, {}, SUCCEEDED, id="a-clock-that-was-not-caught-is-believed"),
        pytest.param(0, 57, {"clock_behind": timedelta(seconds=4)}, STOPPED, id="behind"),
        pytest.param(
            143,
            50,
            {"clock_behind": timedelta(seconds=4)},
            (Phase.CANCELLED, Reason.CANCELLED, 143),
            id="behind-by-more-than-is-known",
        ),
        pytest.param(0, 40, {"clock_behind": timedelta(seconds=4)}, SUCCEEDED, id="long-before-all-the-same"),
    ],
)
@pytest.mark.rule("CAN-7")
def test_a_nodes_clock_that_is_behind_makes_no_success_of_what_was_stopped(code, at, facts, expected):
    """CAN-7: once its clock was caught, ten seconds are the doubt."""
    pod = a_pod(ended(code=code, at=at), **_off(**facts))
    assert verdict(read(pod, job=a_job(suspended=True), stop=a_stop(at=60))) == expected


@pytest.mark.parametrize(
    ("at", "seen_running_at", "expected"),
    [
        pytest.param(70, None, STOPPED, id="nothing-to-compare-with"),
        pytest.param(70, after(1), STOPPED, id="right"),
        pytest.param(70, after(-90), SUCCEEDED, id="ahead"),
        pytest.param(145, after(-90), STOPPED, id="ahead-and-stopped"),
    ],
)
@pytest.mark.rule("CAN-7")
def test_a_nodes_clock_that_is_ahead_takes_no_result_away(at, seen_running_at, expected):
    """CAN-7: a container that was seen to run ninety seconds before it says that it started."""
    pod = a_pod(ended(at=at), **_off())
    found = read(pod, job=a_job(suspended=True), stop=a_stop(at=60), seen_running_at=seen_running_at)
    assert verdict(found) == expected


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        pytest.param(143, "Error", Reason.POD_DELETED, id="ended-by-a-signal"),
        pytest.param(137, Reason.OOM_KILLED, Reason.OOM_KILLED, id="ended-by-its-memory"),
        pytest.param(1, "Error", Reason.NON_ZERO_EXIT, id="ended-by-itself"),
    ],
)
@pytest.mark.rule("GC-3")
def test_a_pod_that_its_node_let_go_was_deleted_before(code, reason, expected):
    """GC-3: the node's last word moves the time of the deletion behind the end."""
    pod = a_pod(
        ended(code=code, at=10, reason=reason),
        deleting=True,
        deletion_is_final=True,
        deletion_requested_at=after(12),
    )
    assert read(pod).reason == expected
