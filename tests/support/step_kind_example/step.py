"""Steps of kind AskPerson: each attempt creates a Question and ends with its answer."""

from collections.abc import Iterator, Mapping
from typing import Any

from jangar.api.orchestration import Step
from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.kinds.step_adapter import ChildReport, StepAdapter, StepView
from support.step_kind_example.question import QUESTION


def validate(step: Step) -> Iterator[Problem]:
    if "text" not in (step.with_ or {}):
        yield Problem(
            reason=Reason.MISSING_REFERENCE,
            path=("with", "text"),
            message="a step of kind AskPerson needs a question",
            fix="add with.text",
        )


def start(step: Step | None, target: str | None, parameters: Mapping[str, str]) -> dict[str, Any]:
    return {"text": parameters["text"]}


def observe(obj: Mapping[str, Any]) -> ChildReport:
    spec, status = obj["spec"], obj.get("status") or {}
    stop_requested = bool(spec.get("withdrawn"))
    if status.get("answer"):
        return ChildReport(phase=Phase.SUCCEEDED, stop_requested=stop_requested)
    if status.get("closed"):
        return ChildReport(phase=Phase.CANCELLED, stop_requested=stop_requested)
    return ChildReport(phase=Phase.RUNNING, stop_requested=stop_requested)


def outputs(obj: Mapping[str, Any]) -> Mapping[str, str] | None:
    answer = (obj.get("status") or {}).get("answer")
    return {"answer": answer} if answer else None


def stop(annotations: Mapping[str, str]) -> dict[str, Any]:
    return {"metadata": {"annotations": dict(annotations)}, "spec": {"withdrawn": True}}


STEP = StepAdapter(
    name="AskPerson",
    child=QUESTION,
    validate=validate,
    start=start,
    observe=observe,
    outputs=outputs,
    stop=stop,
    explain=lambda _: "the question",
    view=StepView(has_log=False, no_child="the question was not asked"),
    not_run_here="this controller does not watch questions",
)
