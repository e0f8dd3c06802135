"""Objects of any kind as rows: the columns of their kind where it is ours, else name, phase and age."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jangar.api.kind import AGE, Column
from jangar.api.kinds import KINDS
from jangar.cli.output.spans import age
from jangar.domain.times import parse_rfc3339
from kubekit.client.resource import Resource
from picokube.schema import JsonPath

PHASE = Column(name="Phase", path=".status.phase")


def object_rows(
    resource: Resource, objects: Sequence[Mapping[str, Any]], now: datetime, *, wide: bool, spread: bool
) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; `spread` over namespaces, which are then told."""
    columns = [item for item in _columns(resource, objects) if wide or not item.priority]
    paths = [JsonPath.of(item.path) for item in columns]
    heads = [*(["Namespace"] if spread and resource.namespaced else []), "Name"]
    rows = []
    for obj in objects:
        meta = obj["metadata"]
        cells = [meta["namespace"]] if spread and resource.namespaced else []
        cells.append(meta["name"])
        cells += [_cell(path.first(obj), column, now) for column, path in zip(columns, paths, strict=True)]
        rows.append(cells)
    return [*heads, *(item.name for item in columns)], rows


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
