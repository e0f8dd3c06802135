"""What every plan for a child's work is put together from: ask, wait, or end, and the status that goes with it.

Decides nothing about which of them it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.machine import Accepted, Decision
from jangar.domain.cancellation.stop import Stop
from jangar.domain.orchestration.outputs import OutputsProblem, read_outputs
from jangar.domain.work.actions import Read, WorkAction
from jangar.domain.work.facts import JobFacts
from jangar.domain.work.observation import WorkObservation
from jangar.domain.work.outcome import Outcome, Reading, read_outcome
from jangar.domain.work.record import JobNote, WorkRecord
from jangar.domain.work.recording import Standing, with_standing


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlan:
    """Do the `reads` and plan again; without any, record `status`, do `actions` in order, and look again then."""

    status: WorkRecord
    reads: Sequence[Read] = ()
    actions: Sequence[WorkAction] = ()
    look_again_at: datetime | None = None


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
        self.expires_at = self.child.created_at + self.child.timeout if self.child.timeout else None

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
        return self.record.lifecycle.started_at

    def _noted(self, note: JobNote, uid: str | None, pod_uid: str | None) -> JobNote:
        return replace(
            note, uid=uid, observed_at=note.observed_at or self.now, pod_uid=note.pod_uid or pod_uid
        )

    def _as_recorded(self) -> Standing:
        lifecycle = self.record.lifecycle
        return Standing(
            phase=lifecycle.phase or Phase.PENDING,
            reason=lifecycle.reason or Reason.PENDING,
            message=lifecycle.message or "",
            job_missing=bool(self.record.attempts) and lifecycle.phase is Phase.PENDING,
        )

    def _reading(self, *reads: Read) -> WorkPlan:
        return WorkPlan(status=self.observation.recorded, reads=reads)

    def _waiting(self, standing: Standing, record: WorkRecord | None = None) -> WorkPlan:
        return WorkPlan(status=self._status(record or self.record, standing), look_again_at=self.expires_at)

    def _ended(self, record: WorkRecord, outcome: Outcome, *, job_missing: bool = False) -> WorkPlan:
        """The outcome is written now; the work is let go by the passes after it (GC-1)."""
        outputs: dict[str, str] | None = None
        if outcome.result and outcome.phase is Phase.SUCCEEDED:
            match read_outputs(outcome.result, may_be_cut=True):
                case OutputsProblem(reason=reason, message=message):
                    outcome = replace(outcome, phase=Phase.FAILED, reason=reason, message=message)
                case found:
                    outputs = found
        told = replace(outcome, result=None, pod_uid=None)
        record = replace(record, outcome=told, outputs=outputs or None)
        standing = Standing(
            phase=outcome.phase, reason=outcome.reason, message=outcome.message, job_missing=job_missing
        )
        return WorkPlan(status=self._status(record, standing))

    def _status(self, record: WorkRecord, standing: Standing) -> WorkRecord:
        return with_standing(record, self.observation, standing, self.decision, now=self.now)
