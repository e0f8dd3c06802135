"""Converts a run's record to the JSON of `status` and back, and selects what a large run's status shows (DAG-14)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import ExecutionMode, StepPhase
from jangar.domain.cancellation import (
    cancel_document,
    cancel_from,
    left_behind_from,
    stop_document,
    stop_from,
)
from jangar.domain.orchestration.child_names import owned_name
from jangar.domain.orchestration.state import Attempt, Counts, RunRecord, StepState
from jangar.domain.status_contract import LIFECYCLE_FIELDS, lifecycle_from, lifecycle_to, time_from, time_to
from jangar.kinds.registry import STEP_KINDS, step_adapter

RUN_FIELDS = LIFECYCLE_FIELDS | {
    "runId",
    "executionMode",
    "counts",
    "steps",
    "cancel",
    "stop",
    "outputs",
    "stepStatuses",
}
"""Status fields that come from the record; others are kept as they are."""


MESSAGE_LIMIT = 1024


MAX_INLINE = 500


MAX_INLINE_BYTES = 700 * 1024
"""The run's status holds more than its steps."""


_ACTIVE = frozenset({StepPhase.RUNNING, StepPhase.RETRYING})


_UNSUCCESSFUL = frozenset({StepPhase.FAILED, StepPhase.CANCELLED})


StepDocument = Mapping[str, Any]


def run_document(
    record: RunRecord, *, run_name: str, steps: Sequence[JsonObject] | None = None
) -> JsonObject:
    """The status of a run with every step. The status of a large run shows only some of them.

    `steps` are the documents of the record's steps, if the caller has them.
    """
    counts = Counts.of(record.steps)
    cancel = cancel_document(record.cancel, record.left_behind)
    return lifecycle_to(record.lifecycle) | _present(
        {
            "runId": run_name,
            "executionMode": record.mode and str(record.mode),
            "counts": counts.document() if record.steps else None,
            "steps": f"{counts.ended}/{counts.total}" if record.steps else None,
            "cancel": cancel or None,
            "stop": record.stop and stop_document(record.stop),
            "outputs": dict(record.outputs) if record.outputs else None,
            "stepStatuses": list(steps)
            if steps
            else [step_document(state) for state in record.steps] or None,
        }
    )


def run_record(status: Mapping[str, Any], steps: Sequence[Mapping[str, Any]] | None = None) -> RunRecord:
    """The record of a status; `steps` are the joined pages of a large run. Raises ValueError for an invalid status."""
    cancel = status.get("cancel") or {}
    documents = steps if steps is not None else status.get("stepStatuses") or ()
    return RunRecord(
        lifecycle=lifecycle_from(status),
        mode=ExecutionMode(status["executionMode"]) if status.get("executionMode") else None,
        steps=tuple(step_state(document) for document in documents),
        cancel=cancel_from(cancel),
        stop=stop_from(status.get("stop")),
        left_behind=left_behind_from(cancel),
        outputs=status.get("outputs") or None,
    )


def step_document(state: StepState) -> JsonObject:
    """One entry of `stepStatuses`."""
    return _present(
        {
            "name": state.name,
            "kind": str(state.kind),
            "phase": str(state.phase),
            "reason": str(state.reason) or None,
            "message": _short(state.message),
            "attempt": state.attempt or None,
            "startedAt": time_to(state.started_at),
            "finishedAt": time_to(state.finished_at),
            "attemptStartedAt": time_to(state.attempt_started_at),
            "lastTransitionTime": time_to(state.last_transition_time),
            "nextRetryAt": time_to(state.next_retry_at),
            "resourceRef": _reference(state),
            "outputs": dict(state.outputs) if state.outputs else None,
            "exitCode": state.exit_code,
            "failureIgnored": state.failure_ignored or None,
            "causes": list(state.causes) or None,
            "causesTotal": state.causes_total or None,
            "attempts": [_attempt_document(attempt) for attempt in state.attempts] or None,
            "stop": state.stop and stop_document(state.stop),
        }
    )


