"""What to do next with a Job that is being stopped, and how one whose end is recorded is released."""

from datetime import UTC, datetime, timedelta

import pytest

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Stop
from jangar.domain.job_execution.actions import (
    DeleteJob,
    DeletePod,
    DeletePods,
    ReleaseJob,
    ReleasePod,
    SetTtl,
    SuspendJob,
)
from jangar.domain.job_execution.cleanup import (
    CLEANUP_FINALIZER,
    OUTCOME_FINALIZER,
    Release,
    our_finalizer_patch,
    release,
)
from jangar.domain.job_execution.facts import ContainerFacts, JobFacts, PodFacts
from jangar.domain.job_execution.outcome import NothingCertain, Outcome, StillRunning
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache, RecordedJob
from jangar.domain.job_execution.stopping import (
    Announce,
    GiveUp,
    NothingToStop,
    ReadLive,
    Record,
    Remains,
    Wait,
    next_stop_step,
)
from jangar.domain.retention import NEVER, Keep

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
DEADLINE = NOON + timedelta(seconds=60)
TIMEOUT = timedelta(seconds=30)
ANNOUNCED = Stop(requested_at=NOON, reason=Reason.CANCELLED, deadline=DEADLINE)
INTENT = RecordedJob(name="build", attempt=1)
KNOWN = RecordedJob(name="build", attempt=1, uid="j1")
JOB = JobFacts(name="build", uid="j1")
SUSPENDED = JobFacts(name="build", uid="j1", suspended=True)
DELETED = JobFacts(name="build", uid="j1", deleting=True)
LIVE = PodFacts(name="build-x", uid="p1", phase="Running")
DYING = PodFacts(name="build-y", uid="p2", phase="Running", deleting=True)
OVER = PodFacts(name="build-z", uid="p3", phase="Succeeded")
END = Outcome(phase=Phase.SUCCEEDED, reason=Reason.SUCCEEDED)


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def step(**facts):
    given = {
        "recorded": KNOWN,
        "job": JOB,
        "pods": (LIVE,),
        "reading": StillRunning(pod_uid="p1", started=True),
        "now": after(1),
    } | facts
    announced = given.pop("announced", ANNOUNCED)
    return next_stop_step(ANNOUNCED, announced, request_timeout=TIMEOUT, **given)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            lambda: step(announced=None, now=after(1.7)),
            Announce(stop=Stop(requested_at=after(1), reason=Reason.CANCELLED, deadline=DEADLINE)),
            id="first-it-is-announced",
        ),
        pytest.param(
            lambda: step(announced=None, reading=END),
            Announce(stop=Stop(requested_at=after(1), reason=Reason.CANCELLED, deadline=DEADLINE)),
            id="announced-before-anything-else",
        ),
        pytest.param(step, SuspendJob(name="build", uid="j1"), id="then-the-job-is-suspended"),
        pytest.param(lambda: step(job=SUSPENDED), Wait(until=DEADLINE), id="then-its-end-is-awaited"),
        pytest.param(lambda: step(reading=END), Record(outcome=END), id="a-certain-end-is-recorded"),
        pytest.param(
            lambda: step(reading=END, now=after(99)),
            Record(outcome=END),
            id="a-certain-end-beats-the-deadline",
        ),
        pytest.param(lambda: step(recorded=None), NothingToStop(), id="nothing-was-ever-meant-to-start"),
        pytest.param(
            lambda: step(job=DELETED, pods=(LIVE, DYING, OVER)),
            DeletePods(uids=("p1",), look_again_at=DEADLINE),
            id="a-deleted-jobs-pods-are-deleted-by-us",
        ),
        pytest.param(
            lambda: step(job=DELETED, pods=(DYING, OVER)), Wait(until=DEADLINE), id="and-then-awaited"
        ),
        pytest.param(
            lambda: step(job=SUSPENDED, now=after(60)),
            GiveUp(
                left_behind=(
                    Remains(kind="Job", name="build", uid="j1"),
                    Remains(kind="Pod", name="build-x", uid="p1"),
                )
            ),
            id="at-the-deadline-it-is-left-behind",
        ),
        pytest.param(
            lambda: step(job=SUSPENDED, now=after(59.9)), Wait(until=DEADLINE), id="not-before-the-deadline"
        ),
        pytest.param(
            lambda: step(recorded=INTENT, job=JOB, pods=(), now=after(60)),
            GiveUp(left_behind=(Remains(kind="Job", name="build", uid="j1"),)),
            id="with-the-uid-that-was-seen",
        ),
        pytest.param(
            lambda: step(
                recorded=INTENT, job=NotInCache(), pods=(OVER,), now=after(60), reading=NothingCertain()
            ),
            GiveUp(left_behind=(Remains(kind="Job", name="build"),)),
            id="what-is-over-is-not-left-behind",
        ),
    ],
)
@pytest.mark.rule("CAN-4", "CAN-6", "GC-3")
def test_a_stop_is_announced_then_graceful_then_bounded(found, expected):
    """CAN-4, CAN-6, GC-3: announce, suspend, wait, record; past the deadline give up with what is left."""
    assert found() == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            lambda: step(job=NotInCache(), pods=()), ReadLive(name="build"), id="a-cache-proves-nothing"
        ),
        pytest.param(
            lambda: step(job=ConfirmedAbsent(), pods=()), NothingToStop(), id="it-was-there-and-is-gone"
        ),
        pytest.param(
            lambda: step(job=ConfirmedAbsent(), recorded=INTENT, pods=()),
            Wait(until=after(30)),
            id="a-create-may-be-on-the-wire",
        ),
        pytest.param(
            lambda: step(job=ConfirmedAbsent(), recorded=INTENT, pods=(), now=after(29.9)),
            Wait(until=after(30)),
            id="until-its-request-times-out",
        ),
        pytest.param(
            lambda: step(job=ConfirmedAbsent(), recorded=INTENT, pods=(), now=after(30)),
            NothingToStop(),
            id="then-none-can-come",
        ),
        pytest.param(
            lambda: step(job=ConfirmedAbsent(), recorded=INTENT, pods=(), now=after(60)),
            NothingToStop(),
            id="then-none-can-come-at-the-deadline-either",
        ),
    ],
)
@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_create_on_the_wire_is_looked_for_until_it_can_no_longer_arrive(found, expected):
    """CAN-2, CAN-8: found by an uncached read, repeated after the request timeout."""
    assert found() == expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(after(1), Wait(until=after(10)), id="waits-no-longer-than-the-deadline"),
        pytest.param(after(10), GiveUp(left_behind=(Remains(kind="Job", name="build"),)), id="and-says-so"),
    ],
)
@pytest.mark.rule("CAN-6")
def test_a_deadline_before_the_request_timeout_still_bounds_the_stop(now, expected):
    """CAN-6: every stop has a bound."""
    soon = Stop(requested_at=NOON, reason=Reason.CANCELLED, deadline=after(10))
    facts = {
        "recorded": INTENT,
        "job": ConfirmedAbsent(),
        "pods": (),
        "now": now,
        "reading": NothingCertain(),
    }
    assert step(announced=soon, **facts) == expected


