"""What history holds, as lines of a list, as everything about one run, and as a document for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from jangar.api.kind import VERSION
from jangar.api.kinds import KINDS
from jangar.cli.output.fields import field_lines, value_line
from jangar.cli.output.spans import age, span
from jangar.cli.output.table import table
from jangar.cli.runs.step_data import StepData, data_lines, step_data
from jangar.cli.terminal import printable
from jangar.domain.times import rfc3339
from jangar.operations.run_reading import RUNS, read_past
from jangar.store.rows import RunRow, StepRow, StoredObject

HEADS: Final = ("Name", "Kind", "Phase", "Of", "Duration", "Ended", "Reason")
WIDE_HEADS: Final = (*HEADS, "Uid", "Message")
OPTIONAL: Final = ("Kind", "Of", "Duration")
"""Columns that a narrow terminal goes without, the first one first."""
STEP_HEADS: Final = ("Step", "Phase", "Attempt", "Duration", "Reason", "Message")
TAIL_LINES: Final = 20
_API_VERSIONS: Final = {kind.name: f"{kind.group}/{VERSION}" for kind in KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run with all that is kept of it."""

    row: RunRow
    steps: Sequence[StepRow] = ()
    log_tail: str | None = None
    step_tails: Mapping[str, str | None] = field(default_factory=dict)
    """By uid of the child."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By name of the step."""


def past_inputs(row: RunRow, whole: StoredObject | None) -> dict[str, Mapping[str, str]]:
    """What its steps were given; nothing for runs that were stored before definitions were."""
    if whole is None or whole.definition is None or row.kind != RUNS.kind:
        return {}
    read = read_past({"apiVersion": RUNS.api_version, "kind": RUNS.kind, **whole.obj}, whole.definition)
    return {item.step: item.inputs for item in step_data(read)}


def cells(row: RunRow, now: datetime, *, wide: bool, spread: bool) -> list[str]:
    """In the order of the heads."""
    found = [
        row.name,
        row.kind,
        row.phase,
        row.definition or "(inline)",
        _duration(row.started_at, row.finished_at),
        f"{age(row.finished_at, now)} ago",
        row.reason if row.reason and row.reason != row.phase else "",
    ]
    if wide:
        found += [row.uid, row.message or ""]
    return [row.namespace, *found] if spread else found


def past_lines(past: PastRun, *, width: int | None, color: bool) -> list[str]:
    """The run, its steps, outputs and the last lines of its log."""
    row = past.row
    reported = {
        "Name": row.name,
        "Namespace": row.namespace,
        "Kind": row.kind,
        "Uid": row.uid,
        "Of": row.definition or "(inline)",
        "Step of": f"{row.owner_uid} ({row.step}, attempt {row.attempt})" if row.owner_uid else "",
        "Phase": row.phase + (f" ({row.reason})" if row.reason and row.reason != row.phase else ""),
        "Message": row.message or "",
        "Exit code": "" if row.exit_code is None else str(row.exit_code),
        "Created": rfc3339(row.created_at),
        "Started": rfc3339(row.started_at) if row.started_at else "",
        "Finished": rfc3339(row.finished_at),
        "Duration": _duration(row.started_at, row.finished_at),
        "Full log": f"{row.log_location} (may have been deleted)" if row.log_location else "",
        "Parameters": ", ".join(
            value_line("", name, str(value), width=None)
            for name, value in (row.spec.get("parameters") or {}).items()
        ),
    }
    lines = field_lines(reported, width=width)
    if past.steps:
        cells = [_step_cells(item) for item in past.steps]
        lines += ["", *table(STEP_HEADS, cells, width=width, color=color, wrapped=True)]
        lines += data_lines(
            [StepData(item.name, past.inputs.get(item.name, {}), item.outputs or {}) for item in past.steps],
            width=width,
        )
    if row.outputs:
        lines += ["", "Outputs:"]
        lines += [value_line("  ", name, value, width=width) for name, value in row.outputs.items()]
    lines += _tail_lines("Log", past.log_tail)
    for step in past.steps:
        lines += _tail_lines(f"Log of {step.name}", past.step_tails.get(step.child_uid or ""))
    return lines


def run_document(row: RunRow) -> dict[str, Any]:
    """As the object was, as far as history holds it."""
    return {
        "apiVersion": _API_VERSIONS.get(row.kind, ""),
        "kind": row.kind,
        "metadata": {
            "namespace": row.namespace,
            "name": row.name,
            "uid": row.uid,
            "creationTimestamp": rfc3339(row.created_at),
        },
        "spec": dict(row.spec),
        "status": _present(
            {
                "phase": row.phase,
                "reason": row.reason,
                "message": row.message,
                "startedAt": rfc3339(row.started_at) if row.started_at else None,
                "finishedAt": rfc3339(row.finished_at),
                "outcome": row.outcome,
                "outputs": row.outputs,
                "rootUid": row.root_uid,
                "ownerUid": row.owner_uid,
                "logLocation": row.log_location,
            }
        ),
    }


def past_document(past: PastRun) -> dict[str, Any]:
    """With its steps and the last lines of its log."""
    document = run_document(past.row)
    steps = [
        _present(
            {
                "name": step.name,
                "kind": step.kind,
                "phase": step.phase,
                "reason": step.reason,
                "message": step.message,
                "attempt": step.attempt,
                "child": step.child_name,
                "childUid": step.child_uid,
                "startedAt": rfc3339(step.started_at) if step.started_at else None,
                "finishedAt": rfc3339(step.finished_at) if step.finished_at else None,
                "inputs": dict(past.inputs.get(step.name, {})) or None,
                "outputs": step.outputs,
                "logTail": past.step_tails.get(step.child_uid or ""),
            }
        )
        for step in past.steps
    ]
    document["status"] |= _present({"stepStatuses": steps or None, "logTail": past.log_tail})
    return document


def _step_cells(step: StepRow) -> list[str]:
    return [
        step.name,
        step.phase,
        str(step.attempt) if step.attempt else "",
        _duration(step.started_at, step.finished_at),
        step.reason if step.reason and step.reason != step.phase else "",
        step.message or "",
    ]


def _duration(start: datetime | None, end: datetime | None) -> str:
    return span(end - start) if start and end else ""


def _tail_lines(head: str, tail: str | None) -> list[str]:
    """The last lines; of a log of several Jobs, the last of each."""
    if not tail:
        return []
    found: list[list[str]] = [[]]
    for line in tail.splitlines():
        if line.startswith("==> ") and line.endswith(" <=="):
            found.append([])
        found[-1].append(line)
    return ["", f"{head}:", *(line for section in found for line in _last_lines(section))]


def _last_lines(section: Sequence[str]) -> list[str]:
    left_out = len(section) - TAIL_LINES
    if left_out <= 0:
        return [f"  {printable(line)}" for line in section]
    title = section[:1] if section[0].startswith("==> ") else []
    reported = [f"... {left_out - len(title)} earlier lines (shown with -o yaml)"]
    return [f"  {printable(line)}" for line in (*title, *reported, *section[-TAIL_LINES:])]


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
