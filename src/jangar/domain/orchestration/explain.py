"""Why a step is as it is, in words (RUN-4). Asks the same rules that decided; the CLI and the web page say the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jangar.api.orchestration import Policies
from jangar.api.phases import Phase, StepPhase
from jangar.api.reasons import NEVER_RETRIED, Reason
from jangar.domain.cancellation import IGNORED_TERM
from jangar.domain.orchestration.definition import Definition, RunPolicies, StepDefinition, policies_in_force
from jangar.domain.orchestration.state import RunRecord, StepState, releases
from jangar.kinds.registry import creates_child
from kubekit.times import rfc3339

SHOWN_NEEDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a step is doing and why."""

    step: str
    phase: StepPhase
    reason: str
    sentence: str
    waits_for: tuple[str, ...] = ()
    """Steps that must end well first."""
    until: datetime | None = None
    """When the answer changes by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What explaining needs to know of a run."""

    definition: Definition
    record: RunRecord
    policies: Policies | None = None
    suspended: bool = False
    states: Sequence[StepState] = field(init=False)
    in_force: RunPolicies = field(init=False)
    is_full: bool = field(init=False)
    """No further step may have a live child."""

    def __post_init__(self) -> None:
        in_force = policies_in_force(self.definition.policies, self.policies)
        states = self.record.steps or self.definition.fresh
        live = sum(1 for state in states if state.is_live and creates_child(state.kind))
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "in_force", in_force)
        object.__setattr__(
            self, "is_full", in_force.max_parallel is not None and live >= in_force.max_parallel
        )


def explain_step(run: RunView, name: str) -> Explanation | None:
    """Why this step is as it is; None if the run has no such step."""
    names = run.definition.graph.names
    return explanation(run, names.index(name)) if name in names else None


def explain_run(run: RunView) -> tuple[Explanation, ...]:
    """The same for every step that has not succeeded, in list order."""
    return tuple(
        explanation(run, index)
        for index, state in enumerate(run.states)
        if state.phase is not StepPhase.SUCCEEDED
    )


def explanation(run: RunView, index: int) -> Explanation:
    """Why the step at this place is as it is."""
    step, state = run.definition.steps[index], run.states[index]
    match state.phase:
        case StepPhase.PENDING if not state.attempt:
            return _unstarted(run, step, state)
        case StepPhase.PENDING | StepPhase.RUNNING:
            return _live(run, step, state)
        case StepPhase.RETRYING:
            return _retrying(run, step, state)
        case _:
            return _explain_as(state, _ended(run, step, state))


def _explain_as(
    state: StepState,
    sentence: str,
    *,
    reason: str | None = None,
    waits_for: tuple[str, ...] = (),
    until: datetime | None = None,
) -> Explanation:
    return Explanation(
        step=state.name,
        phase=state.phase,
        reason=str(state.reason if reason is None else reason),
        sentence=sentence,
        waits_for=waits_for,
        until=until,
    )


def _unstarted(run: RunView, step: StepDefinition, state: StepState) -> Explanation:
    needed = [run.states[need] for need in step.needs]
    unmet = [item for item in needed if not releases(item, run.definition.mode)]
    if unmet:
        shown = ", ".join(f"{item.name} ({item.phase})" for item in unmet[:SHOWN_NEEDS])
        more = f" and {len(unmet) - SHOWN_NEEDS} more" if len(unmet) > SHOWN_NEEDS else ""
        names = tuple(item.name for item in unmet)
        return _explain_as(
            state, f"waits for {shown}{more}", reason=Reason.WAITING_FOR_DEPENDENCIES, waits_for=names
        )
    if run.suspended:
        sentence = "the run is suspended: set spec.suspend to false to resume it"
        return _explain_as(state, sentence, reason=Reason.SUSPENDED)
    if run.is_full and creates_child(step.kind):
        limit = run.in_force.max_parallel
        sentence = (
            f"waits for a free slot: {limit} of {limit} parallel steps are running (policies.maxParallel)"
        )
        return _explain_as(state, sentence, reason=Reason.WAITING_FOR_PLACE)
    lifecycle = run.record.lifecycle
    if lifecycle.phase in (None, Phase.PENDING):
        sentence = "the run has not started" + (f": {lifecycle.message}" if lifecycle.message else "")
        return _explain_as(state, sentence, reason=lifecycle.reason or Reason.PENDING)
    return _explain_as(state, "ready to start", reason=Reason.PENDING)


