"""Formats runs of the history for `jangar history`: table rows, one complete run, and documents for scripts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from jangar.api.kind import VERSION
from jangar.api.kinds import KINDS
from jangar.cli.output.spans import age, span
from jangar.cli.output.table import field_lines, table, value_line
from jangar.cli.run_description import data_lines
from jangar.cli.terminal import printable
from jangar.operations.past_runs import StoredRun
from jangar.operations.run_reading import StepData
from jangar.store.rows import RunRow, StepRow
from kubekit.times import rfc3339

HEADS: Final = ("Name", "Kind", "Phase", "Of", "Duration", "Ended", "Reason")
WIDE_HEADS: Final = (*HEADS, "Uid", "Message")
OPTIONAL: Final = ("Kind", "Of", "Duration")
"""Columns that a narrow terminal goes without, the first one first."""
STEP_HEADS: Final = ("Step", "Phase", "Attempt", "Duration", "Reason", "Message")
TAIL_LINES: Final = 20
_API_VERSIONS: Final = {kind.name: f"{kind.group}/{VERSION}" for kind in KINDS}


def stored_row_cells(row: RunRow, now: datetime, *, wide: bool, spread: bool) -> list[str]:
    """Cells in the order of the heads."""
    cells = [
        row.name,
        row.kind,
        row.phase,
        row.definition or "(inline)",
        _duration(row.started_at, row.finished_at),
        f"{age(row.finished_at, now)} ago",
        row.reason if row.reason and row.reason != row.phase else "",
    ]
    if wide:
        cells += [row.uid, row.message or ""]
    return [row.namespace, *cells] if spread else cells


def stored_run_lines(run: StoredRun, *, width: int | None, color: bool) -> list[str]:
    """The run, its steps, outputs and the last lines of its log."""
    row = run.row
    fields = {
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
    lines = field_lines(fields, width=width)
    if run.steps:
        cells = [_step_cells(item) for item in run.steps]
        lines += ["", *table(STEP_HEADS, cells, width=width, color=color, wrapped=True)]
        lines += data_lines(
            [StepData(item.name, run.inputs.get(item.name, {}), item.outputs or {}) for item in run.steps],
            width=width,
        )
    if row.outputs:
        lines += ["", "Outputs:"]
        lines += [value_line("  ", name, value, width=width) for name, value in row.outputs.items()]
    lines += _tail_lines("Log", run.log_tail)
    for step in run.steps:
        lines += _tail_lines(f"Log of {step.name}", run.step_tails.get(step.child_uid or ""))
    return lines


def stored_row_document(row: RunRow) -> dict[str, Any]:
    """The object as far as the history stores it."""
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


def stored_run_document(run: StoredRun) -> dict[str, Any]:
    """With its steps and the last lines of its log."""
    document = stored_row_document(run.row)
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
                "inputs": dict(run.inputs.get(step.name, {})) or None,
                "outputs": step.outputs,
                "logTail": run.step_tails.get(step.child_uid or ""),
            }
        )
        for step in run.steps
    ]
    document["status"] |= _present({"stepStatuses": steps or None, "logTail": run.log_tail})
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
    sections: list[list[str]] = [[]]
    for line in tail.splitlines():
        if line.startswith("==> ") and line.endswith(" <=="):
            sections.append([])
        sections[-1].append(line)
    return ["", f"{head}:", *(line for section in sections for line in _last_lines(section))]


def _last_lines(section: Sequence[str]) -> list[str]:
    omitted = len(section) - TAIL_LINES
    if omitted <= 0:
        return [f"  {printable(line)}" for line in section]
    title = section[:1] if section[0].startswith("==> ") else []
    note = [f"... {omitted - len(title)} earlier lines (shown with -o yaml)"]
    return [f"  {printable(line)}" for line in (*title, *note, *section[-TAIL_LINES:])]


def _present(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}
