"""Formats a run for `jangar describe`: the view that all frontends share, its events and leftover work."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from jangar.cli.output.fields import field_lines, value_line
from jangar.cli.output.spans import age, span
from jangar.cli.output.table import table
from jangar.cli.runs.reading import ReadRun
from jangar.cli.runs.step_data import StepData, data_lines, step_data
from jangar.domain.conditions import Condition
from jangar.domain.times import parse_rfc3339, rfc3339
from jangar.domain.views.run_detail import RunDetail, run_detail
from jangar.domain.views.run_row import RunRow, run_row
from jangar.operations import run_documents as documents

STEP_HEADS: Final = ("Step", "Phase", "Attempt", "Duration", "Why")
STEP_OPTIONAL: Final = ("Attempt", "Duration")
SHOWN_EVENTS: Final = 15


def described(
    read: ReadRun,
    events: Sequence[Mapping[str, Any]],
    now: datetime,
    *,
    width: int | None,
    color: bool,
    tails: Mapping[str, Sequence[str]],
) -> list[str]:
    """The run, its steps, conditions and events; `tails` are last log lines by step."""
    detail = run_detail(read.identity, read.view, now=now) if read.view else None
    row = detail.row if detail else run_row(read.identity, read.record, now=now)
    lines = field_lines(_head(read, row, now), width=width)
    if detail is not None:
        lines += _parts(detail, step_data(read), width=width, color=color)
    for step, last in tails.items():
        if last:
            lines += ["", f"Last log lines of {step}:", *(f"  | {line}" for line in last)]
    lines += _conditions(read.record.lifecycle.conditions, width=width)
    return lines + _events(events, now, width=width)


def described_document(
    read: ReadRun,
    events: Sequence[Mapping[str, Any]],
    now: datetime,
    tails: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The same for scripts: what the HTTP API says of the run, with the inputs of its steps and its events."""
    document = documents.detailed(read, now=now)
    inputs = {item.step: dict(item.inputs) for item in step_data(read)}
    steps = [
        {
            **step,
            "inputs": inputs.get(step["name"], {}),
            **({"lastLogLines": list(tails[step["name"]])} if tails.get(step["name"]) else {}),
        }
        for step in document["steps"]
    ]
    meta = {name: read.obj["metadata"][name] for name in ("namespace", "name", "uid")}
    reported = [documents.event(event) for event in sorted(events, key=_moment)]
    return {
        "apiVersion": read.obj["apiVersion"],
        "kind": read.obj["kind"],
        "metadata": meta,
        **document,
        "steps": steps,
        "events": reported,
    }


def _head(read: ReadRun, row: RunRow, now: datetime) -> dict[str, str]:
    spec, status = read.obj.get("spec") or {}, read.obj.get("status") or {}
    return {
        "Name": row.name,
        "Namespace": row.namespace,
        "Orchestration": row.orchestration or "(inline)",
        "Phase": f"{row.phase}" + (f" ({row.reason})" if row.reason not in {"", str(row.phase)} else ""),
        "Message": row.message,
        "Steps": status.get("steps") or row.steps,
        "Retry of": (spec.get("retryOf") or {}).get("name", ""),
        "Suspended": "yes (jangar resume resumes it)" if spec.get("suspend") else "",
        "Created": f"{rfc3339(row.created_at)} ({age(row.created_at, now)} ago)",
        "Started": rfc3339(row.started_at) if row.started_at else "",
        "Finished": rfc3339(row.finished_at) if row.finished_at else "",
        "Duration": span(row.duration) if row.duration is not None else "",
        "Parameters": ", ".join(
            value_line("", key, str(value), width=None)
            for key, value in (spec.get("parameters") or {}).items()
        ),
    }


def _parts(detail: RunDetail, data: Sequence[StepData], *, width: int | None, color: bool) -> list[str]:
    rows = [
        (
            step.name,
            str(step.phase),
            str(step.attempt) if step.attempt else "-",
            span(step.duration),
            step.sentence,
        )
        for step in detail.steps
    ]
    lines = ["", *table(STEP_HEADS, rows, width=width, color=color, wrapped=True, optional=STEP_OPTIONAL)]
    lines += data_lines(data, width=width)
    if detail.outputs:
        lines += ["", "Outputs:"]
        lines += [value_line("  ", name, value, width=width) for name, value in detail.outputs.items()]
    if detail.left_behind:
        lines += ["", "Left behind (may still be running; cleanup continues):"]
        lines += [f"  {item.kind} {item.name}" for item in detail.left_behind if item.ended_at is None]
    return lines


def _conditions(conditions: Sequence[Condition], *, width: int | None) -> list[str]:
    if not conditions:
        return []
    rows = [
        (condition.type, str(condition.status), condition.reason or "", condition.message or "")
        for condition in conditions
    ]
    return ["", *table(("Condition", "Status", "Reason", "Message"), rows, width=width, wrapped=True)]


def _events(events: Sequence[Mapping[str, Any]], now: datetime, *, width: int | None) -> list[str]:
    if not events:
        return []
    latest = sorted(events, key=_moment)[-SHOWN_EVENTS:]
    rows = [
        (_age(item, now), item.get("type") or "", item.get("reason") or "", item.get("message") or "")
        for item in latest
    ]
    return ["", *table(("Age", "Type", "Event", "Message"), rows, width=width, wrapped=True)]


def _moment(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])


def _age(event: Mapping[str, Any], now: datetime) -> str:
    return age(parse_rfc3339(_moment(event)), now)
