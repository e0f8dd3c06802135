"""How an attempt begins, and what follows one that failed: another, after its work is let go (DAG-9)."""

from dataclasses import replace
from datetime import timedelta

from jangar.api.phases import Phase
from jangar.api.reasons import NEVER_RETRIED, Reason
from jangar.domain.orchestration.child_names import job_name
from jangar.domain.retention.values import job_floor
from jangar.domain.work.actions import CreateJob, HoldChild, ReadOwner, ReadWork
from jangar.domain.work.facts import JobFacts
from jangar.domain.work.logs import logs_to_keep
from jangar.domain.work.observation import Owner, WorkMissing, WorkRejected
from jangar.domain.work.outcome import Outcome
from jangar.domain.work.plan_parts import WorkPlan, lost_before
from jangar.domain.work.record import EndedWork, JobNote, WorkRecord
from jangar.domain.work.recording import PhaseSummary, job_ttl
from jangar.domain.work.releasing import OUTCOME_FINALIZER, release, release_pod
from jangar.domain.work.workflow_planner import WorkflowPlanner, next_standing
from jangar.domain.work.workflow_status import waiting

NOT_CONFIRMED = (
    "the run that it names as its owner did not start it: the run's status names another child for this step and "
    "attempt, or this child's spec is not what the step makes; start a run of your own without ownerReferences"
)


