"""Properties of every plan for a child's Job, for any record and any observation."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.api.phases import TERMINAL, OnJobMissing, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Cancel, LeftBehind, Requester, Stop
from jangar.domain.job_execution.actions import (
    CreateJob,
    DeleteChild,
    DeleteJob,
    ReadOwner,
    ReadWork,
    ReleaseJob,
    ReleasePod,
    RemoveChildFinalizer,
    SetTtl,
)
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from jangar.domain.job_execution.facts import ContainerFacts, JobFacts, PodFacts, TemplateNames, Terminated
from jangar.domain.job_execution.observation import (
    ChildFacts,
    Owner,
    WorkDefined,
    WorkLimits,
    WorkMissing,
    WorkObservation,
    WorkRefused,
    WorkRejected,
)
from jangar.domain.job_execution.outcome import Outcome
from jangar.domain.job_execution.plan import plan_work
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache
from jangar.domain.job_execution.record import EndedWork, JobNote, WorkRecord
from jangar.domain.job_execution.status_document import work_document, work_record
from jangar.domain.retention import NEVER, History, Keep, Retention
from jangar.domain.status_contract import Lifecycle, lifecycle_from
from support.builders import NOON, at

timestamps = st.integers(-60, 120).map(at)
rarely = st.sampled_from([False] * 7 + [True])
whole = st.one_of(st.none(), timestamps)
words = st.text(max_size=20)
reasons = st.sampled_from(list(Reason)).map(str)
codes = st.one_of(st.none(), st.sampled_from([0, 1, 137, 143]))
limits = st.builds(
    WorkLimits,
    cancel_enabled=st.booleans(),
    cancel_timeout=st.sampled_from([timedelta(seconds=5), timedelta(seconds=60)]),
    retention=st.sampled_from([None, NEVER, Keep(duration=timedelta(0)), Keep(duration=timedelta(hours=1))]),
    job_ttl=st.sampled_from([None, NEVER, Keep(duration=timedelta(0))]),
    history_enabled=st.booleans(),
)
outcomes = st.builds(
    Outcome,
    phase=st.sampled_from(sorted(TERMINAL)),
    reason=reasons,
    message=words,
    exit_code=codes,
    started_at=whole,
    finished_at=whole,
)
notes = st.builds(
    JobNote,
    name=st.just("build-1"),
    attempt=st.integers(1, 3),
    observed_at=whole,
    uid=st.sampled_from([None, "j1", "j2"]),
    pod_uid=st.sampled_from([None, "p1", "p9"]),
)
stops = st.builds(
    Stop,
    requested_at=timestamps,
    reason=st.sampled_from([Reason.CANCELLED, Reason.STEP_TIMED_OUT, Reason.JOB_DELETED]),
    deadline=timestamps,
)
cancels = st.builds(
    Cancel,
    requested_at=timestamps,
    deadline=timestamps,
    requested_by=st.sampled_from([(), ("cancel",), ("owner",)]),
)
lefts = st.builds(
    LeftBehind,
    kind=st.sampled_from(["Job", "Pod"]),
    name=st.sampled_from(["build-1", "build-1-x"]),
    uid=st.sampled_from([None, "j1", "p1"]),
    ended_at=whole,
)
retentions = st.builds(
    Retention,
    job_ttl_seconds=st.one_of(st.none(), st.integers(0, 1000)),
    job_expires_at=whole,
    job_source=st.one_of(st.none(), st.just("default")),
    run_retention_seconds=st.one_of(st.none(), st.integers(0, 1000)),
    run_expires_at=whole,
    run_source=st.one_of(st.none(), st.just("rootRun")),
    history=st.one_of(st.none(), st.sampled_from(list(History))),
)


@st.composite
def records(draw):
    """What an earlier pass may have recorded; a superset of the possible records."""
    phase = draw(st.sampled_from([None, Phase.PENDING, Phase.RUNNING, *Phase]))
    job = draw(st.one_of(st.none(), notes))
    started = draw(whole)
    lifecycle = Lifecycle(
        phase=phase,
        reason=draw(st.one_of(st.none(), reasons)),
        message=draw(st.one_of(st.none(), words.filter(bool))),
        observed_generation=draw(st.one_of(st.none(), st.integers(0, 3))),
        started_at=started,
        finished_at=max(started or NOON, draw(timestamps)) if phase in TERMINAL else None,
    )
    attempts = ()
    if job is not None:
        numbers = range(1, job.attempt + draw(st.integers(0, 1)))
        attempts = tuple(
            EndedWork(attempt=number, job=f"build-{number}", uid="j0", outcome=draw(outcomes))
            for number in numbers
        )
    return WorkRecord(
        lifecycle=lifecycle,
        job=job,
        attempts=attempts,
        stop=draw(st.one_of(st.none(), st.none(), stops)) if job else None,
        cancel=draw(st.one_of(st.none(), st.none(), st.none(), cancels)),
        left_behind=tuple(draw(st.lists(lefts, max_size=2))) if job and phase in TERMINAL else (),
        outcome=draw(outcomes) if phase in TERMINAL else None,
        outputs=draw(st.one_of(st.none(), st.dictionaries(words, words, min_size=1, max_size=2))),
        retention=draw(st.one_of(st.none(), retentions.filter(lambda item: item != Retention()))),
    )


containers = st.builds(
    ContainerFacts,
    name=st.sampled_from(["main", "injected"]),
    running=st.booleans(),
    terminated=st.one_of(
        st.none(),
        st.builds(
            Terminated,
            exit_code=st.sampled_from([0, 1, 143]),
            finished_at=whole,
            message=st.one_of(st.none(), words, st.just('{"a": 1}'), st.just("x" * 5000)),
        ),
    ),
)
finalizers = st.sampled_from([(), (OUTCOME_FINALIZER,), ("other", OUTCOME_FINALIZER)])
pods = st.lists(
    st.builds(
        PodFacts,
        name=st.just("build-1-x"),
        uid=st.sampled_from(["p1", "p2"]),
        created_at=whole,
        phase=st.sampled_from([None, "Pending", "Running", "Succeeded", "Failed"]),
        deleting=st.booleans(),
        deletion_requested_at=whole,
        disrupted=st.booleans(),
        containers=st.lists(containers, max_size=2, unique_by=lambda item: item.name).map(tuple),
        finalizers=finalizers,
    ),
    max_size=2,
    unique_by=lambda item: item.uid,
).map(tuple)
jobs = st.builds(
    JobFacts,
    name=st.just("build-1"),
    uid=st.sampled_from(["j1", "j2"]),
    created_at=whole,
    deleting=st.booleans(),
    suspended=st.booleans(),
    at_rest=st.booleans(),
    active=st.integers(0, 1),
    complete=st.booleans(),
    failed=st.booleans(),
    verdict_at=whole,
    finalizers=finalizers,
)
children = st.builds(
    ChildFacts,
    name=st.just("build"),
    uid=st.just("c1"),
    generation=st.integers(1, 3),
    created_at=st.just(NOON),
    requested_by=st.sampled_from([frozenset()] * 8 + [frozenset({item}) for item in Requester]),
    deleted_at=whole,
    suspend=rarely,
    stop_deadline=whole,
    timeout=st.sampled_from([None, timedelta(seconds=30)]),
    on_job_missing=st.sampled_from(list(OnJobMissing)),
    ttl=st.sampled_from([None, 0, "never"]),
    has_finalizer=rarely.map(lambda item: not item),
)
work = st.sampled_from(
    [
        *[WorkDefined()] * 6,
        WorkMissing(message="no such tool"),
        WorkRejected(reason=Reason.INVALID_SPEC, message="no image"),
        WorkRefused(message="quota"),
    ]
)


@st.composite
def observations(draw):
    live = draw(st.booleans())
    return WorkObservation(
        child=draw(children),
        work=draw(work),
        template=TemplateNames(containers=("main",)),
        recorded=draw(records()),
        owner=draw(st.sampled_from([Owner.NONE, Owner.ACTIVE, Owner.NOT_READ, *Owner])),
        job=draw(st.one_of(jobs, st.just(ConfirmedAbsent() if live else NotInCache()))),
        pods=draw(st.one_of(st.just(()), pods)),
        live=live,
        logs_kept=draw(st.booleans()),
        limits=draw(limits),
    )


times = st.integers(0, 200_000).map(lambda item: NOON + timedelta(milliseconds=item))


@pytest.mark.rule("CAN-2", "GC-2", "GC-9")
@settings(max_examples=300)
@given(observations(), times)
def test_no_job_is_created_for_a_child_that_ends_waits_or_has_no_finalizer(observation, now):
    """A create is planned only for a wanted, unsuspended child with our finalizer, of a run that was read and is
    active.
    """
    plan = plan_work(observation, now)
    creates = [action for action in plan.actions if isinstance(action, CreateJob)]
    if not creates:
        return
    child, recorded, status = observation.child, observation.recorded, plan.status
    assert len(creates) == 1
    assert child.has_finalizer
    assert not child.suspend
    assert observation.owner in {Owner.NONE, Owner.ACTIVE}
    assert not isinstance(observation.work, WorkMissing | WorkRejected)
    assert not recorded.lifecycle.is_terminal
    assert status.cancel is None
    assert status.stop is None
    assert status.job is not None
    assert (creates[0].name, creates[0].attempt) == (status.job.name, status.job.attempt)


@settings(max_examples=300)
@given(observations(), times)
def test_a_plan_that_reads_does_nothing_else_and_reads_once(observation, now):
    """Nothing is recorded or done before the reads, and nothing is read twice."""
    plan = plan_work(observation, now)
    if plan.reads:
        assert not plan.actions
    if observation.live:
        assert not any(isinstance(read, ReadWork) for read in plan.reads)
    if observation.owner is not Owner.NOT_READ:
        assert not any(isinstance(read, ReadOwner) for read in plan.reads)


@pytest.mark.rule("GC-1")
@settings(max_examples=300)
@given(observations(), times)
def test_nothing_is_released_before_its_end_is_recorded(observation, now):
    """Finalizer removals, TTLs and deletions belong to ended work: actions on other work only stop or start it."""
    plan = plan_work(observation, now)
    recorded = observation.recorded
    if recorded.lifecycle.is_terminal:
        return
    assert not any(isinstance(action, DeleteChild | RemoveChildFinalizer) for action in plan.actions)
    if any(isinstance(action, SetTtl | ReleaseJob | DeleteJob) for action in plan.actions):
        # An attempt that is followed by another.
        assert recorded.job.attempt in {attempt.attempt for attempt in recorded.attempts}
    if any(isinstance(action, ReleasePod) for action in plan.actions):
        assert plan.status.attempts[-1].attempt == plan.status.job.attempt


@pytest.mark.rule("ST-4", "CAN-7")
@settings(max_examples=300)
@given(observations(), times)
def test_an_end_is_final_and_times_are_set_once(observation, now):
    """A terminal phase, its outcome and the start and end times never change."""
    before, after = observation.recorded, plan_work(observation, now).status
    if before.lifecycle.is_terminal:
        assert after.lifecycle.phase is before.lifecycle.phase
        assert after.lifecycle.reason == before.lifecycle.reason
        assert after.outcome == before.outcome
        assert after.attempts == before.attempts
    for field in ("started_at", "finished_at"):
        assert getattr(before.lifecycle, field) in {None, getattr(after.lifecycle, field)}
    if after.lifecycle.is_terminal:
        assert after.lifecycle.finished_at is not None
        assert after.outcome is not None


@pytest.mark.rule("GC-9")
@settings(max_examples=300)
@given(observations(), times)
def test_a_child_is_released_only_when_its_work_is_or_after_the_deadline(observation, now):
    """A deleted child is released after a live read without any of our finalizers, or with them after the deadline."""
    plan = plan_work(observation, now)
    if not any(isinstance(action, RemoveChildFinalizer) for action in plan.actions):
        return
    assert observation.child.deleted_at is not None
    assert observation.child.has_finalizer
    assert observation.live or observation.recorded.job is None
    job = observation.job if isinstance(observation.job, JobFacts) else None
    held = {
        pod.uid for pod in (*observation.pods, *([job] if job else [])) if OUTCOME_FINALIZER in pod.finalizers
    }
    released = {action.uid for action in plan.actions if isinstance(action, ReleaseJob | ReleasePod)}
    assert held <= released
    if held:
        assert now >= observation.child.deleted_at + observation.limits.cancel_timeout
    assert isinstance(plan.actions[-1], RemoveChildFinalizer)


@pytest.mark.rule("ST-7")
@settings(max_examples=300)
@given(observations(), times)
def test_a_plan_without_effect_is_not_requeued_at_once(observation, now):
    """Without an effect, the next pass waits for a change or a timer."""
    plan = plan_work(observation, now)
    if plan.status is observation.recorded and not plan.actions and not plan.reads:
        assert plan.look_again_at is None or plan.look_again_at > now


@pytest.mark.rule("ST-3")
@settings(max_examples=300)
@given(observations(), times)
def test_a_plan_reads_back_as_it_was_recorded(observation, now):
    """The status as JSON gives the same record, so that the next pass writes nothing."""
    plan = plan_work(observation, now)
    written = json.loads(json.dumps(work_document(plan.status, name="build", namespace="default")))
    read = work_record(written)
    assert replace(read, lifecycle=Lifecycle()) == replace(plan.status, lifecycle=Lifecycle())
    assert read.lifecycle == lifecycle_from(written)
    assert read.lifecycle == plan.status.lifecycle
    again = plan_work(replace(observation, recorded=read), now)
    if plan.status.lifecycle.is_terminal and not plan.reads:
        last = plan_work(replace(observation, recorded=again.status), now)
        assert last.status is again.status


@given(records())
def test_every_record_is_read_back_unchanged(record):
    """The document contains the whole record."""
    written = json.loads(json.dumps(work_document(record, name="build", namespace="default")))
    assert work_record(written) == record


def test_the_observations_cover_the_properties():
    """Otherwise the properties would hold trivially."""
    reached = set()

    @settings(max_examples=500, database=None, derandomize=True)
    @given(observations(), times)
    def look(observation, now):
        plan = plan_work(observation, now)
        reached.update(type(action) for action in (*plan.actions, *plan.reads))

    look()
    assert reached >= {CreateJob, ReadOwner, ReadWork, RemoveChildFinalizer, ReleaseJob, ReleasePod}
