"""One pass over the steps of a run: apply children's results, skip, stop, start.

Nothing that can be decided now is left for the next pass. The rules are in `child_results`, `state` and
`starting`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import heapify, heappop, heappush

from jangar.api.phases import ExecutionMode, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import LeftBehind, Stop
from jangar.domain.orchestration.definition import Definition, RunPolicies
from jangar.domain.orchestration.planning.child_results import (
    ChildStateRules,
    apply_child_state,
    fail_step,
    mark_stopping,
    transition,
)
from jangar.domain.orchestration.planning.observation import Child, ChildSeen, Observation
from jangar.domain.orchestration.planning.progress import Progress
from jangar.domain.orchestration.planning.starting import evaluate_when, expected_child_hash, start_attempt
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.state import StepState, blocks_dependents
from jangar.kinds.registry import creates_child

MAX_CAUSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The closest ancestors that cause a step to be skipped, by index in list order."""

    failed: tuple[int, ...] = ()
    skipped_by_condition: tuple[int, ...] = ()
    """Steps whose own condition was false."""

    @property
    def reason(self) -> Reason:
        return Reason.DEPENDENCY_FAILED if self.failed else Reason.DEPENDENCY_SKIPPED

    @property
    def causes(self) -> tuple[int, ...]:
        return self.failed or self.skipped_by_condition


