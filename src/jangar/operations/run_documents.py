"""The views of a run as JSON: what HTTP answers and the web page shows. Knows field names, decides nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import Phase
from jangar.controllers.resources import CREATED_BY
from jangar.domain.conditions import Condition
from jangar.domain.orchestration.explain import Explanation
from jangar.domain.times import rfc3339
from jangar.domain.views.run_detail import RunDetail, StepRow, run_detail
from jangar.domain.views.run_graph import RunGraph
from jangar.domain.views.run_row import RunRow, run_row
from jangar.domain.views.run_timeline import Timeline
from jangar.operations.run_reading import ReadRun, identity
from jangar.store.rows import EventRow

Document = dict[str, Any]


def moment(at: datetime | None) -> str | None:
    return rfc3339(at) if at is not None else None


def seconds(span: timedelta | None) -> float | None:
    return round(span.total_seconds(), 3) if span is not None else None


def listed(obj: Mapping[str, Any]) -> Document:
    """One run as a list shows it. Durations are the reader's: a row stays true while it waits in a cache."""
    status, spec, meta = obj.get("status") or {}, obj.get("spec") or {}, obj["metadata"]
    who = identity(obj)
    counts = status.get("counts") or {}
    ended, _, total = str(status.get("steps") or "0/0").partition("/")
    return {
        "namespace": who.namespace,
        "name": who.name,
        "uid": who.uid,
        "orchestration": who.orchestration,
        "phase": status.get("phase") or str(Phase.PENDING),
        "reason": status.get("reason") or "",
        "message": status.get("message") or "",
        "stepsEnded": int(ended),
        "stepsTotal": int(total),
        "counts": counts,
        "createdAt": moment(who.created_at),
        "createdBy": (meta.get("annotations") or {}).get(CREATED_BY),
        "startedAt": status.get("startedAt"),
        "finishedAt": status.get("finishedAt"),
        "suspended": bool(spec.get("suspend")),
        "cancelRequested": _is_cancelled(spec),
        "parent": parent(obj),
        "retryOf": (spec.get("retryOf") or {}).get("name"),
        "expiresAt": (status.get("retention") or {}).get("runExpiresAt"),
        "live": True,
    }


def detailed(read: ReadRun, *, now: datetime, retried_by: Sequence[str] = ()) -> Document:
    """Everything about a run that its page shows."""
    obj = read.obj
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    reported: Document = {
        **listed(obj),
        "live": read.is_live,
        "durationSeconds": seconds(_row(read, now).duration),
        "parameters": spec.get("parameters") or {},
        "labels": obj["metadata"].get("labels") or {},
        "outputs": dict(read.record.outputs or {}),
        # What is gone already will not be deleted: its object said when it would be.
        "expiresAt": listed(obj)["expiresAt"] if read.is_live else None,
        "retention": status.get("retention") if read.is_live else None,
        "retriedBy": list(retried_by),
        "deletionRequested": bool(obj["metadata"].get("deletionTimestamp")),
        "resourceVersion": obj["metadata"]["resourceVersion"],
        "mode": str(read.record.mode) if read.record.mode else None,
        "conditions": [_condition(condition) for condition in read.record.lifecycle.conditions],
        "steps": [],
        "leftBehind": [],
        "cancelRequestedAt": None,
    }
    if read.view is None:
        return reported
    detail = run_detail(read.identity, read.view, now=now)
    return reported | _parts(detail)


def _parts(detail: RunDetail) -> Document:
    return {
        "mode": str(detail.mode) if detail.mode else None,
        "counts": dict(detail.counts),
        "stepsTotal": detail.counts["total"],
        "steps": [_step(step) for step in detail.steps],
        "leftBehind": [
            {"kind": item.kind, "name": item.name, "endedAt": moment(item.ended_at)}
            for item in detail.left_behind
        ],
        "cancelRequestedAt": moment(detail.cancel_requested_at),
    }