def step_state(document: Mapping[str, Any]) -> StepState:
    """The state of one entry of `stepStatuses`."""
    reference = document.get("resourceRef") or {}
    if document["kind"] not in STEP_KINDS:
        raise ValueError(f"{document['kind']} is not a step kind")
    return StepState(
        name=document["name"],
        kind=document["kind"],
        phase=StepPhase(document.get("phase") or StepPhase.PENDING),
        reason=document.get("reason") or "",
        message=document.get("message") or "",
        attempt=document.get("attempt") or 0,
        child=reference.get("name"),
        child_uid=reference.get("uid"),
        child_hash=reference.get("hash"),
        started_at=time_from(document, "startedAt"),
        finished_at=time_from(document, "finishedAt"),
        attempt_started_at=time_from(document, "attemptStartedAt"),
        last_transition_time=time_from(document, "lastTransitionTime"),
        next_retry_at=time_from(document, "nextRetryAt"),
        outputs=document.get("outputs") or None,
        exit_code=document.get("exitCode"),
        failure_ignored=bool(document.get("failureIgnored")),
        causes=tuple(document.get("causes") or ()),
        causes_total=document.get("causesTotal") or 0,
        attempts=tuple(_attempt(attempt) for attempt in document.get("attempts") or ()),
        stop=stop_from(document.get("stop")),
    )


def _reference(state: StepState) -> JsonObject | None:
    if state.child is None:
        return None
    adapter = step_adapter(state.kind)
    return _present(
        {
            "apiVersion": adapter.child and adapter.child.api_version,
            "kind": adapter.child_name,
            "name": state.child,
            "uid": state.child_uid,
            "hash": state.child_hash,
        }
    )


def _attempt_document(attempt: Attempt) -> JsonObject:
    return _present(
        {
            "attempt": attempt.attempt,
            "phase": str(attempt.phase),
            "reason": str(attempt.reason) or None,
            "message": _short(attempt.message),
            "child": attempt.child,
            "startedAt": time_to(attempt.started_at),
            "finishedAt": time_to(attempt.finished_at),
            "exitCode": attempt.exit_code,
        }
    )


def _attempt(document: Mapping[str, Any]) -> Attempt:
    return Attempt(
        attempt=document["attempt"],
        phase=StepPhase(document["phase"]),
        reason=document.get("reason") or "",
        message=document.get("message") or "",
        child=document.get("child"),
        started_at=time_from(document, "startedAt"),
        finished_at=time_from(document, "finishedAt"),
        exit_code=document.get("exitCode"),
    )


def _short(message: str) -> str | None:
    """The message, truncated: a large run has ten thousand of them."""
    return (message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…") or None


def _present(document: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in document.items() if value is not None}


def shown_inline(steps: Sequence[StepDocument]) -> tuple[tuple[StepDocument, ...], int]:
    """The active and failed steps that the status of a run with pages shows, and how many more there are."""
    candidates = [index for index, step in enumerate(steps) if _is_active(step)]
    candidates += [index for index, step in enumerate(steps) if step.get("phase") in _UNSUCCESSFUL]
    inline = sorted(_that_fit(steps, candidates))
    return tuple(steps[index] for index in inline), len(candidates) - len(inline)


def join_pages(pages: Iterable[StepDocument]) -> list[StepDocument]:
    """Every step of a run in list order, from its pages in any order."""
    return [step for page in sorted(pages, key=lambda page: int(page["page"])) for step in page["steps"]]


def page_name(run_name: str, run_uid: str, number: int, other: int = 0) -> str:
    """Name of the object that holds one page; the first is 0. `other` gives further names for one that is taken."""
    return owned_name(run_name, f"{run_uid} {other}" if other else run_uid, "steps", number)


def _is_active(step: StepDocument) -> bool:
    started = step.get("phase") == StepPhase.PENDING and (step.get("attempt") or 0) > 0
    return started or step.get("phase") in _ACTIVE


def _that_fit(steps: Sequence[StepDocument], candidates: Sequence[int]) -> Iterator[int]:
    """As many of the candidates, in their order, as the status can hold."""
    room = MAX_INLINE_BYTES
    for index in islice(candidates, MAX_INLINE):
        room -= _size(steps[index])
        if room < 0:
            return
        yield index


def _size(value: object) -> int:
    """Bytes of the value's JSON as text inside other JSON: the longest form in which it may be sent."""
    return len(json.dumps(json.dumps(value)))