class PlanningPass:
    """The transitions of one pass, to be called in the order in which they are defined."""

    def __init__(
        self,
        observation: Observation,
        definition: Definition,
        progress: Progress,
        waiting: Iterable[int],
        policies: RunPolicies,
        now: datetime,
    ) -> None:
        self.observation = observation
        self.definition = definition
        self.progress = progress
        self.policies = policies
        self.now = now
        self.waiting = [index for index in waiting if creates_child(definition.steps[index].kind)]
        self.waiting_free = [index for index in waiting if not creates_child(definition.steps[index].kind)]
        heapify(self.waiting)
        heapify(self.waiting_free)
        self.left_behind: list[LeftBehind] = []
        self.scope = Scope(definition, observation.run.parameters, progress.states)
        self._roots: dict[int, Roots] = {}

    def refresh_hashes(self) -> None:
        """Record the hashes of children that were not observed yet; earlier versions recorded none or others."""
        for index in sorted(self.progress.live):
            step, state = self.definition.steps[index], self.progress.states[index]
            if state.child_uid is None and state.stop is None:
                expected = expected_child_hash(step, state.attempt, self.observation.run, self.scope)
                if expected != state.child_hash:
                    self.progress.move(index, replace(state, child_hash=expected))

    def settle(self, indexes: Iterable[int], children: Mapping[str, Child], *, stopping: bool) -> None:
        """Apply the states of the children of these live steps."""
        rules = ChildStateRules(
            now=self.now,
            default_retries=self.policies.retries,
            stop_timeout=self.observation.limits.cancel_timeout,
            retries_allowed=not stopping,
        )
        for index in sorted(indexes):
            state = self.progress.states[index]
            if not state.is_live:
                continue
            found = apply_child_state(
                self.definition.steps[index], state, children.get(state.child or ""), rules
            )
            if found.left_behind:
                self.left_behind.append(
                    LeftBehind(
                        kind=self.definition.steps[index].adapter.child_name,
                        name=state.child or "",
                        uid=found.state.child_uid,
                    )
                )
            self.progress.move(index, found.state)

    def started_with_existing_child(self, children: Mapping[str, Child]) -> list[int]:
        """Steps started in this pass whose child exists already, because the run lost its record."""
        states = self.progress.states
        return [
            index
            for index in self.progress.changed & self.progress.live
            if states[index].child_uid is None
            and isinstance(children.get(states[index].child or ""), ChildSeen)
        ]

    def skip_dependents(self) -> None:
        """Skip the steps whose dependencies did not succeed; evaluate no condition, start nothing."""
        self._cascade(evaluating=False)

    def stop_for_cancel(self, deadline: datetime) -> None:
        """Apply a cancel: skip steps that have not started, cancel steps that wait to retry, stop running ones."""
        for index in self.progress.unstarted():
            self._move(index, StepPhase.SKIPPED, Reason.RUN_CANCELLED)
        for index in sorted(self.progress.retrying):
            self._move(index, StepPhase.CANCELLED, Reason.RUN_CANCELLED, "cancelled while waiting to retry")
        self._announce(Stop(requested_at=self.now, reason=Reason.CANCELLED, deadline=deadline))

    def stop_for_timeout(self, stop: Stop) -> None:
        """Apply the run's own time limit: the same as a cancel, as a failure."""
        for index in self.progress.unstarted():
            self._move(index, StepPhase.SKIPPED, Reason.RUN_TIMED_OUT)
        for index in sorted(self.progress.retrying):
            step, state = self.definition.steps[index], self.progress.states[index]
            message = "the run timed out while the step was waiting to retry"
            self.progress.move(index, fail_step(step, state, Reason.RUN_TIMED_OUT, message, self.now))
        self._announce(stop)

    def _announce(self, stop: Stop) -> None:
        self._clear_waiting()
        for index in sorted(self.progress.live):
            self.progress.move(index, mark_stopping(self.progress.states[index], stop))

    def start(self) -> None:
        """Start ready steps in list order up to maxParallel; a start that fails frees its slot immediately."""
        suspended = self.observation.run.suspend
        free, placed = ([], []) if suspended else self._due_retries()
        while True:
            self._cascade(evaluating=not suspended)
            self._fail_fast()
            if suspended or not self._start_one(free, placed):
                return

    def _due_retries(self) -> tuple[list[int], list[int]]:
        """Steps whose retry is due: those that need no slot, and those that do; both in list order."""
        due = sorted(filter(self._is_due, self.progress.retrying))
        steps = self.definition.steps
        placed = [index for index in due if creates_child(steps[index].kind)]
        return [index for index in due if not creates_child(steps[index].kind)], placed

    def _is_due(self, index: int) -> bool:
        when = self.progress.states[index].next_retry_at
        return when is None or when <= self.now

    def _start_one(self, free: list[int], placed: list[int]) -> bool:
        """Start the next attempts; True if one of them failed to start, which may affect other steps."""
        while (index := self._next_start(free, placed)) is not None:
            step, state = self.definition.steps[index], self.progress.states[index]
            state = start_attempt(
                step, state, self.observation.run, self.observation.limits, self.scope, self.now
            )
            self.progress.move(index, state)
            if state.is_terminal:
                return True
        return False

    def _next_start(self, free: list[int], placed: list[int]) -> int | None:
        if self.waiting_free or free:
            return heappop(self.waiting_free or free)
        limit = self.policies.max_parallel
        if limit is not None and self.progress.placed >= limit:
            return None
        first_wait = self.waiting[0] if self.waiting else None
        first_retry = placed[0] if placed else None
        if first_wait is not None and (first_retry is None or first_wait < first_retry):
            return heappop(self.waiting)
        return heappop(placed) if placed else None

    def _cascade(self, *, evaluating: bool) -> None:
        """Skip or make ready every touched step; without evaluating, those that may start stay touched."""
        unevaluated: list[int] = []
        while (index := self.progress.next_touched()) is not None:
            if self.progress.unmet[index]:
                self._skip(index)
            elif evaluating:
                self._evaluate(index)
            else:
                unevaluated.append(index)
        self.progress.touch(unevaluated)

    def _evaluate(self, index: int) -> None:
        step, state = self.definition.steps[index], self.progress.states[index]
        found = evaluate_when(step, state, self.scope, self.now)
        if found is state:
            heappush(self.waiting if creates_child(step.kind) else self.waiting_free, index)
        self.progress.move(index, found)

    def _skip(self, index: int) -> None:
        needs = self.definition.graph.needs[index]
        roots = roots_of(needs, self.progress.states, self.definition.mode, self._known_roots)
        self._roots[index] = roots
        names = [self.definition.graph.names[cause] for cause in roots.causes]
        state = transition(self.progress.states[index], self.now, StepPhase.SKIPPED, roots.reason)
        shown = tuple(names[:MAX_CAUSES])
        self.progress.move(index, replace(state, causes=shown, causes_total=len(names)))

    def _known_roots(self, index: int) -> Roots:
        """The roots of a skipped step, from this pass or from its record."""
        if index not in self._roots:
            state = self.progress.states[index]
            indexes_of_causes = sorted(self.definition.graph.names.index(cause) for cause in state.causes)
            has_failed_cause = state.reason == Reason.DEPENDENCY_FAILED
            self._roots[index] = Roots(
                failed=tuple(indexes_of_causes) if has_failed_cause else (),
                skipped_by_condition=() if has_failed_cause else tuple(indexes_of_causes),
            )
        return self._roots[index]

    def _fail_fast(self) -> None:
        if not (self.policies.fail_fast and self.progress.unforgiven):
            return
        if not self.progress.tally.by_phase.get(StepPhase.PENDING):
            return
        for index in self.progress.unstarted():
            self._move(index, StepPhase.SKIPPED, Reason.FAIL_FAST)
        self._clear_waiting()

    def _clear_waiting(self) -> None:
        self.waiting.clear()
        self.waiting_free.clear()

    def _move(self, index: int, phase: StepPhase, reason: Reason, message: str = "") -> None:
        self.progress.move(index, transition(self.progress.states[index], self.now, phase, reason, message))


def roots_of(
    needs: Iterable[int],
    states: Sequence[StepState],
    mode: ExecutionMode,
    known: Callable[[int], Roots],
) -> Roots:
    """Why a step with these needs is skipped. `known` returns the roots of a dependency that was itself skipped."""
    found = [_root(need, states[need], known) for need in needs if blocks_dependents(states[need], mode)]
    first = found[0]
    if all(item == first for item in found):
        return first
    return Roots(
        failed=tuple(sorted({index for item in found for index in item.failed})),
        skipped_by_condition=tuple(sorted({index for item in found for index in item.skipped_by_condition})),
    )


def _root(index: int, state: StepState, known: Callable[[int], Roots]) -> Roots:
    if state.phase is not StepPhase.SKIPPED:
        return Roots(failed=(index,))
    if state.reason == Reason.CONDITION_FALSE:
        return Roots(skipped_by_condition=(index,))
    return known(index)