OURS = (OUTCOME_FINALIZER,)
TRACKING = "batch.kubernetes.io/job-tracking"
HOUR = Keep(duration=timedelta(hours=1))
FLOOR = timedelta(seconds=45)
MUCH_LATER = after(100)


def patch_at(index, value=OUTCOME_FINALIZER):
    path = f"/metadata/finalizers/{index}"
    return ({"op": "test", "path": path, "value": value}, {"op": "remove", "path": path})


def a_job(**facts):
    return JobFacts(name="build", uid="j1", **({"created_at": NOON, "finalizers": OURS} | facts))


def a_pod(*containers, phase="Running", **facts):
    finalizers = {"finalizers": (TRACKING, OUTCOME_FINALIZER)}
    return PodFacts(name="build-x", uid="p1", phase=phase, containers=containers, **(finalizers | facts))


def let_go(job, *pods, acknowledged=True, lifetime=HOUR, now=MUCH_LATER, gave_up=False):
    return release(
        job, pods, acknowledged=acknowledged, gave_up=gave_up, lifetime=lifetime, floor=FLOOR, now=now
    )


SET_TTL = SetTtl(name="build", uid="j1", seconds=3600)
FREE_JOB = ReleaseJob(name="build", uid="j1", patch=patch_at(0))
FREE_POD = ReleasePod(name="build-x", uid="p1", patch=patch_at(1))
DELETE_POD = DeletePod(name="build-x", uid="p1")
DELETE_JOB = DeleteJob(name="build", uid="j1")
SIDECAR = ContainerFacts(name="proxy", running=True)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            lambda: let_go(a_job(), a_pod(), acknowledged=False),
            Release(),
            id="nothing-before-the-acknowledgement",
        ),
        pytest.param(
            lambda: let_go(a_job(), a_pod()),
            Release(steps=(FREE_POD, SET_TTL, FREE_JOB)),
            id="ttl-before-the-finalizer",
        ),
        pytest.param(
            lambda: let_go(a_job(ttl_seconds=3600), a_pod(finalizers=(TRACKING,))),
            Release(steps=(FREE_JOB,)),
            id="what-is-done-is-not-done-again",
        ),
        pytest.param(
            lambda: let_go(a_job(ttl_seconds=60, finalizers=())),
            Release(steps=(SET_TTL,)),
            id="another-ttl-is-put-right",
        ),
        pytest.param(
            lambda: let_go(a_job(ttl_seconds=3600, finalizers=())), Release(), id="nothing-is-held-any-more"
        ),
        pytest.param(
            lambda: let_go(a_job(), lifetime=NEVER), Release(steps=(FREE_JOB,)), id="never-sets-no-ttl"
        ),
        pytest.param(
            lambda: let_go(a_job(), lifetime=Keep(duration=timedelta(0))),
            Release(steps=(SetTtl(name="build", uid="j1", seconds=0), FREE_JOB)),
            id="zero-is-a-ttl",
        ),
        pytest.param(lambda: let_go(None, a_pod()), Release(steps=(FREE_POD,)), id="a-pod-whose-job-is-gone"),
        pytest.param(lambda: let_go(None), Release(), id="nothing-is-there"),
        pytest.param(
            lambda: let_go(None, a_pod(SIDECAR)),
            Release(steps=(DELETE_POD, FREE_POD)),
            id="a-sidecar-keeps-it-alive",
        ),
        pytest.param(
            lambda: let_go(None, a_pod(SIDECAR, deleting=True)),
            Release(steps=(FREE_POD,)),
            id="and-is-deleted-once",
        ),
        pytest.param(
            lambda: let_go(None, a_pod(SIDECAR, phase="Succeeded")),
            Release(steps=(FREE_POD,)),
            id="a-pod-that-is-over",
        ),
        pytest.param(
            lambda: let_go(a_job(suspended=True)),
            Release(steps=(SET_TTL, FREE_JOB, DELETE_JOB)),
            id="a-stopped-job-is-deleted",
        ),
        pytest.param(
            lambda: let_go(a_job(suspended=True), now=after(44)),
            Release(steps=(SET_TTL, FREE_JOB), look_again_at=after(45)),
            id="not-while-a-late-create-may-come",
        ),
        pytest.param(
            lambda: let_go(a_job(suspended=True), now=after(45)),
            Release(steps=(SET_TTL, FREE_JOB, DELETE_JOB)),
            id="but-then",
        ),
        pytest.param(
            lambda: let_go(a_job(deleting=True), a_pod(), now=after(44)),
            Release(steps=(FREE_POD,), look_again_at=after(45)),
            id="a-deleted-job-holds-its-name-as-long",
        ),
        pytest.param(
            lambda: let_go(a_job(deleting=True), now=after(45)),
            Release(steps=(FREE_JOB,)),
            id="and-gets-no-ttl",
        ),
        pytest.param(
            lambda: let_go(a_job(deleting=True, created_at=None)),
            Release(steps=(FREE_JOB,)),
            id="no-creation-time-is-old",
        ),
        pytest.param(
            lambda: let_go(a_job(suspended=True), a_pod(), gave_up=True),
            Release(steps=(DELETE_POD,)),
            id="what-may-still-run-is-held-until-it-ends",
        ),
        pytest.param(
            lambda: let_go(a_job(suspended=True), a_pod(deleting=True), gave_up=True),
            Release(),
            id="and-awaited",
        ),
        pytest.param(
            lambda: let_go(a_job(suspended=True), a_pod(phase="Failed"), gave_up=True),
            Release(steps=(FREE_POD, SET_TTL, FREE_JOB, DELETE_JOB)),
            id="and-then-let-go",
        ),
    ],
)
@pytest.mark.rule("GC-1", "GC-8", "CAN-4", "CAN-6", "DAG-9")
def test_work_is_let_go_only_after_its_outcome_is_acknowledged(found, expected):
    """GC-1, GC-8, CAN-4, CAN-6, DAG-9: TTL, then our finalizers; stopped Jobs go, names stay taken long enough."""
    assert found() == expected