def _step(step: StepRow) -> Document:
    return {
        "name": step.name,
        "kind": str(step.kind),
        "phase": str(step.phase),
        "reason": step.reason,
        "sentence": step.sentence,
        "attempt": step.attempt,
        "attempts": [
            {
                "attempt": attempt.attempt,
                "phase": str(attempt.phase),
                "reason": str(attempt.reason),
                "message": attempt.message,
                "startedAt": moment(attempt.started_at),
                "finishedAt": moment(attempt.finished_at),
                "exitCode": attempt.exit_code,
            }
            for attempt in step.attempts
        ],
        "child": step.child,
        "dependsOn": list(step.depends_on),
        "causes": list(step.causes),
        "outputs": dict(step.outputs),
        "exitCode": step.exit_code,
        "startedAt": moment(step.started_at),
        "finishedAt": moment(step.finished_at),
        "durationSeconds": seconds(step.duration),
        "failureIgnored": step.failure_ignored,
    }


def graphed(graph: RunGraph) -> Document:
    return {
        "nodes": [
            {"name": node.name, "kind": str(node.kind), "phase": str(node.phase), "layer": node.layer}
            for node in graph.nodes
        ],
        "edges": [{"source": edge.source, "target": edge.target} for edge in graph.edges],
    }


def timed(timeline: Timeline) -> Document:
    return {
        "startedAt": moment(timeline.started_at),
        "finishedAt": moment(timeline.finished_at),
        "bars": [
            {
                "step": bar.step,
                "attempt": bar.attempt,
                "phase": str(bar.phase),
                "reason": bar.reason,
                "startedAt": moment(bar.started_at),
                "finishedAt": moment(bar.finished_at),
            }
            for bar in timeline.bars
        ],
    }


def explained(read: ReadRun, found: Sequence[Explanation]) -> Document:
    lifecycle = read.record.lifecycle
    return {
        "run": read.identity.name,
        "namespace": read.identity.namespace,
        "phase": str(lifecycle.phase or Phase.PENDING),
        "reason": lifecycle.reason or "",
        "message": lifecycle.message or "",
        "steps": [
            {
                "name": item.step,
                "phase": str(item.phase),
                "reason": item.reason,
                "sentence": item.sentence,
                "waitsFor": list(item.waits_for),
                "until": moment(item.until),
            }
            for item in found
        ],
    }


def event(obj: Mapping[str, Any]) -> Document:
    """A Kubernetes Event, whichever of its two generations wrote it."""
    series = obj.get("series") or {}
    made = obj["metadata"]["creationTimestamp"]
    return {
        "type": obj.get("type") or "Normal",
        "reason": obj.get("reason") or "",
        "message": obj.get("message") or obj.get("note") or "",
        "count": obj.get("count") or series.get("count") or 1,
        "firstAt": obj.get("firstTimestamp") or obj.get("eventTime") or made,
        "lastAt": obj.get("lastTimestamp") or series.get("lastObservedTime") or obj.get("eventTime") or made,
        "source": (obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "",
    }


def past_event(row: EventRow) -> Document:
    """The same from history."""
    return {
        "type": row.type,
        "reason": row.reason,
        "message": row.message,
        "count": row.count,
        "firstAt": moment(row.first_at),
        "lastAt": moment(row.last_at),
        "source": row.source,
    }


def _row(read: ReadRun, now: datetime) -> RunRow:
    return run_row(read.identity, read.record, now=now)


def _condition(condition: Condition) -> Document:
    return {
        "type": condition.type,
        "status": str(condition.status),
        "reason": condition.reason or "",
        "message": condition.message or "",
        "lastTransitionTime": moment(condition.last_transition_time),
    }


def _is_cancelled(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("cancel")) or spec.get("desiredState") == "Cancelled"


def parent(obj: Mapping[str, Any]) -> str | None:
    """Name of the run that this one is a step of."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next(
        (
            owner["name"]
            for owner in owners
            if owner.get("controller") and owner["kind"] == "OrchestrationRun"
        ),
        None,
    )
