"""The context that every planning rule of a child Job gets, and the plans that rules return: read, wait or finish.

Decides nothing: which plan applies is up to the rules in `plan`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jangar.api.phases import Phase
from jangar.api.reasons import WAITING_CAUSES, Reason
from jangar.domain.cancellation import Accepted, Cancel, Decision, Stop, timeout_message
from jangar.domain.job_execution.actions import Read, WorkAction
from jangar.domain.job_execution.facts import JobFacts
from jangar.domain.job_execution.observation import ChildFacts, WorkLimits, WorkMissing, WorkObservation
from jangar.domain.job_execution.outcome import MEMBER, Outcome, Reading, read_outcome, report_of, warning_of
from jangar.domain.job_execution.record import JobNote, WorkRecord
from jangar.domain.job_execution.recording import PhaseSummary, with_summary
from jangar.domain.job_execution.workflow import initial_steps
from jangar.domain.orchestration.outputs import OutputsProblem, read_outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlan:
    """Do the `reads` and plan again. Without reads: record `status`, do `actions` in order, requeue at that time."""

    status: WorkRecord
    reads: Sequence[Read] = ()
    actions: Sequence[WorkAction] = ()
    look_again_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """An outcome and what the work returned; outputs are kept if the work succeeded or was stopped."""

    outcome: Outcome
    outputs: Mapping[str, str] | None = None
    report: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanContext:
    """One child in one planning pass: the observation, and what follows from it before any rule applies."""

    observation: WorkObservation
    decision: Decision
    now: datetime
    record: WorkRecord
    """The recorded status with the current cancel; steps of a workflow are filled in on the first pass."""
    expires_at: datetime | None
    """When the time limit of the child, or of the current workflow step, is reached."""

    @property
    def child(self) -> ChildFacts:
        return self.observation.child

    @property
    def limits(self) -> WorkLimits:
        return self.observation.limits

    @property
    def cancel(self) -> Cancel | None:
        return self.decision.cancel if isinstance(self.decision, Accepted) else None

    @property
    def job(self) -> JobFacts | None:
        """The Job, if it was observed."""
        job = self.observation.job
        return job if isinstance(job, JobFacts) else None

    @property
    def has_timed_out(self) -> bool:
        return self.expires_at is not None and self.now >= self.expires_at

    def job_outcome(self, note: JobNote, stop: Stop | None = None) -> Reading:
        return read_outcome(
            self.observation.template,
            job=self.job,
            pods=self.observation.pods,
            stop=stop or self.record.stop,
            first_pod_uid=note.pod_uid,
            seen_running_at=self._first_seen_running_at(note),
            live=self.observation.live,
        )

    def _first_seen_running_at(self, note: JobNote) -> datetime | None:
        """None if our clock is behind the API server's: the Job then seems to be observed before its creation."""
        created = self.job.created_at if self.job else None
        if created is None or note.observed_at is None or note.observed_at < created:
            return None
        return note.started_at if note.intended_at else self.record.lifecycle.started_at

    def observed_note(self, note: JobNote, uid: str | None, pod_uid: str | None) -> JobNote:
        """The note with what was observed of its Job."""
        started = self.now if pod_uid is not None and note.intended_at is not None else None
        return replace(
            note,
            uid=uid,
            observed_at=note.observed_at or self.now,
            pod_uid=note.pod_uid or pod_uid,
            started_at=note.started_at or started,
        )

    def recorded_summary(self) -> PhaseSummary:
        lifecycle = self.record.lifecycle
        return PhaseSummary(
            phase=lifecycle.phase or Phase.PENDING,
            reason=lifecycle.reason or Reason.PENDING,
            message=lifecycle.message or "",
            is_blocked=lifecycle.reason in WAITING_CAUSES,
            job_missing=was_job_lost(self.record) and lifecycle.phase is Phase.PENDING,
        )

    def timeout_message(self) -> str:
        """The message of a timeout, with what the child was waiting for."""
        lifecycle, work = self.record.lifecycle, self.observation.work
        reason, message = lifecycle.reason, lifecycle.message
        if isinstance(work, WorkMissing) and self.record.job is None:
            reason, message = Reason.REFERENCE_NOT_FOUND, work.message
        return timeout_message(self.child.timeout, reason=reason, message=message)

    def read(self, *reads: Read) -> WorkPlan:
        return WorkPlan(status=self.observation.recorded, reads=reads)

    def wait(self, summary: PhaseSummary, record: WorkRecord | None = None) -> WorkPlan:
        return WorkPlan(status=self.status(record or self.record, summary), look_again_at=self.expires_at)

    def fail(self, reason: str, message: str) -> WorkPlan:
        return self.finish(self.record, Outcome(phase=Phase.FAILED, reason=reason, message=message))

    def finish(self, record: WorkRecord, outcome: Outcome, *, job_missing: bool = False) -> WorkPlan:
        """Record the outcome now; later passes release the Job and its pods (GC-1)."""
        result = self.collect_result(record, outcome)
        outcome = result.outcome
        record = replace(
            record,
            outcome=replace(outcome, result=None, pod_uid=None),
            outputs=result.outputs,
            runner=result.report,
        )
        summary = PhaseSummary(
            phase=outcome.phase, reason=outcome.reason, message=outcome.message, job_missing=job_missing
        )
        return WorkPlan(status=self.status(record, summary))

    def collect_result(self, record: WorkRecord, outcome: Outcome) -> JobResult:
        """The outcome with outputs and the runner's report. Outputs that are too large fail only a success."""
        outputs: dict[str, str] | None = None
        if outcome.result and (outcome.phase is Phase.SUCCEEDED or record.stop is not None):
            match read_outputs(outcome.result, may_be_cut=True):
                case OutputsProblem(reason=reason, message=message):
                    if outcome.phase is Phase.SUCCEEDED:
                        outcome = replace(outcome, phase=Phase.FAILED, reason=reason, message=message)
                case parsed:
                    outputs = parsed
        if not self.observation.has_runner:
            return JobResult(outcome=outcome, outputs=outputs or None)
        user_outputs = {name: value for name, value in (outputs or {}).items() if name != MEMBER}
        report = report_of(outcome.result)
        if outcome.phase is Phase.SUCCEEDED:
            outcome = replace(outcome, message=warning_of(report))
        return JobResult(outcome=outcome, outputs=user_outputs or None, report=report)

    def status(self, record: WorkRecord, summary: PhaseSummary) -> WorkRecord:
        return with_summary(record, self.observation, summary, self.decision, now=self.now)


def plan_context(observation: WorkObservation, decision: Decision, now: datetime) -> PlanContext:
    """The context of one pass."""
    cancel = decision.cancel if isinstance(decision, Accepted) else None
    record = replace(observation.recorded, cancel=cancel)
    if observation.workflow and not record.stages and not record.lifecycle.is_terminal:
        record = replace(record, stages=initial_steps(observation.workflow))
    return PlanContext(
        observation=observation,
        decision=decision,
        now=now,
        record=record,
        expires_at=_expires_at(observation, record.job),
    )


def _expires_at(observation: WorkObservation, note: JobNote | None) -> datetime | None:
    """The limit of a workflow step counts from the step's start, that of a child from its creation (DAG-10)."""
    child = observation.child
    if child.timeout is None or (note is None and observation.workflow):
        return None
    return ((note.intended_at if note else None) or child.created_at) + child.timeout


def was_job_lost(record: WorkRecord) -> bool:
    """Whether the previous attempt ended because its Job was lost."""
    return bool(record.attempts) and record.attempts[-1].outcome.reason == Reason.WORKFLOW_JOB_MISSING
