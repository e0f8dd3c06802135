"""Decides what to do about a run: observation and time in, actions and the next status out.

A controller records the status first and acts second: every action follows from the record, so a crash in between
repeats it. Passing the previous plan makes planning cheaper and changes nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Accepted, Cancel, Decision, Stop, decide
from jangar.domain.orchestration.definition import Definition, RunPolicies, policies_in_force
from jangar.domain.orchestration.planning.actions import Action, PinDefinition, ReadChildren
from jangar.domain.orchestration.planning.cleanup import (
    CleanupPlan,
    cleanup_plan,
    late_children,
    refresh_left_behind,
)
from jangar.domain.orchestration.planning.initial import initial_states, never_started
from jangar.domain.orchestration.planning.observation import ChildrenRead, ChildSeen, Observation
from jangar.domain.orchestration.planning.outcome import (
    RunControls,
    Verdict,
    run_outputs,
    run_verdict,
    verdict_without_definition,
    with_verdict,
)
from jangar.domain.orchestration.planning.progress import Progress
from jangar.domain.orchestration.planning.starting import next_action
from jangar.domain.orchestration.planning.step_transitions import PlanningPass
from jangar.domain.orchestration.state import RunRecord, StepState
from kubekit.times import whole_millisecond


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalState:
    """What one plan keeps for the next plan of the same run."""

    now: datetime
    observation: Observation
    progress: Progress
    waiting: tuple[int, ...]
    unacknowledged: frozenset[int]
    """Steps whose child has not acknowledged its last action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Record `status`, then do `actions` in order, then look again at that time, or when something changes."""

    actions: Sequence[Action] = ()
    status: RunRecord
    look_again_at: datetime | None = None
    basis: IncrementalState | None = field(default=None, compare=False, repr=False)


def plan(observation: Observation, now: datetime, previous: Plan | None = None) -> Plan:
    """What to do about a run now. With `previous`, the same answer for less work."""
    now = whole_millisecond(now)
    recorded = observation.recorded
    decision = decide(
        recorded.cancel,
        observation.run.requested_by,
        phase=recorded.lifecycle.phase,
        enabled=observation.limits.cancel_enabled,
        timeout=observation.limits.cancel_timeout,
        now=now,
        deadline=observation.run.stop_deadline,
    )
    if recorded.lifecycle.is_terminal:
        return _finished(observation, decision, now)
    definition = observation.definition
    unpinned = not observation.pinned and not recorded.steps
    if unpinned or not isinstance(definition, Definition):
        return _not_started(observation, decision, now)
    return _Planner(observation, definition, decision, now).plan(previous)


def _finished(observation: Observation, decision: Decision, now: datetime) -> Plan:
    """The plan of a finished run: its phase is final; it reports a late cancel and cleans up."""
    recorded = observation.recorded
    lifecycle = recorded.lifecycle
    verdict = Verdict(
        phase=lifecycle.phase or Phase.FAILED, reason=lifecycle.reason or "", message=lifecycle.message or ""
    )
    listed = (*recorded.left_behind, *late_children(recorded, observation.children))
    record = replace(recorded, left_behind=refresh_left_behind(listed, observation.children, now))
    status = with_verdict(record, observation, verdict, decision, now=now)
    after = cleanup_plan(observation, status, now)
    return Plan(status=status, actions=after.actions, look_again_at=after.look_again_at)


def _not_started(observation: Observation, decision: Decision, now: datetime) -> Plan:
    """The plan of a run whose definition is missing, invalid or not stored yet (DAG-3): nothing starts."""
    definition = observation.definition
    defined = definition.policies if isinstance(definition, Definition) else None
    deadline = _run_deadline(observation, policies_in_force(defined, observation.run.policies))
    verdict = verdict_without_definition(
        definition,
        cancelled=isinstance(decision, Accepted),
        timed_out=deadline is not None and now >= deadline,
    )
    cancel = decision.cancel if isinstance(decision, Accepted) else None
    record = replace(observation.recorded, cancel=cancel)
    if verdict.phase in TERMINAL and isinstance(definition, Definition):
        reason = Reason.RUN_CANCELLED if verdict.phase is Phase.CANCELLED else Reason.RUN_TIMED_OUT
        record = replace(record, mode=definition.mode, steps=never_started(definition, reason, now))
    status = with_verdict(record, observation, verdict, decision, now=now)
    if verdict.phase in TERMINAL:
        after = cleanup_plan(observation, status, now)
        return Plan(status=status, actions=after.actions, look_again_at=after.look_again_at)
    actions = (PinDefinition(),) if isinstance(definition, Definition) else ()
    return Plan(status=status, actions=actions, look_again_at=deadline)


def _run_deadline(observation: Observation, policies: RunPolicies) -> datetime | None:
    return observation.run.created_at + policies.timeout if policies.timeout else None


class _Planner:
    """Plans a run that has a definition and has not ended."""

    def __init__(
        self, observation: Observation, definition: Definition, decision: Decision, now: datetime
    ) -> None:
        self.observation = observation
        self.definition = definition
        self.decision = decision
        self.now = now
        self.policies = policies_in_force(definition.policies, observation.run.policies)
        self.cancel: Cancel | None = decision.cancel if isinstance(decision, Accepted) else None
        self.stop: Stop | None = observation.recorded.stop
        self.deadline = _run_deadline(observation, self.policies)

    def plan(self, previous: Plan | None) -> Plan:
        basis = self._reusable_state(previous)
        if basis is not None:
            work = self._pass(basis.progress.copy(), basis.waiting)
            to_check = {*self._changed_children(basis), *work.progress.due(self.now)}
        else:
            states = self.observation.recorded.steps or initial_states(
                self.definition, self.observation.reused, self.now
            )
            work = self._pass(Progress(self.definition, states), ())
            work.progress.due(self.now)
            work.refresh_hashes()
            to_check = work.progress.live.copy()
        self._work(work, to_check, resumed=basis is not None)
        status = self._status(work)
        unacknowledged = self._unacknowledged(work, basis, to_check)
        actions: list[Action] = [action for _, action in unacknowledged]
        after = self._cleanup_plan(status)
        return Plan(
            status=status,
            actions=(*actions, *after.actions),
            look_again_at=self._look_again_at(work, status, after),
            basis=IncrementalState(
                now=self.now,
                observation=replace(self.observation, recorded=status),
                progress=work.progress,
                waiting=(*work.waiting, *work.waiting_free),
                unacknowledged=frozenset(index for index, _ in unacknowledged),
            ),
        )

    def _pass(self, progress: Progress, waiting: Sequence[int]) -> PlanningPass:
        return PlanningPass(self.observation, self.definition, progress, waiting, self.policies, self.now)

    def _work(self, work: PlanningPass, to_check: set[int], *, resumed: bool) -> None:
        """Apply the rules in order: results of children, then stops, then new starts."""
        stopping = self.cancel is not None or self.stop is not None
        # An attempt that is not retried because of a cancel is treated like one that waits to retry.
        work.settle(to_check, self.observation.children, stopping=self.stop is not None)
        work.skip_dependents()
        if stopping and resumed and not work.progress.retrying:
            return
        if self._times_out(work):
            self.stop = Stop(
                requested_at=self.now,
                reason=Reason.RUN_TIMED_OUT,
                deadline=self.now + self.observation.limits.cancel_timeout,
            )
        if self.stop is not None:
            nearest = min(self.stop.deadline, self.cancel.deadline) if self.cancel else self.stop.deadline
            work.stop_for_timeout(replace(self.stop, deadline=nearest))
        elif self.cancel is not None:
            work.stop_for_cancel(self.cancel.deadline)
        else:
            work.start()
            while known := work.started_with_existing_child(self.observation.children):
                work.settle(known, self.observation.children, stopping=False)
                work.start()

    def _times_out(self, work: PlanningPass) -> bool:
        due = self.deadline is not None and self.now >= self.deadline
        return due and self.stop is None and self.cancel is None and not work.progress.all_terminal

    def _status(self, work: PlanningPass) -> RunRecord:
        recorded, progress = self.observation.recorded, work.progress
        known = refresh_left_behind(recorded.left_behind, self.observation.children, self.now)
        left_behind = (*known, *work.left_behind)
        started = recorded.lifecycle.started_at is not None or any(state.attempt for state in progress.states)
        verdict = run_verdict(progress, self._controls(started=started), started=started)
        outputs = None
        if verdict.phase is Phase.SUCCEEDED:
            verdict, outputs = run_outputs(self.definition, work.scope, verdict)
        record = RunRecord(
            lifecycle=recorded.lifecycle,
            mode=self.definition.mode,
            steps=self._steps(progress),
            cancel=self.cancel,
            stop=self.stop,
            left_behind=left_behind,
            outputs=outputs,
        )
        return with_verdict(
            record,
            self.observation,
            verdict,
            self.decision,
            now=self.now,
            started=started,
            unforgiven=bool(progress.unforgiven),
            children_finished_at=self._children_finished_at() if verdict.phase in TERMINAL else None,
        )

    def _steps(self, progress: Progress) -> tuple[StepState, ...]:
        recorded = self.observation.recorded.steps
        return recorded if recorded and not progress.changed else tuple(progress.states)

    def _controls(self, *, started: bool) -> RunControls:
        return RunControls(
            cancelled=self.cancel is not None,
            timed_out=self.stop is not None,
            suspended=self.observation.run.suspend,
            held=self.cancel is not None and started and self._children_read() is ChildrenRead.NOT_YET,
        )

    def _children_read(self) -> ChildrenRead:
        """How far children were read since the cancel was recorded."""
        return self.observation.children_read if self.observation.recorded.cancel else ChildrenRead.NOT_YET

    def _children_finished_at(self) -> datetime | None:
        left = {item.name for item in self.observation.recorded.left_behind}
        ends = [
            child.finished_at
            for child in self.observation.children.values()
            if isinstance(child, ChildSeen) and child.finished_at is not None and child.name not in left
        ]
        return max(ends, default=None)

    def _unacknowledged(
        self, work: PlanningPass, basis: IncrementalState | None, to_check: set[int]
    ) -> list[tuple[int, Action]]:
        """Live steps whose child has not acknowledged its action, with that action, in list order."""
        candidates = (
            work.progress.live
            if basis is None
            else {*basis.unacknowledged, *to_check, *work.progress.changed}
        )
        pending: list[tuple[int, Action]] = []
        for index in sorted(candidates & work.progress.live):
            state = work.progress.states[index]
            child = self.observation.children.get(state.child or "")
            action = next_action(self.observation, self.definition.steps[index], state, child, work.scope)
            if action is not None:
                pending.append((index, action))
        return pending

    def _cleanup_plan(self, status: RunRecord) -> CleanupPlan:
        after = cleanup_plan(self.observation, status, self.now)
        if status.lifecycle.is_terminal or self.cancel is None:
            return after
        if self._children_read() is ChildrenRead.NOT_YET:
            return replace(after, actions=(ReadChildren(), *after.actions))
        return after

    def _look_again_at(self, work: PlanningPass, status: RunRecord, after: CleanupPlan) -> datetime | None:
        times = [after.look_again_at]
        if not status.lifecycle.is_terminal:
            times.append(work.progress.next_timer(self.now))
            if self.cancel is None and self.stop is None:
                times.append(self.deadline)
        return min((time for time in times if time is not None), default=None)

    def _reusable_state(self, previous: Plan | None) -> IncrementalState | None:
        """The state of the previous plan, if only children and time can have changed since."""
        basis = previous.basis if previous is not None else None
        if basis is None or self.cancel != basis.observation.recorded.cancel:
            return None
        current, previous_observation = self.observation, basis.observation
        same = (
            self.now
            >= basis.now  # timers that have fired are gone; a clock that was set back needs them again
            and current.recorded.steps is previous_observation.recorded.steps
            and current.definition is previous_observation.definition
            and current.recorded.stop == previous_observation.recorded.stop
            and current.run == previous_observation.run
            and current.limits == previous_observation.limits
        )
        return basis if same else None

    def _changed_children(self, basis: IncrementalState) -> list[int]:
        """Live steps whose child changed since the previous plan."""
        now_seen, before = self.observation.children, basis.observation.children
        states = basis.progress.states
        changed = []
        for index in basis.progress.live:
            name = states[index].child or ""
            if now_seen.get(name) is not before.get(name):
                changed.append(index)
        return changed
