"""Table rows and the filter of `jangar list`, from the view that all frontends share."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import Phase
from jangar.cli.output.spans import age, span
from jangar.cli.runs.reading import identity
from jangar.domain.orchestration.status_document import run_record
from jangar.domain.views.run_row import RunRow, run_row
from jangar.operations.run_documents import parent

HEADS = ("Name", "Phase", "Steps", "Orchestration", "Duration", "Age", "Reason")
WIDE_HEADS = (*HEADS, "Message")
OPTIONAL = ("Orchestration", "Duration", "Steps")
"""Columns that a narrow terminal goes without, the first one first."""
TYPICAL = {
    "Namespace": "default",
    "Name": "a-name-of-some-length-1",
    "Phase": "Cancelling",
    "Steps": "100/100",
    "Orchestration": "an-orchestration",
    "Duration": "59m59s",
    "Age": "59m59s",
    "Reason": "DependencyFailed",
}
"""Room for values that come while a list is watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a list leaves out."""

    phases: frozenset[Phase] = frozenset()
    since: timedelta | None = None
    """Only runs created within this time."""
    children: bool = True
    """Runs of steps too."""

    def matches(self, obj: Mapping[str, Any], row: RunRow, now: datetime) -> bool:
        is_asked = (self.children or parent(obj) is None) and (not self.phases or row.phase in self.phases)
        return is_asked and (self.since is None or row.created_at >= now - self.since)


def heads_of(*, wide: bool, spread: bool) -> list[str]:
    """`spread` over namespaces, which are then shown."""
    return [*["Namespace"] * spread, *(WIDE_HEADS if wide else HEADS)]


def row_of(obj: Mapping[str, Any], now: datetime) -> RunRow:
    """One run as a list shows it. A big run's status has its counts, not its steps."""
    status = obj.get("status") or {}
    return run_row(identity(obj), run_record(status, None), now=now)


def cells(obj: Mapping[str, Any], now: datetime, *, wide: bool, spread: bool) -> list[str]:
    """In the order of the heads."""
    row, status = row_of(obj, now), obj.get("status") or {}
    found = [
        row.name,
        str(row.phase),
        status.get("steps") or row.steps,
        row.orchestration or "(inline)",
        span(row.duration),
        age(row.created_at, now),
        row.reason if row.reason != str(row.phase) else "",
    ]
    if wide:
        found.append(row.message)
    return [row.namespace, *found] if spread else found
