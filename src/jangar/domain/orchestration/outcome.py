"""The phase of a run as a fold over all its steps (DAG-7). Knows counts and what was asked; knows no single child."""

from dataclasses import dataclass

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.progress import Progress

SHOWN_FAILURES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A run's phase and why."""

    phase: Phase
    reason: str
    message: str = ""
    blocked: bool = False
    """Something the run needs does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunControls:
    """What was asked of the run as a whole."""

    cancelled: bool = False
    """A cancel was accepted."""
    timed_out: bool = False
    """The run's own time limit fired."""
    suspended: bool = False
    held: bool = False
    """Every step has ended, but children must still be looked for before the run may."""


def run_verdict(progress: Progress, controls: RunControls, *, started: bool) -> Verdict:
    """The run's phase. Nothing but the steps and what was asked decides."""
    if not progress.all_terminal or controls.held:
        return _unfinished(controls, started=started)
    if controls.timed_out:
        return Verdict(
            phase=Phase.FAILED, reason=Reason.RUN_TIMED_OUT, message="the run reached its time limit"
        )
    if controls.cancelled and progress.cut:
        late = any(state.reason == Reason.CANCEL_TIMED_OUT for state in progress.states)
        reason = Reason.CANCEL_TIMED_OUT if late else Reason.CANCELLED
        return Verdict(phase=Phase.CANCELLED, reason=reason, message=_cancelled_message(progress, late=late))
    if progress.unforgiven:
        return Verdict(phase=Phase.FAILED, reason=Reason.STEP_FAILED, message=failure_message(progress))
    return Verdict(phase=Phase.SUCCEEDED, reason=Reason.SUCCEEDED, message=_success_message(progress))


def _unfinished(controls: RunControls, *, started: bool) -> Verdict:
    if controls.cancelled:
        return Verdict(
            phase=Phase.CANCELLING, reason=Reason.CANCELLING, message="waiting for running work to stop"
        )
    if controls.timed_out:
        return Verdict(phase=Phase.RUNNING, reason=Reason.STOPPING, message="the run reached its time limit")
    if controls.suspended:
        return Verdict(
            phase=Phase.RUNNING if started else Phase.PENDING,
            reason=Reason.SUSPENDED,
            message="nothing new starts until spec.suspend is false",
        )
    return (
        Verdict(phase=Phase.RUNNING, reason=Reason.RUNNING)
        if started
        else Verdict(phase=Phase.PENDING, reason=Reason.PENDING)
    )


def failure_message(progress: Progress) -> str:
    """Which steps failed and why, the first few in list order."""
    failed = sorted(progress.unforgiven)
    shown = [progress.states[index] for index in failed[:SHOWN_FAILURES]]
    parts = [
        f"step {state.name} {state.phase.lower()}: {state.reason}"
        + (f" ({state.message})" if state.message else "")
        for state in shown
    ]
    more = len(failed) - len(shown)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def _cancelled_message(progress: Progress, *, late: bool) -> str:
    cut = f"cancelled; {progress.cut} of {len(progress.states)} steps were interrupted or never started"
    return f"{cut}; some work may still be running, see status.cancel.leftBehind" if late else cut


def _success_message(progress: Progress) -> str:
    ignored = progress.tally.ignored
    return (
        f"{ignored} failed step{'s' if ignored > 1 else ''} ignored because of continueOnFailure"
        if ignored
        else ""
    )
