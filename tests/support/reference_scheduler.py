"""A slow scheduler written only from the contract; the planner is compared with it.

It knows the whole script of a run and steps through time. It shares no code with the planner.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from support.scenarios import (
    CANCEL_TIMEOUT,
    CHILD_MARGIN,
    FIRST_LOOK,
    End,
    OnStop,
    Scenario,
    ScriptedStep,
    When,
)

ENDED = {"Succeeded", "Failed", "Skipped", "Cancelled"}
SKIPPED_BY_NEED = {"DependencyFailed", "DependencySkipped"}


@dataclass(slots=True)
class ExpectedStep:
    """The prediction for a step, and its intermediate state."""

    script: ScriptedStep
    phase: str = "Waiting"  # or Live, Retrying, and the terminal phases
    reason: str = ""
    causes: list[int] = field(default_factory=list)
    """All of them; the record keeps the first ten."""
    children: int = 0
    attempt: int = 0
    began: int = 0
    retry_at: int = 0
    stop: tuple[str, int, int] | None = None
    """Reason, start, end."""

    def ends(self) -> tuple[int, str, bool]:
        """When and how the live attempt ends, and whether it leaves work behind."""
        does = self.script.attempt(self.attempt)
        alone = ordered = self.began + does.pending_for + does.runs_for
        if does.end is End.REFUSED:
            return self.began, does.end, False
        if does.end is End.DELETED_BY_HAND:
            alone += does.grace  # its work is stopped before it is deleted
        if self.stop is None:
            return alone, does.end, False
        reason, since, until = self.stop
        ways = []
        if does.end in {End.SUCCEEDS, End.FAILS} or ordered <= since:
            ways.append((alone, reason, False))
        ways.append((until, reason, True))
        if does.on_stop is OnStop.OBEYS:
            ways.append((since + does.grace, reason, False))
        if does.on_stop is OnStop.WORK_IGNORES:
            ways.append((until - CHILD_MARGIN, reason, True))
        return min(ways, key=lambda way: way[0])


@dataclass(slots=True)
class Expected:
    """The prediction for a run."""

    phase: str = "Running"
    reason: str = ""
    finished: int = 0
    steps: list[ExpectedStep] = field(default_factory=list)
    left_behind: set[tuple[str, int]] = field(default_factory=set)


class Reference:
    """One prediction in progress."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.needs = scenario.needs()
        self.run = Expected(steps=[ExpectedStep(script=step) for step in scenario.steps])
        self.steps = self.run.steps
        self.order: list[int] = []
        while len(self.order) < len(self.steps):
            left = (index for index in range(len(self.steps)) if index not in self.order)
            self.order.append(next(index for index in left if set(self.needs[index]) <= set(self.order)))
        self.cancelled = self.timed_out = False

    def predict(self) -> Expected:
        now = FIRST_LOOK
        while not self.finished(now):
            now = min(moment for moment in self.times() if moment > now)
        return self.run

    def times(self) -> list[int]:
        """Every known time at which something may change."""
        scenario = self.scenario
        candidates = [scenario.defined_at, scenario.cancel_at or 0, scenario.total_timeout or 0]
        candidates += [edge for span in scenario.suspended for edge in span]
        for step in self.steps:
            if step.phase == "Live":
                candidates += [step.ends()[0], step.began + (step.script.timeout or 0)]
            if step.phase == "Retrying":
                candidates.append(step.retry_at)
        return candidates

    def finished(self, now: int) -> bool:
        """Apply everything that happens at this time; ends come before requests."""
        if now < self.scenario.defined_at:
            return self.ended_undefined(now)
        before = None
        while before != (before := [(item.phase, item.attempt, item.stop) for item in self.steps]):
            for step in self.steps:
                limit = step.script.timeout
                if step.phase == "Live" and step.ends()[0] <= now:
                    self.attempt_ends(step, now)
                elif step.phase == "Live" and not step.stop and limit and step.began + limit <= now:
                    step.stop = ("StepTimedOut", now, now + CANCEL_TIMEOUT)
            self.skip_dependents(evaluating=False)
            self.stop_the_run(now)
            if not self.cancelled and not self.timed_out:
                self.start_steps(now)
        if self.run.phase == "Running" and all(step.phase in ENDED for step in self.steps):
            self.fold(now)
        return self.run.phase != "Running"

    def ended_undefined(self, now: int) -> bool:
        """The remaining outcomes of a run that waits for its definition."""
        self.stop_the_run(now)
        if self.cancelled or self.timed_out:
            self.fold(now)
            self.run.steps = []
        return self.cancelled or self.timed_out

    def attempt_ends(self, step: ExpectedStep, now: int) -> None:
        _, how, leaves_work = step.ends()
        step.stop = None
        if leaves_work:
            self.run.left_behind.add((step.script.name, step.attempt))
        retries = step.script.retries if step.script.retries is not None else self.scenario.retries or 0
        again = how in {End.FAILS, "StepTimedOut"} and step.attempt <= retries  # DAG-9
        again = again and (not leaves_work or step.script.retry_when_missing)  # CAN-6
        if how == End.SUCCEEDS:
            step.phase = "Succeeded"
        elif how == End.CANCELLED_BY_HAND:
            step.phase, step.reason = "Cancelled", "ChildCancelled"
        elif how == "Cancelled":
            step.phase, step.reason = "Cancelled", "CancelTimedOut" if leaves_work else "RunCancelled"
        elif again and self.cancelled and not self.timed_out:
            step.phase, step.reason = "Cancelled", "RunCancelled"  # CAN-2: like one that waits to retry
        elif again and not self.timed_out:
            step.phase, step.retry_at = "Retrying", now + step.script.backoff
        else:
            named = {End.FAILS: "NonZeroExit", End.REFUSED: "StartRefused"}
            gone = {End.DELETED_BY_HAND: "ChildDeleted", End.VANISHES: "ChildDeleted"}
            step.phase, step.reason = "Failed", (named | gone).get(how, how)

    def skip_dependents(self, *, evaluating: bool) -> None:
        """DAG-5: each step after all its dependencies, so that consequences at this time are applied at once."""
        for index in self.order:
            step = self.steps[index]
            if step.phase == "Waiting" and (bad := [need for need in self.needs[index] if self.bars(need)]):
                self.skip_for(step, bad)
            elif evaluating and self.may_start(index) and step.script.when is When.FALSE:
                step.phase, step.reason = "Skipped", "ConditionFalse"
            elif evaluating and self.may_start(index) and step.script.when is When.ERROR:
                step.phase, step.reason = "Failed", "ConditionError"

    def may_start(self, index: int) -> bool:
        """DAG-4."""
        return self.steps[index].phase == "Waiting" and all(map(self.condition_allows, self.needs[index]))

    def fail_fast(self) -> None:
        """DAG-6. Started steps continue, and so do their retries."""
        if self.scenario.fail_fast and any(map(self.is_unforgiven, self.steps)):
            for step in self.steps:
                if step.phase == "Waiting":
                    step.phase, step.reason = "Skipped", "FailFast"

    def bars(self, index: int) -> bool:
        step = self.steps[index]
        if step.phase == "Skipped" and step.reason == "ConditionFalse":
            return not self.scenario.sequential
        return step.phase in {"Skipped", "Cancelled"} or self.is_unforgiven(step)

    @staticmethod
    def is_unforgiven(step: ExpectedStep) -> bool:
        return (step.phase == "Failed" and not step.script.forgiven) or step.phase == "Cancelled"

    def skip_for(self, step: ExpectedStep, bad: list[int]) -> None:
        """The nearest failed ancestors; without one, the nearest with a false condition of their own."""
        roots: set[int] = set()
        for need in bad:
            by_need = self.steps[need].reason in SKIPPED_BY_NEED
            roots.update(self.steps[need].causes if by_need else [need])
        failed = sorted(root for root in roots if self.steps[root].phase != "Skipped")
        step.phase, step.reason = "Skipped", "DependencyFailed" if failed else "DependencySkipped"
        step.causes = failed or sorted(roots)

    def stop_the_run(self, now: int) -> None:
        """CAN-2 and DAG-10. A run that is being cancelled no longer times out."""
        if all(step.phase in ENDED for step in self.steps):
            return
        cancel_at, total = self.scenario.cancel_at, self.scenario.total_timeout
        if cancel_at is not None and cancel_at <= now and not self.cancelled:
            self.cancelled = True
            self.cut("Cancelled", "RunCancelled", "Cancelled", now)
        if total and total <= now and not self.timed_out and not self.cancelled:
            self.timed_out = True
            self.cut("RunTimedOut", "RunTimedOut", "Failed", now)

    def cut(self, reason: str, skipped: str, phase: str, now: int) -> None:
        for step in self.steps:
            if step.phase == "Waiting":
                step.phase, step.reason = "Skipped", skipped
            elif step.phase == "Retrying":
                step.phase, step.reason = phase, skipped
            elif step.phase == "Live" and step.stop is None:
                step.stop = (reason, now, now + CANCEL_TIMEOUT)

    def start_steps(self, now: int) -> None:
        """DAG-8: in list order, up to the parallelism limit. DAG-15: nothing while suspended."""
        held = any(begin <= now < end for begin, end in self.scenario.suspended)
        self.skip_dependents(evaluating=not held)
        self.fail_fast()
        for index, step in enumerate(() if held else self.steps):
            due = step.phase == "Retrying" and step.retry_at <= now
            live = sum(item.phase == "Live" for item in self.steps)
            if (self.may_start(index) or due) and live < (self.scenario.max_parallel or len(self.steps)):
                self.start(step, now)
                if step.phase != "Live":
                    return self.start_steps(now)  # an earlier step may be unblocked now
        return None

    def condition_allows(self, need: int) -> bool:
        step = self.steps[need]
        passed_over = self.scenario.sequential and step.reason == "ConditionFalse"
        forgiven = step.phase == "Failed" and step.script.forgiven
        return step.phase == "Succeeded" or forgiven or passed_over

    def start(self, step: ExpectedStep, now: int) -> None:
        if step.script.lacks_input:
            step.phase, step.reason = "Failed", "MissingInput"
        else:
            step.phase, step.began, step.attempt = "Live", now, step.attempt + 1
            step.children += step.script.attempt(step.attempt).end is not End.REFUSED

    def fold(self, now: int) -> None:
        """DAG-7."""
        cut = any(step.reason in {"RunCancelled", "CancelTimedOut"} for step in self.steps)
        late = any(step.reason == "CancelTimedOut" for step in self.steps)
        if self.timed_out:
            self.run.phase, self.run.reason = "Failed", "RunTimedOut"
        elif self.cancelled and cut:
            self.run.phase = "Cancelled"
            self.run.reason = "CancelTimedOut" if late else "Cancelled"
        elif any(map(self.is_unforgiven, self.steps)):
            self.run.phase, self.run.reason = "Failed", "StepFailed"
        else:
            self.run.phase = self.run.reason = "Succeeded"
        self.run.finished = now


def predict(scenario: Scenario, kept: Collection[str] = ()) -> Expected:
    """The outcome of this scenario without delays and losses; `kept` steps succeeded before it."""
    reference = Reference(scenario)
    for step in reference.steps:
        if step.script.name in kept:
            step.phase = "Succeeded"
    return reference.predict()
