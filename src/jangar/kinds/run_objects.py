"""What all kinds of runs have in common as children of a step: how they report, are stopped and are suspended."""

from collections.abc import Mapping
from typing import Any, Final

from jangar.api.meta import JsonObject
from jangar.api.phases import DefinitionPhase, Phase
from jangar.kinds.step_adapter import ChildReport

STOP: Final = "jangar.proompteng.ai/stop"
"""Annotation with the reason and the deadline of a child's stop, as JSON."""


def observe_run(obj: Mapping[str, Any]) -> ChildReport:
    """What the planner needs from a run."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    phase = status.get("phase")
    left_behind = (status.get("cancel") or {}).get("leftBehind") or ()
    return ChildReport(
        # The legacy system sets Ready on ToolRuns that have not started.
        phase=Phase.PENDING if not phase or phase == DefinitionPhase.READY else Phase(phase),
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        finished_at=status.get("finishedAt"),
        exit_code=(status.get("outcome") or {}).get("exitCode"),
        suspended=bool(spec.get("suspend")),
        stop_requested=spec.get("cancel") is True and STOP in (obj["metadata"].get("annotations") or {}),
        left_behind=any(not item.get("endedAt") for item in left_behind),
    )


def run_outputs(obj: Mapping[str, Any]) -> Mapping[str, str] | None:
    """The outputs in a run's status."""
    return (obj.get("status") or {}).get("outputs")


def stop_run(annotations: Mapping[str, str]) -> JsonObject:
    """Merge patch that cancels a run, and says why and until when."""
    return {"metadata": {"annotations": dict(annotations)}, "spec": {"cancel": True}}


def suspend_run(suspend: bool) -> JsonObject:
    """Merge patch that suspends or resumes a run."""
    return {"spec": {"suspend": suspend}}


def explain_work(target: str | None) -> str:
    """The subject of a sentence about an attempt."""
    del target
    return "the step's work"
