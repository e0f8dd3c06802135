"""Random scripts of runs: a definition, the behavior of each attempt, and user actions.

Times are milliseconds since the run's creation. A script contains no expected outcome.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from jangar.api.phases import StepKind
from jangar.domain.cancellation import Requester
from jangar.domain.orchestration.definition import Definition
from support.builders import a_definition, a_step

SECOND = 1000
FIRST_LOOK = 250
"""The controller's first observation, so that nothing coincides with the run's total timeout."""
CANCEL_TIMEOUT = 60 * SECOND
CHILD_MARGIN = 2 * SECOND
OWNERS_PATIENCE = 20 * SECOND
"""How long a parent run waits after a stop request."""


class End(StrEnum):
    """How an attempt ends if it is not stopped."""

    SUCCEEDS = "succeeds"
    FAILS = "fails"
    CANCELLED_BY_HAND = "cancelled by hand"
    DELETED_BY_HAND = "deleted by hand"
    VANISHES = "vanishes"
    REFUSED = "refused"


class OnStop(StrEnum):
    """The reaction of a child to a stop request."""

    OBEYS = "obeys after its grace"
    WORK_IGNORES = "gives up at its deadline: its work keeps running"
    IGNORES = "keeps running despite the request"


class When(StrEnum):
    """The value of the step's condition."""

    TRUE = "1 < 2"
    FALSE = "1 > 2"
    ERROR = "nowhere.at_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The behavior of one attempt of a step."""

    end: End = End.SUCCEEDS
    pending_for: int = 0
    runs_for: int = 5 * SECOND
    on_stop: OnStop = OnStop.OBEYS
    grace: int = SECOND
    names_the_limit: bool = False
    """Stopped by a timeout, it ends as Failed with that reason and not as Cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedStep:
    """A step and its attempts; the last one is repeated."""

    name: str
    needs: tuple[int, ...] = ()
    kind: StepKind = StepKind.TOOL_RUN
    when: When | None = None
    lacks_input: bool = False
    forgiven: bool = False
    retries: int | None = None
    backoff: int = 0
    timeout: int | None = None
    retry_when_missing: bool = False
    attempts: tuple[Attempt, ...] = (Attempt(),)

    def attempt(self, number: int) -> Attempt:
        return self.attempts[min(number, len(self.attempts)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A run, its definition and its events."""

    seed: int
    steps: tuple[ScriptedStep, ...]
    sequential: bool = False
    fail_fast: bool = False
    max_parallel: int | None = None
    retries: int | None = None
    total_timeout: int | None = None
    cancel_at: int | None = None
    cancel_by: Requester = Requester.CANCEL
    suspended: tuple[tuple[int, int], ...] = ()
    defined_at: int = 0
    pinned: bool = True

    def definition(self) -> Definition:
        return a_definition(*map(self._written, self.steps), policies=self._policies())

    def _policies(self) -> dict[str, object]:
        return {
            "failFast": self.fail_fast,
            "maxParallel": self.max_parallel,
            "retries": self.retries,
            "timeouts": {"totalSeconds": self.total_timeout and self.total_timeout // SECOND},
        }

    def _written(self, step: ScriptedStep) -> dict[str, object]:
        nested = {"kind": "SubOrchestration", "orchestrationRef": {"name": "inner"}}
        return a_step(
            step.name,
            *(self.steps[need].name for need in step.needs),
            graph=not self.sequential,
            when=step.when and step.when.value,
            continueOnFailure=step.forgiven,
            retries=step.retries,
            retryBackoffSeconds=step.backoff // SECOND,
            timeoutSeconds=step.timeout and step.timeout // SECOND,
            onJobMissing="Retry" if step.retry_when_missing else "Fail",
            **{"with": {"x": "{{ parameters.absent }}"} if step.lacks_input else {"x": "1"}},
            **(nested if step.kind is StepKind.SUB_ORCHESTRATION else {}),
        )

    def needs(self) -> list[tuple[int, ...]]:
        """Edges resolved by DAG-1 and DAG-4."""
        if self.sequential:
            return [(index - 1,) if index else () for index in range(len(self.steps))]
        return [step.needs for step in self.steps]


def a_scenario(seed: int, *, most_steps: int = 25, **fixed: object) -> Scenario:
    """The scenario of this seed: 1-25 steps, any density, each fault common in some and absent in others."""
    random = Random(seed)  # noqa: S311 - a script, not a secret
    count = min(most_steps, random.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 25)))
    sequential = random.random() < 0.2
    steps = _steps(random, count, edges=not sequential)
    scenario = Scenario(
        seed=seed,
        steps=steps,
        sequential=sequential,
        fail_fast=random.random() < 0.2,
        max_parallel=random.choice((None, None, 1, 2, 3, 0)),
        retries=random.choice((None, None, None, 1, 2)),
        total_timeout=random.choice((None,) * 6 + (10, 30, 70)),
        suspended=_suspensions(random),
        defined_at=random.choice((0,) * 9 + (4 * SECOND + 125,)),
        pinned=random.random() < 0.8,
    )
    if scenario.total_timeout:
        scenario = replace(scenario, total_timeout=scenario.total_timeout * SECOND)
    if random.random() < 0.3:
        scenario = replace(scenario, cancel_at=random.randrange(0, 40) * SECOND + 500)
    return replace(scenario, **fixed)  # type: ignore[arg-type]