@pytest.mark.parametrize(
    ("finalizers", "ours", "expected"),
    [
        pytest.param((), {OUTCOME_FINALIZER}, (), id="none"),
        pytest.param((TRACKING,), {OUTCOME_FINALIZER}, (), id="only-others"),
        pytest.param((TRACKING, OUTCOME_FINALIZER), {OUTCOME_FINALIZER}, patch_at(1), id="only-ours-goes"),
        pytest.param(
            (OUTCOME_FINALIZER, TRACKING, CLEANUP_FINALIZER),
            {OUTCOME_FINALIZER, CLEANUP_FINALIZER},
            (*patch_at(2, CLEANUP_FINALIZER), *patch_at(0)),
            id="from-the-last-so-that-places-hold",
        ),
    ],
)
@pytest.mark.rule("GC-1", "GC-7")
def test_only_our_finalizers_are_removed(finalizers, ours, expected):
    """GC-1, GC-7: each removal tests what it removes; others' finalizers are never touched."""
    assert our_finalizer_patch(finalizers, frozenset(ours)) == expected


@pytest.mark.rule("GC-1")
def test_unless_it_was_given_up_a_pod_that_is_being_torn_down_is_let_go():
    """GC-1: the outcome is recorded a second before the pod's phase says so."""
    found = release(None, [a_pod()], acknowledged=True, lifetime=HOUR, floor=FLOOR, now=NOON)
    assert found == Release(steps=(FREE_POD,))


@pytest.mark.rule("GC-1", "GC-9")
def test_finalizers_have_the_names_of_the_contract():
    """GC-1, GC-9: users see them, and an uninstall looks for them."""
    assert OUTCOME_FINALIZER == "jangar.proompteng.ai/outcome"
    assert CLEANUP_FINALIZER == "jangar.proompteng.ai/cleanup"
