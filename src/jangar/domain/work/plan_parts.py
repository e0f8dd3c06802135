"""What every plan for a child's work is put together from: ask, wait, or end, and the status that goes with it.

Decides nothing about which of them it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jangar.api.phases import Phase
from jangar.api.reasons import WAITING_CAUSES, Reason
from jangar.domain.cancellation.machine import Accepted, Decision
from jangar.domain.cancellation.stop import Stop, timeout_message
from jangar.domain.orchestration.outputs import OutputsProblem, read_outputs
from jangar.domain.work.actions import Read, WorkAction
from jangar.domain.work.facts import JobFacts
from jangar.domain.work.observation import WorkMissing, WorkObservation
from jangar.domain.work.outcome import Outcome, Reading, read_outcome
from jangar.domain.work.record import JobNote, WorkRecord
from jangar.domain.work.recording import PhaseSummary, with_standing
from jangar.domain.work.report import MEMBER, report_of, warning_of
from jangar.domain.work.workflow_status import begun


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlan:
    """Do the `reads` and plan again; without any, record `status`, do `actions` in order, and look again then."""

    status: WorkRecord
    reads: Sequence[Read] = ()
    actions: Sequence[WorkAction] = ()
    look_again_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """An end with what the work returned: outputs are kept of work that succeeded or that was stopped."""

    outcome: Outcome
    outputs: Mapping[str, str] | None = None
    report: Mapping[str, Any] | None = None


class PlanParts:
    """One child in one pass; each method gives a whole plan or a part of its status."""

    def __init__(self, observation: WorkObservation, decision: Decision, now: datetime) -> None:
        self.observation = observation
        self.child = observation.child
        self.limits = observation.limits
        self.decision = decision
        self.now = now
        self.cancel = decision.cancel if isinstance(decision, Accepted) else None
        self.record = replace(observation.recorded, cancel=self.cancel)
        if observation.course and not self.record.stages and not self.record.lifecycle.is_terminal:
            self.record = replace(self.record, stages=begun(observation.course))
        self.expires_at = self._expiry(self.record.job)

    def _expiry(self, note: JobNote | None) -> datetime | None:
        """A limit of a stage counts from its own beginning, that of a child from the child's creation (DAG-10)."""
        if self.child.timeout is None or (note is None and self.observation.course):
            return None
        return ((note.intended_at if note else None) or self.child.created_at) + self.child.timeout

    @property
    def _timed_out(self) -> bool:
        return self.expires_at is not None and self.now >= self.expires_at

    def _read(self, note: JobNote, stop: Stop | None = None) -> Reading:
        job = self.observation.job
        return read_outcome(
            self.observation.template,
            job=job if isinstance(job, JobFacts) else None,
            pods=self.observation.pods,
            stop=stop or self.record.stop,
            first_pod_uid=note.pod_uid,
            seen_running_at=self._seen_running_at(note),
            live=self.observation.live,
        )

    def _seen_running_at(self, note: JobNote) -> datetime | None:
        """Unless our clock is behind: it then saw the Job before the API server had it."""
        job = self.observation.job
        created = job.created_at if isinstance(job, JobFacts) else None
        if created is None or note.observed_at is None or note.observed_at < created:
            return None
        return note.started_at if note.intended_at else self.record.lifecycle.started_at

    def _noted(self, note: JobNote, uid: str | None, pod_uid: str | None) -> JobNote:
        started = self.now if pod_uid is not None and note.intended_at is not None else None
        return replace(
            note,
            uid=uid,
            observed_at=note.observed_at or self.now,
            pod_uid=note.pod_uid or pod_uid,
            started_at=note.started_at or started,
        )

    def _as_recorded(self) -> PhaseSummary:
        lifecycle = self.record.lifecycle
        return PhaseSummary(
            phase=lifecycle.phase or Phase.PENDING,
            reason=lifecycle.reason or Reason.PENDING,
            message=lifecycle.message or "",
            is_blocked=lifecycle.reason in WAITING_CAUSES,
            job_missing=lost_before(self.record) and lifecycle.phase is Phase.PENDING,
        )

    def _timeout_message(self) -> str:
        """With what it waits for now, else with what is recorded that it waits for."""
        lifecycle, work = self.record.lifecycle, self.observation.work
        reason, message = lifecycle.reason, lifecycle.message
        if isinstance(work, WorkMissing) and self.record.job is None:
            reason, message = Reason.REFERENCE_NOT_FOUND, work.message
        return timeout_message(self.child.timeout, reason=reason, message=message)

    def _reading(self, *reads: Read) -> WorkPlan:
        return WorkPlan(status=self.observation.recorded, reads=reads)

    def _waiting(self, standing: PhaseSummary, record: WorkRecord | None = None) -> WorkPlan:
        return WorkPlan(status=self._status(record or self.record, standing), look_again_at=self.expires_at)

    def _ended(self, record: WorkRecord, outcome: Outcome, *, job_missing: bool = False) -> WorkPlan:
        """The outcome is written now; the work is let go by the passes after it (GC-1)."""
        returned = self._returned(record, outcome)
        outcome = returned.outcome
        told = replace(outcome, result=None, pod_uid=None)
        record = replace(record, outcome=told, outputs=returned.outputs, runner=returned.report)
        standing = PhaseSummary(
            phase=outcome.phase, reason=outcome.reason, message=outcome.message, job_missing=job_missing
        )
        return WorkPlan(status=self._status(record, standing))

    def _returned(self, record: WorkRecord, outcome: Outcome) -> Returned:
        """What work that was stopped had written by then is kept; that it is too much fails only what succeeded."""
        outputs: dict[str, str] | None = None
        if outcome.result and (outcome.phase is Phase.SUCCEEDED or record.stop is not None):
            match read_outputs(outcome.result, may_be_cut=True):
                case OutputsProblem(reason=reason, message=message):
                    if outcome.phase is Phase.SUCCEEDED:
                        outcome = replace(outcome, phase=Phase.FAILED, reason=reason, message=message)
                case found:
                    outputs = found
        if not self.observation.reports:
            return Returned(outcome=outcome, outputs=outputs or None)
        own = {name: value for name, value in (outputs or {}).items() if name != MEMBER}
        report = report_of(outcome.result)
        if outcome.phase is Phase.SUCCEEDED:
            outcome = replace(outcome, message=warning_of(report))
        return Returned(outcome=outcome, outputs=own or None, report=report)

    def _status(self, record: WorkRecord, standing: PhaseSummary) -> WorkRecord:
        return with_standing(record, self.observation, standing, self.decision, now=self.now)


def lost_before(record: WorkRecord) -> bool:
    """Whether the attempt before this one ended because its Job was lost."""
    return bool(record.attempts) and record.attempts[-1].outcome.reason == Reason.WORKFLOW_JOB_MISSING
