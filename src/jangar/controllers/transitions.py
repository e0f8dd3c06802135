"""Events for what changed between two statuses of a run or child. Knows documents; records nothing."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from jangar.api.phases import Phase, StepPhase
from jangar.api.reasons import POD_CAUSES, Reason


class Transition(NamedTuple):
    """One thing to tell."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


_BAD = frozenset({Phase.FAILED, StepPhase.FAILED})


def phase_change(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Iterator[Transition]:
    """The object's own phase, if it changed."""
    old, new = (before or {}).get("phase"), after.get("phase")
    if new is None or (old == new and not _waits_for_another(before, after)):
        return
    reason = after.get("reason") or new
    message = after.get("message") or (f"{old} -> {new}" if old else str(new))
    is_bad = new in _BAD or reason == Reason.CANCEL_TIMED_OUT or _waits_for_another(before, after)
    yield Transition("Warning" if is_bad else "Normal", str(reason), message)


def _waits_for_another(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> bool:
    """Whether it waits for something now that does not come by itself, and did not wait for that before."""
    reason = after.get("reason")
    return reason in POD_CAUSES and (before or {}).get("reason") != reason


def step_change(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Transition | None:
    """One step's phase or attempt, if it changed."""
    old = before or {}
    waits = _waits_for_another(before, after)
    if (old.get("phase"), old.get("attempt")) == (after.get("phase"), after.get("attempt")) and not waits:
        return None
    phase = after.get("phase") or StepPhase.PENDING
    reason = after.get("reason") or phase
    words = [f"step {after['name']}: {phase}"]
    if (after.get("attempt") or 0) > 1:
        words.append(f"attempt {after['attempt']}")
    if after.get("message"):
        words.append(after["message"])
    return Transition("Warning" if phase in _BAD or waits else "Normal", str(reason), ", ".join(words))


def workflow_changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Iterator[Transition]:
    """The steps of an agent's own workflow that changed; one that only waits for its turn is left out."""
    old = {item["name"]: item for item in ((before or {}).get("workflow") or {}).get("steps") or ()}
    for step in (after.get("workflow") or {}).get("steps") or ():
        reported = step_change(old.get(step["name"]), step)
        if reported is not None and (step.get("phase") != StepPhase.PENDING or reported.type == "Warning"):
            yield reported