def timeless(scenario: Scenario) -> Scenario:
    """The same without anything whose outcome depends on the time of observation."""
    steps = tuple(replace(step, timeout=None) for step in scenario.steps)
    return replace(
        scenario, steps=steps, fail_fast=False, max_parallel=None, total_timeout=None, cancel_at=None
    )


def _suspensions(random: Random) -> tuple[tuple[int, int], ...]:
    if random.random() > 0.2:
        return ()
    begin = random.choice((0, random.randrange(0, 20) * SECOND + 750))
    return ((begin, begin + random.randrange(1, 30) * SECOND + 125),)


def _steps(random: Random, count: int, *, edges: bool) -> tuple[ScriptedStep, ...]:
    density = random.choice((0.0, 0.1, 0.2, 0.4, 0.8))
    trouble = random.choice((0.0, 0.1, 0.3, 0.5))
    whole_seconds = random.random() < 0.5
    stubborn = random.choice((0.0, 0.2, 0.2, 0.9))
    order = list(range(count))
    random.shuffle(order)
    needs: list[tuple[int, ...]] = [()] * count
    for position, index in enumerate(order if edges else ()):
        needs[index] = tuple(item for item in order[:position] if random.random() < density)
    return tuple(
        _step(random, index, needs[index], trouble, stubborn, whole_seconds) for index in range(count)
    )


def _step(
    random: Random, index: int, needs: tuple[int, ...], trouble: float, stubborn: float, whole_seconds: bool
) -> ScriptedStep:
    unlucky = random.random() < trouble / 3
    step = ScriptedStep(
        name=f"s{index}",
        needs=needs,
        kind=random.choice((StepKind.TOOL_RUN, StepKind.TOOL_RUN, StepKind.SUB_ORCHESTRATION)),
        when=random.choice(tuple(When)) if unlucky else random.choice((None, None, When.TRUE)),
        lacks_input=random.random() < trouble / 6,
        forgiven=random.random() < 0.25,
        retries=random.choice((None, None, 0, 1, 2)),
        backoff=random.choice((0, 0, 1, 3)) * SECOND,
        timeout=random.choice((None,) * 8 + (2, 5, 9, 15)),
        retry_when_missing=random.random() < 0.3,
        attempts=tuple(_attempt(random, trouble, stubborn, whole_seconds) for _ in range(3)),
    )
    return replace(step, timeout=step.timeout * SECOND) if step.timeout else step


def _attempt(random: Random, trouble: float, stubborn: float, whole_seconds: bool) -> Attempt:
    def lasting(most: int) -> int:
        return random.randrange(most + 1) * SECOND if whole_seconds else random.randrange(most * SECOND)

    end = End.SUCCEEDS
    if random.random() < trouble:
        rare = (End.CANCELLED_BY_HAND, End.DELETED_BY_HAND, End.VANISHES, End.REFUSED)
        end = random.choice((End.FAILS,) * 9 + rare)
    ignores = random.random() < stubborn
    long_ = random.random() < (0.3 if ignores else 0.03)
    # A vanished child is noticed only by a live read, so it never coincides with a timeout.
    apart = 3 if end is End.VANISHES else 0
    return Attempt(
        end=end,
        pending_for=random.choice((0, lasting(2))),
        runs_for=lasting(200 if long_ else 8) + SECOND + apart,
        on_stop=random.choice((OnStop.WORK_IGNORES, OnStop.IGNORES)) if ignores else OnStop.OBEYS,
        grace=random.choice((0, lasting(6))),
        names_the_limit=random.random() < 0.5,
    )
