"""What follows a Job that came to a good end, where the work is a course: an iteration, the next stage, the end."""

from dataclasses import replace
from typing import assert_never

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.work.observation import WorkRejected
from jangar.domain.work.outcome import Outcome
from jangar.domain.work.plan_parts import PlanParts, WorkPlan
from jangar.domain.work.record import JobNote, WorkRecord
from jangar.domain.work.recording import PhaseSummary
from jangar.domain.work.workflow import CONTROL, Continue, Loop, LoopDone, LoopFailed, after_iteration
from jangar.domain.work.workflow_status import End, again, ended


class WorkflowPlanner(PlanParts):
    """The stages of one child; each method gives a whole plan, or none."""

    def _moves_on(self, note: JobNote) -> bool:
        """Whether the Job that is noted is one of a stage or iteration that is over."""
        stage = self.record.stage
        return stage is not None and not stage.owns(note)

    def _onward(self, record: WorkRecord, outcome: Outcome) -> WorkPlan | None:
        """The plan after an attempt that ended for good; None where that is the end of the child."""
        stage = record.stage
        returned = self._returned(record, outcome)
        if stage is None or returned.outcome.phase is not Phase.SUCCEEDED:
            return None
        end = End(outcome=returned.outcome, outputs=returned.outputs)
        loop = self._loop(stage.name)
        if loop is not None:
            control = (returned.report or {}).get(CONTROL)
            match after_iteration(loop, stage.iteration or 1, returned.report):
                case Continue():
                    stages = again(record, end, control if isinstance(control, dict) else None, self.now)
                    return self._next(replace(record, stages=stages, attempts=(), stop=None))
                case LoopDone(reason=reason, message=message):
                    end = replace(end, stop=reason, message=message)
                case LoopFailed(message=message):
                    broken = replace(
                        outcome, phase=Phase.FAILED, reason=Reason.CONDITION_ERROR, message=message
                    )
                    return self._ended(record, broken)
                case other:
                    assert_never(other)
        record = replace(record, stages=ended(record, end, self.now))
        if record.stage is None:
            return self._ended(record, outcome)
        return self._next(replace(record, attempts=(), stop=None))

    def _loop(self, name: str) -> Loop | None:
        return next((each.loop for each in self.observation.course if each.name == name), None)

    def _next(self, record: WorkRecord) -> WorkPlan:
        standing = next_standing(record)
        if self.cancel is not None:
            standing = PhaseSummary(phase=Phase.CANCELLING, reason=Reason.CANCELLING)
        return WorkPlan(status=self._status(record, standing), look_again_at=self.now)

    def _cannot_begin(self) -> Outcome | None:
        """Why a stage that was never begun fails, where that is known; what is missing is waited for."""
        work = self.observation.work
        if isinstance(work, WorkRejected):
            return Outcome(phase=Phase.FAILED, reason=work.reason, message=work.message)
        return None


def next_standing(record: WorkRecord) -> PhaseSummary:
    """Between two Jobs of a course."""
    stage = record.stage
    name = stage.name if stage else ""
    again = f", iteration {stage.iteration}" if stage and (stage.iteration or 1) > 1 else ""
    return PhaseSummary(phase=Phase.RUNNING, reason=Reason.STARTING, message=f"step {name} is next{again}")
