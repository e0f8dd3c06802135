"""Steps with a live child, and their update after an observation of the child."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import StepKind, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import StepDefinition
from jangar.domain.orchestration.planning.child_results import (
    ChildStateRules,
    StepUpdate,
    apply_child_state,
    mark_stopping,
)
from jangar.domain.orchestration.planning.observation import Child, ChildGone
from jangar.domain.orchestration.state import StepState, Stop
from support.builders import NOON, at

STARTED = StepState(
    name="a",
    kind=StepKind.TOOL_RUN,
    reason=Reason.STARTING,
    attempt=1,
    child="child",
    started_at=NOON,
    attempt_started_at=NOON,
    last_transition_time=NOON,
)
RUNNING = replace(STARTED, phase=StepPhase.RUNNING, reason=Reason.RUNNING, child_uid="uid-of-child")
GONE = ChildGone(name="child")
TEN_PAST, IN_A_MINUTE = at(10), at(60)


def a_step_that(**fields: Any) -> StepDefinition:
    return StepDefinition(index=0, name="a", kind=StepKind.TOOL_RUN, needs=(), **fields)


def settled(
    state: StepState,
    child: Child | None,
    *,
    now: datetime = TEN_PAST,
    retries_allowed: bool = True,
    default_retries: int = 0,
    **fields: Any,
) -> StepUpdate:
    """The update of the step ten seconds past noon."""
    rules = ChildStateRules(
        now=now,
        default_retries=default_retries,
        stop_timeout=timedelta(seconds=60),
        retries_allowed=retries_allowed,
    )
    return apply_child_state(a_step_that(**fields), state, child, rules)


def stopping(reason: str, *, state: StepState = RUNNING, deadline: datetime = IN_A_MINUTE) -> StepState:
    """The step after its stop was recorded, one second past noon."""
    return mark_stopping(state, Stop(requested_at=at(1), reason=reason, deadline=deadline))


def verdict(update: StepUpdate) -> tuple[str, str]:
    return f"{update.state.phase}/{update.state.reason}", update.state.message
