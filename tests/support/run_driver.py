"""A minimal controller: observe, plan, record. Tests control the children.

Every tick also checks guarantees of the planner: the previous plan changes only the cost; a controller that crashes
after recording plans the same actions and no write; each transition has its timestamp.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import Phase
from jangar.domain.cancellation import Requester
from jangar.domain.conditions import Condition
from jangar.domain.orchestration.planning.actions import Action, StartChild
from jangar.domain.orchestration.planning.observation import (
    Child,
    ChildGone,
    ChildRefused,
    ChildrenRead,
    ChildSeen,
    Limits,
    Observation,
)
from jangar.domain.orchestration.planning.plan import Plan, plan
from jangar.domain.orchestration.state import Counts, RunRecord, StepState
from kubekit.times import whole_millisecond
from support.builders import NOON, a_run


class Driver:
    """A run driven step by step: `run.tick(); run.child("a").succeeds(); run.tick(5)`."""

    def __init__(self, definition: Any, *, limits: Limits | None = None, **facts: Any) -> None:
        self.definition = definition
        self.run = a_run(**facts)
        self.limits = limits or Limits()
        self.record = RunRecord()
        self.children: dict[str, Child] = {}
        self.now: datetime = NOON
        self.pinned = True
        self.children_read = ChildrenRead.NOT_YET
        self.reused: Mapping[str, Mapping[str, str]] = {}
        self.plan: Plan | None = None

    def tick(self, seconds: float = 0) -> Plan:
        """Advance the time, plan and record."""
        self.now += timedelta(seconds=seconds)
        observation = self.observation()
        made = plan(observation, self.now, self.plan)
        assert made == plan(observation, self.now), "the plan before changed what is planned"
        again = plan(replace(observation, recorded=made.status), self.now)
        assert again == made, "planning again from what was recorded gives something else"
        self._transitions_are_stamped(made.status)
        self.plan = made
        self.record = made.status
        return made

    def _transitions_are_stamped(self, status: RunRecord) -> None:
        before = {state.name: state for state in self.record.steps}
        moment = whole_millisecond(self.now)
        for state in status.steps:
            old = before.get(state.name, StepState(name=state.name, kind=state.kind))
            changed = (state.phase, state.attempts) != (old.phase, old.attempts)
            ended = changed and state.is_terminal
            assert state.last_transition_time == (moment if changed else old.last_transition_time)
            assert state.finished_at == (moment if ended else old.finished_at)

    def observation(self) -> Observation:
        return Observation(
            run=self.run,
            definition=self.definition,
            recorded=self.record,
            children=dict(self.children),
            pinned=self.pinned,
            children_read=self.children_read,
            reused=self.reused,
            limits=self.limits,
        )

    def change(self, **facts: Any) -> None:
        """Change the run as a user does."""
        self.run = replace(self.run, **facts)

    def cancel(self, *by: Requester) -> None:
        self.change(requested_by=self.run.requested_by | frozenset(by or (Requester.CANCEL,)))

    def delete(self) -> None:
        self.change(requested_by=self.run.requested_by | frozenset({Requester.DELETION}), deleted_at=self.now)

    def child(self, step: str) -> "DrivenChild":
        """The child of the step's current or last attempt."""
        name = self.step(step).child
        assert name is not None, f"{step} has no child yet"
        return DrivenChild(self, name)

    def step(self, name: str) -> StepState:
        return next(state for state in self.record.steps if state.name == name)

    @property
    def steps(self) -> dict[str, str]:
        """Every step as `Phase/Reason`."""
        return {state.name: f"{state.phase}/{state.reason}" for state in self.record.steps}

    @property
    def phase(self) -> str:
        """The run as `Phase/Reason`."""
        return f"{self.record.lifecycle.phase}/{self.record.lifecycle.reason}"

    @property
    def message(self) -> str | None:
        return self.record.lifecycle.message

    @property
    def actions(self) -> tuple[Action, ...]:
        assert self.plan is not None
        return tuple(self.plan.actions)

    @property
    def starts(self) -> list[str]:
        """Steps whose child the last plan creates."""
        return [action.step for action in self.actions if isinstance(action, StartChild)]

    @property
    def look_again_at(self) -> datetime | None:
        assert self.plan is not None
        return self.plan.look_again_at

    @property
    def counts(self) -> dict[str, int]:
        """Nonzero counts."""
        return {name: count for name, count in Counts.of(self.record.steps).document().items() if count}

    def condition(self, kind: str) -> str | None:
        """A condition as `Status/Reason`, or None."""
        state = self.whole_condition(kind)
        return f"{state.status}/{state.reason}" if state else None

    def whole_condition(self, kind: str) -> Condition | None:
        return next(
            (condition for condition in self.record.lifecycle.conditions if condition.type == kind), None
        )


class DrivenChild:
    """Controls one child. Changes are observed by the next tick."""

    def __init__(self, run: Driver, name: str) -> None:
        self.run = run
        self.name = name

    def becomes(self, phase: Phase, **facts: Any) -> None:
        known = self.run.children.get(self.name)
        if not isinstance(known, ChildSeen):
            known = ChildSeen(name=self.name, uid=f"uid-of-{self.name}", phase=phase, created_at=self.run.now)
        self.run.children[self.name] = replace(known, phase=phase, **facts)

    def appears(self, **facts: Any) -> None:
        self.becomes(Phase.PENDING, **facts)

    def runs(self, **facts: Any) -> None:
        self.becomes(Phase.RUNNING, **facts)

    def succeeds(self, **outputs: str) -> None:
        self.becomes(Phase.SUCCEEDED, finished_at=self.run.now, outputs=outputs or None)

    def fails(self, reason: str = "", message: str = "", **facts: Any) -> None:
        self.becomes(Phase.FAILED, finished_at=self.run.now, reason=reason, message=message, **facts)

    def ends_cancelled(self, **facts: Any) -> None:
        self.becomes(Phase.CANCELLED, finished_at=self.run.now, **facts)

    def hears_stop(self) -> None:
        self.becomes(Phase.CANCELLING, stop_requested=True)

    def is_gone(self) -> None:
        """A live read found no such child."""
        self.run.children[self.name] = ChildGone(name=self.name)

    def is_not_in_the_cache(self) -> None:
        self.run.children.pop(self.name, None)

    def is_refused(self, reason: str, message: str) -> None:
        self.run.children[self.name] = ChildRefused(name=self.name, reason=reason, message=message)
