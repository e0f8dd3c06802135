"""Table rows of `jangar get`, `jangar list` and `jangar controllers list`."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from jangar.api.kind import AGE, Column
from jangar.api.kinds import KINDS
from jangar.cli.output.spans import age, span
from jangar.domain.orchestration.status_document import run_record
from jangar.domain.views.run_row import run_row
from jangar.operations.cluster_status import ShardSetStatus, parse_timestamp
from jangar.operations.run_reading import identity
from kubekit.client.resource import Resource
from kubekit.times import parse_rfc3339
from picokube.schema import JsonPath

PHASE = Column(name="Phase", path=".status.phase")
RUN_HEADS = ("Name", "Phase", "Steps", "Orchestration", "Duration", "Age", "Reason")
RUN_OPTIONAL = ("Orchestration", "Duration", "Steps")
"""Columns that are omitted on a narrow terminal, in this order."""
RUN_TYPICAL = {
    "Namespace": "default",
    "Name": "a-name-of-some-length-1",
    "Phase": "Cancelling",
    "Steps": "100/100",
    "Orchestration": "an-orchestration",
    "Duration": "59m59s",
    "Age": "59m59s",
    "Reason": "DependencyFailed",
}
"""Reserves width for values that appear while a list is watched."""
MEMBER_HEADS = ("Member", "Version", "Shards", "Holds", "Age", "State")
WIDE_MEMBER_HEADS = (
    "Set",
    "Member",
    "Version",
    "Host",
    "Shards",
    "Holds",
    "Age",
    "Renewed",
    "Last gain",
    "State",
)
NO_HOLDER = "(none)"


def object_rows(
    resource: Resource, objects: Sequence[Mapping[str, Any]], now: datetime, *, wide: bool, spread: bool
) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of objects of one kind. `spread` adds the namespace."""
    columns = [column for column in _columns(resource, objects) if wide or not column.priority]
    paths = [JsonPath.of(column.path) for column in columns]
    heads = [*(["Namespace"] if spread and resource.namespaced else []), "Name"]
    rows = []
    for obj in objects:
        meta = obj["metadata"]
        cells = [meta["namespace"]] if spread and resource.namespaced else []
        cells.append(meta["name"])
        cells += [_cell(path.first(obj), column, now) for column, path in zip(columns, paths, strict=True)]
        rows.append(cells)
    return [*heads, *(column.name for column in columns)], rows


def _columns(resource: Resource, objects: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    for kind in KINDS:
        if (kind.group, kind.plural) == (resource.group, resource.plural):
            return kind.columns or (AGE,)
    has_phase = any((obj.get("status") or {}).get("phase") for obj in objects)
    return (PHASE, AGE) if has_phase else (AGE,)


def _cell(value: Any, column: Column, now: datetime) -> str:
    if value is None:
        return ""
    if column.type == "date" and isinstance(value, str):
        return age(parse_rfc3339(value), now)
    return str(value).lower() if isinstance(value, bool) else str(value)


def run_heads(*, wide: bool, spread: bool) -> list[str]:
    return [*["Namespace"] * spread, *RUN_HEADS, *["Message"] * wide]


def run_cells(obj: Mapping[str, Any], now: datetime, *, wide: bool, spread: bool) -> list[str]:
    """One run in the order of `run_heads`. The status of a large run has its counts, not its steps."""
    status = obj.get("status") or {}
    row = run_row(identity(obj), run_record(status, None), now=now)
    cells = [
        row.name,
        str(row.phase),
        status.get("steps") or row.steps,
        row.orchestration or "(inline)",
        span(row.duration),
        age(row.created_at, now),
        row.reason if row.reason != str(row.phase) else "",
    ]
    return [*[row.namespace] * spread, *cells, *[row.message] * wide]


def member_rows(shard_set: ShardSetStatus, now: datetime, *, wide: bool) -> list[list[str]]:
    """One row per controller process, and one for shards without a holder."""
    name = f"{shard_set.namespace}/{shard_set.name}"
    rows = []
    for member in shard_set.members:
        numbers = _shard_numbers(shard.number for shard in member.holds)
        shards = f"{len(member.holds)}/{shard_set.count}"
        started = age(parse_timestamp(member.started_at), now)
        state = "alive" if member.is_alive else "silent"
        last_gain = max((shard.since for shard in member.holds), default="")
        times = [age(parse_timestamp(text), now) for text in (member.renewed_at, last_gain)]
        rows.append(
            [name, member.name, member.version, member.host, shards, numbers, started, *times, state]
            if wide
            else [member.name, member.version, shards, numbers, started, state]
        )
    if shard_set.unheld:
        shards, numbers = f"{len(shard_set.unheld)}/{shard_set.count}", _shard_numbers(shard_set.unheld)
        rows.append(
            [name, NO_HOLDER, "", "", shards, numbers, "", "", "", ""]
            if wide
            else [NO_HOLDER, "", shards, numbers, "", ""]
        )
    return rows


def shard_set_document(shard_set: ShardSetStatus) -> dict[str, Any]:
    """A shard set for scripts."""
    return {
        "name": shard_set.name,
        "namespace": shard_set.namespace,
        "shards": shard_set.count,
        "unheld": list(shard_set.unheld),
        "members": [
            {
                "name": member.name,
                "lease": member.lease,
                "version": member.version,
                "host": member.host,
                "startedAt": member.started_at,
                "renewedAt": member.renewed_at,
                "alive": member.is_alive,
                "holds": [{"shard": shard.number, "since": shard.since} for shard in member.holds],
            }
            for member in shard_set.members
        ],
    }


def _shard_numbers(numbers: Iterable[int]) -> str:
    return ",".join(f"{number:02d}" for number in numbers)