def _live(run: RunView, step: StepDefinition, state: StepState) -> Explanation:
    attempt = _attempt(run, step, state)
    if state.stop is not None:
        sentence = (
            f"{attempt} is being stopped ({state.stop.reason}); "
            f"waiting for its work to end, at most until {rfc3339(state.stop.deadline)}"
        )
        return _explain_as(state, sentence, until=state.stop.deadline)
    until = state.attempt_started_at + step.timeout if step.timeout and state.attempt_started_at else None
    limit = f"; it times out at {rfc3339(until)}" if until else ""
    if state.phase is StepPhase.PENDING:
        why = f": {state.message}" if state.message else ""
        return _explain_as(
            state, f"{attempt} has started and is waiting ({state.reason}){why}{limit}", until=until
        )
    return _explain_as(state, f"{attempt} is running{limit}", until=until)


def _retrying(run: RunView, step: StepDefinition, state: StepState) -> Explanation:
    why = f"{state.reason}: {state.message}" if state.message else str(state.reason)
    when = f" at {rfc3339(state.next_retry_at)}" if state.next_retry_at else ""
    attempts = 1 + _retries(run, step)
    sentence = (
        f"attempt {state.attempt} of {attempts} failed ({why}); attempt {state.attempt + 1} starts{when}"
    )
    if run.suspended:
        sentence += ", once the run is resumed"
    elif run.is_full:
        sentence += ", once a slot is free (policies.maxParallel)"
    return _explain_as(state, sentence, until=state.next_retry_at)


def _attempt(run: RunView, step: StepDefinition, state: StepState) -> str:
    total = 1 + _retries(run, step)
    return f"attempt {state.attempt} of {total}" if total > 1 else step.adapter.explain(step.target)


def _retries(run: RunView, step: StepDefinition) -> int:
    return step.retries if step.retries is not None else run.in_force.retries


_SKIPPED: Mapping[str, str] = {
    Reason.CONDITION_FALSE: "skipped: its own condition (when) is false",
    Reason.RUN_CANCELLED: "skipped: the run was cancelled before this step started",
    Reason.RUN_TIMED_OUT: "skipped: the run reached its time limit before this step started",
    Reason.FAIL_FAST: "skipped: another step failed and policies.failFast is true",
}

_CANCELLED: Mapping[str, str] = {
    Reason.RUN_CANCELLED: "cancelled together with the run",
    Reason.CANCEL_TIMED_OUT: "cancelled, but its work did not stop by the deadline and may still be running",
    Reason.CHILD_CANCELLED: "its child was cancelled directly; this always fails the run and is never retried",
}


def _ended(run: RunView, step: StepDefinition, state: StepState) -> str:
    match state.phase:
        case StepPhase.SUCCEEDED:
            return state.message if state.reason == Reason.REUSED else "succeeded"
        case StepPhase.SKIPPED if state.causes:
            return _skipped_for(state)
        case StepPhase.SKIPPED:
            return _SKIPPED.get(state.reason, f"skipped: {state.reason}")
        case StepPhase.CANCELLED:
            sentence = _CANCELLED.get(state.reason, f"cancelled: {state.reason}")
            return f"{sentence}; {state.message}" if _ignored_term(state) else sentence
        case _:
            return _failed(run, step, state)


def _ignored_term(state: StepState) -> bool:
    """Whether its work was killed at the end of its grace period, which its message says."""
    return IGNORED_TERM in state.message


def _skipped_for(state: StepState) -> str:
    more = state.causes_total - len(state.causes)
    names = ", ".join(state.causes) + (f" and {more} more" if more > 0 else "")
    if state.reason == Reason.DEPENDENCY_SKIPPED:
        return f"skipped: it depends on {names}, skipped by a condition (when) that is false"
    return f"skipped: it depends on {names}, which did not succeed"


def _failed(run: RunView, step: StepDefinition, state: StepState) -> str:
    why = f"{state.reason}: {state.message}" if state.message else str(state.reason)
    sentence = f"failed ({why})"
    retries = _retries(run, step)
    if state.reason in NEVER_RETRIED:
        sentence += "; a failure of this kind is never retried"
    elif retries and state.attempt <= retries:
        sentence += f" in attempt {state.attempt} of {retries + 1}, and was not retried"
    elif retries:
        sentence += f" in the last of {retries + 1} attempts"
    return sentence + ("; ignored because of continueOnFailure" if state.failure_ignored else "")
