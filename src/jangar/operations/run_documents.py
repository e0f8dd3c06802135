"""Runs, steps and events as JSON documents: HTTP response bodies, which `-o json` of the command line shares."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import Phase
from jangar.controllers.resources import CREATED_BY
from jangar.domain.conditions import Condition
from jangar.domain.orchestration.explain import Explanation
from jangar.domain.views.run_detail import RunDetail, StepRow, run_detail
from jangar.domain.views.run_graph import RunGraph
from jangar.domain.views.run_row import run_row
from jangar.domain.views.run_timeline import Timeline
from jangar.operations.run_reading import RUNS, ReadRun, identity, is_cancel_requested, owner_of, phase_of
from jangar.store.rows import EventRow
from kubekit.times import rfc3339

Document = dict[str, Any]


def timestamp(at: datetime | None) -> str | None:
    return rfc3339(at) if at is not None else None


def seconds(span: timedelta | None) -> float | None:
    return round(span.total_seconds(), 3) if span is not None else None


def list_item(obj: Mapping[str, Any]) -> Document:
    """One row of a list. It has no durations: a row in a cache would become wrong."""
    status, spec, meta = obj.get("status") or {}, obj.get("spec") or {}, obj["metadata"]
    who = identity(obj)
    counts = status.get("counts") or {}
    ended, _, total = str(status.get("steps") or "0/0").partition("/")
    return {
        "namespace": who.namespace,
        "name": who.name,
        "uid": who.uid,
        "orchestration": who.orchestration,
        "phase": phase_of(obj),
        "reason": status.get("reason") or "",
        "message": status.get("message") or "",
        "stepsEnded": int(ended),
        "stepsTotal": int(total),
        "counts": counts,
        "createdAt": timestamp(who.created_at),
        "createdBy": (meta.get("annotations") or {}).get(CREATED_BY),
        "startedAt": status.get("startedAt"),
        "finishedAt": status.get("finishedAt"),
        "suspended": bool(spec.get("suspend")),
        "cancelRequested": is_cancel_requested(obj),
        "parent": parent(obj),
        "retryOf": (spec.get("retryOf") or {}).get("name"),
        "expiresAt": (status.get("retention") or {}).get("runExpiresAt"),
        "live": True,
    }


def detail(read: ReadRun, *, now: datetime, retried_by: Sequence[str] = ()) -> Document:
    """A run with its steps, conditions and retention."""
    obj = read.obj
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    document: Document = {
        **list_item(obj),
        "live": read.is_live,
        "durationSeconds": seconds(run_row(read.identity, read.record, now=now).duration),
        "parameters": spec.get("parameters") or {},
        "labels": obj["metadata"].get("labels") or {},
        "outputs": dict(read.record.outputs or {}),
        # A deleted object still has the time at which it would have been deleted.
        "expiresAt": list_item(obj)["expiresAt"] if read.is_live else None,
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
        return document
    return document | _steps_document(run_detail(read.identity, read.view, now=now))


def _steps_document(detail: RunDetail) -> Document:
    return {
        "mode": str(detail.mode) if detail.mode else None,
        "counts": dict(detail.counts),
        "stepsTotal": detail.counts["total"],
        "steps": [_step(step) for step in detail.steps],
        "leftBehind": [
            {"kind": item.kind, "name": item.name, "endedAt": timestamp(item.ended_at)}
            for item in detail.left_behind
        ],
        "cancelRequestedAt": timestamp(detail.cancel_requested_at),
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
                "startedAt": timestamp(attempt.started_at),
                "finishedAt": timestamp(attempt.finished_at),
                "exitCode": attempt.exit_code,
            }
            for attempt in step.attempts
        ],
        "child": step.child,
        "dependsOn": list(step.depends_on),
        "causes": list(step.causes),
        "outputs": dict(step.outputs),
        "exitCode": step.exit_code,
        "startedAt": timestamp(step.started_at),
        "finishedAt": timestamp(step.finished_at),
        "durationSeconds": seconds(step.duration),
        "failureIgnored": step.failure_ignored,
    }


def graph_document(graph: RunGraph) -> Document:
    return {
        "nodes": [
            {"name": node.name, "kind": str(node.kind), "phase": str(node.phase), "layer": node.layer}
            for node in graph.nodes
        ],
        "edges": [{"source": edge.source, "target": edge.target} for edge in graph.edges],
    }


def timeline_document(timeline: Timeline) -> Document:
    return {
        "startedAt": timestamp(timeline.started_at),
        "finishedAt": timestamp(timeline.finished_at),
        "bars": [
            {
                "step": bar.step,
                "attempt": bar.attempt,
                "phase": str(bar.phase),
                "reason": bar.reason,
                "startedAt": timestamp(bar.started_at),
                "finishedAt": timestamp(bar.finished_at),
            }
            for bar in timeline.bars
        ],
    }


def explanation_document(read: ReadRun, explanations: Sequence[Explanation]) -> Document:
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
                "until": timestamp(item.until),
            }
            for item in explanations
        ],
    }


def event_document(obj: Mapping[str, Any]) -> Document:
    """A Kubernetes Event of either API, core/v1 or events.k8s.io."""
    series = obj.get("series") or {}
    created = obj["metadata"]["creationTimestamp"]
    return {
        "type": obj.get("type") or "Normal",
        "reason": obj.get("reason") or "",
        "message": obj.get("message") or obj.get("note") or "",
        "count": obj.get("count") or series.get("count") or 1,
        "firstAt": obj.get("firstTimestamp") or obj.get("eventTime") or created,
        "lastAt": obj.get("lastTimestamp")
        or series.get("lastObservedTime")
        or obj.get("eventTime")
        or created,
        "source": (obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "",
    }


def stored_event_document(row: EventRow) -> Document:
    """An event from the history."""
    return {
        "type": row.type,
        "reason": row.reason,
        "message": row.message,
        "count": row.count,
        "firstAt": timestamp(row.first_at),
        "lastAt": timestamp(row.last_at),
        "source": row.source,
    }


def _condition(condition: Condition) -> Document:
    return {
        "type": condition.type,
        "status": str(condition.status),
        "reason": condition.reason or "",
        "message": condition.message or "",
        "lastTransitionTime": timestamp(condition.last_transition_time),
    }


def parent(obj: Mapping[str, Any]) -> str | None:
    """Name of the run that this one is a step of."""
    owner = owner_of(obj, RUNS.kind)
    return owner["name"] if owner is not None else None