class Attempts(WorkflowPlanner):
    """The attempts of one child; each method gives a whole plan, or none."""

    def _held_back(self, standing: PhaseSummary, record: WorkRecord) -> WorkPlan | None:
        """What comes before any create: none for a child that is suspended, not held, not wanted, or without work."""
        match self.observation.work:
            case WorkMissing(message=message):
                return self._blocked(PhaseSummary.blocked(Reason.REFERENCE_NOT_FOUND, message), record)
            case WorkRejected(reason=reason, message=message):
                return self._blocked(PhaseSummary.blocked(reason, message), record)
        if self.child.suspend:
            return self._waiting(standing, record)
        if not self.child.is_held:
            return replace(self._waiting(standing, record), actions=(HoldChild(),))
        match self.observation.owner:
            case Owner.NOT_READ:
                return self._reading(ReadOwner())
            case Owner.NOT_RECORDED_YET:
                message = "the run that it names as its owner has not recorded that it starts this attempt"
                return self._blocked(PhaseSummary.blocked(Reason.OWNER_NOT_CONFIRMED, message), record)
            case Owner.NOT_CONFIRMED:
                return self._ended(
                    record,
                    Outcome(phase=Phase.FAILED, reason=Reason.OWNER_NOT_CONFIRMED, message=NOT_CONFIRMED),
                )
        return None

    def _blocked(self, standing: PhaseSummary, record: WorkRecord) -> WorkPlan:
        """Looked at again, because nobody tells a child that has an intent about what it names."""
        plan = self._waiting(standing, record)
        soon = self.now + self.limits.cleanup_interval
        return replace(plan, look_again_at=min(soon, plan.look_again_at or soon))

    def _attempt(self, record: WorkRecord, number: int) -> WorkPlan:
        """The intent is recorded before the create is sent (GC-2)."""
        stage = record.stage
        step, iteration = (stage.name, stage.iteration) if stage else (None, None)
        name = job_name(self.child.name, self.child.uid, number, step=step, iteration=iteration)
        note = JobNote(
            name=name,
            attempt=number,
            step=step,
            iteration=iteration,
            terms=self.child.terms,
            intended_at=self.now if stage or (self.child.retries and number > 1) else None,
            since=self.observation.job_version,
        )
        record = replace(record, job=note)
        plan = self._waiting(starting(record), record)
        return replace(plan, actions=(CreateJob(name=name, attempt=number),))

    def _next_attempt(self, record: WorkRecord, note: JobNote) -> WorkPlan:
        """The Job of this attempt is lost: its pods are ended and let go, and only then the next one starts (DAG-9)."""
        if not self.observation.live:
            return self._reading(ReadWork(job=note.name))
        standing = PhaseSummary(
            phase=_phase(record),
            reason=Reason.WORKFLOW_JOB_MISSING,
            message=record.attempts[-1].outcome.message,
            job_missing=True,
        )
        pods = self.observation.pods
        if not all(each.is_over and OUTCOME_FINALIZER not in each.finalizers for each in pods):
            steps = tuple(step for each in pods for step in release_pod(each, gave_up=True))
            ended = all(each.is_over for each in pods)
            logs = logs_to_keep(self.observation, record) if ended else ()
            return replace(self._waiting(standing, record), actions=(*logs, *steps))
        return self._held_back(standing, record) or self._attempt(record, note.attempt + 1)

    def _waits_for_the_next(self, note: JobNote) -> bool:
        """Whether the Job that is noted has ended and another one follows; one that was lost has a way of its own."""
        if self._moves_on(note):
            return True
        ended = self.record.attempts[-1] if self.record.attempts else None
        return (
            ended is not None
            and ended.attempt == note.attempt
            and ended.outcome.reason != Reason.WORKFLOW_JOB_MISSING
        )

    def _over(self, record: WorkRecord, outcome: Outcome) -> WorkPlan:
        """An attempt has ended, and is seen to have ended: that is the end, or it is repeated (DAG-9)."""
        note = record.job
        left = self.child.retries - len(record.attempts)
        again = outcome.phase is Phase.FAILED and outcome.reason not in NEVER_RETRIED and self.cancel is None
        if note is None or left <= 0 or not again:
            return self._onward(record, outcome) or self._ended(record, outcome)
        told = replace(outcome, result=None, pod_uid=None)
        ended = EndedWork(attempt=note.attempt, job=note.name, uid=note.uid, outcome=told)
        backoff = timedelta(seconds=(note.terms and note.terms.backoff_seconds) or 0)
        record = replace(
            record,
            attempts=(*record.attempts, ended),
            stop=None,
            stages=waiting(record, backoff, self.now),
        )
        return WorkPlan(status=self._status(record, repeating(record)), look_again_at=self.now)

    def _follow(self, note: JobNote) -> WorkPlan:
        """Its Job and pods are let go, and only then the next attempt starts, or the next stage."""
        # A limit that has passed was that of the Job before.
        self.expires_at = None
        if self.cancel is not None:
            message = "cancelled before the next attempt"
            return self._ended(
                self.record, Outcome(phase=Phase.CANCELLED, reason=Reason.CANCELLED, message=message)
            )
        if not self.observation.live:
            return self._reading(ReadWork(job=note.name))
        job, pods, limits = self.observation.job, self.observation.pods, self.limits
        is_new = self._moves_on(note)
        standing = next_standing(self.record) if is_new else repeating(self.record)
        released = release(
            job if isinstance(job, JobFacts) else None,
            pods,
            acknowledged=True,
            lifetime=job_ttl(self.observation).keep,
            floor=job_floor(lease_duration=limits.lease_duration, request_timeout=limits.request_timeout),
            now=self.now,
        )
        # Afterwards nobody looks at it again: what is to be done about it is done first.
        actions = (*logs_to_keep(self.observation, self.record), *released.steps)
        if actions or released.look_again_at or not all(each.is_over for each in pods):
            plan = WorkPlan(status=self._status(self.record, standing), actions=actions)
            return replace(plan, look_again_at=released.look_again_at or self.now + limits.note_after)
        if is_new and (refused := self._cannot_begin()) is not None:
            return self._ended(self.record, refused)
        stage = self.record.stage
        if stage is not None and stage.next_retry_at is not None and self.now < stage.next_retry_at:
            return replace(self._waiting(standing), look_again_at=stage.next_retry_at)
        return self._held_back(standing, self.record) or self._attempt(
            self.record, 1 if is_new else note.attempt + 1
        )


def starting(record: WorkRecord) -> PhaseSummary:
    """An intent is recorded; after an attempt that was lost it says so."""
    return PhaseSummary(
        phase=_phase(record),
        reason=Reason.STARTING,
        message=record.attempts[-1].outcome.message if record.attempts else "",
        job_missing=lost_before(record),
    )


def repeating(record: WorkRecord) -> PhaseSummary:
    ended = record.attempts[-1]
    message = f"attempt {ended.attempt} failed: {ended.outcome.message or ended.outcome.reason}"
    return PhaseSummary(phase=_phase(record), reason=Reason.RETRY_BACKOFF, message=message)


def _phase(record: WorkRecord) -> Phase:
    """A course that has begun runs, also while none of its Jobs does."""
    return Phase.RUNNING if record.stages and record.lifecycle.started_at else Phase.PENDING
