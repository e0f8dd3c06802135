"""Cells of a Table: computed by the kind itself, or found by the JSONPath of a printer column."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from jangar.apiserver.resources import JsonObject, ResourceType, TableColumn
from jangar.schema import JsonPath

_NAME = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. Name is primarily "
    "intended for creation idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    "priority": 0,
}
_AGE = TableColumn(
    name="Age",
    type="date",
    description="CreationTimestamp is a timestamp representing the server time when this object was created. It is "
    "not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It "
    "is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    path=".metadata.creationTimestamp",
)


def table_columns(resource: ResourceType) -> list[JsonObject]:
    """Column definitions, the name first, unless the kind shows whole rows itself."""
    return [
        *([] if hasattr(resource.strategy, "table_row") else [_NAME]),
        *(
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in resource.columns or (_AGE,)
        ),
    ]


def table_row(resource: ResourceType, obj: JsonObject) -> list[Any]:
    """Cells of one object, its name first, unless the kind shows whole rows itself."""
    whole = getattr(resource.strategy, "table_row", None)
    if whole is not None:
        return list(whole(obj))
    cells = getattr(resource.strategy, "table_cells", None)
    if cells is not None:
        return [obj["metadata"].get("name", ""), *cells(obj)]
    return [obj["metadata"].get("name", ""), *(_cell(column, obj) for column in resource.columns or (_AGE,))]


def table_conditions(resource: ResourceType, obj: JsonObject) -> JsonObject:
    """What a row says of the object as a whole: that it is over, for kinds that end."""
    conditions = getattr(resource.strategy, "table_conditions", None)
    found = conditions(obj) if conditions is not None else None
    return {"conditions": found} if found else {}


def _cell(column: TableColumn, obj: JsonObject) -> Any:
    if column.path is None:
        return None
    found = _compiled(column.path).values(obj)
    if not found:
        return None
    value = found[0]
    match column.type:
        case "date":
            return _age(value)
        case "integer" | "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _age(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return "<invalid>"
    return human_duration((datetime.now(UTC) - moment).total_seconds())


_SCALES = (
    (2 * 60, 1, "s", 0, ""),
    (10 * 60, 60, "m", 1, "s"),
    (3 * 3600, 60, "m", 0, ""),
    (8 * 3600, 3600, "h", 60, "m"),
    (48 * 3600, 3600, "h", 0, ""),
    (8 * 86400, 86400, "d", 3600, "h"),
    (2 * 365 * 86400, 86400, "d", 0, ""),
    (8 * 365 * 86400, 365 * 86400, "y", 86400, "d"),
)
"""Up to so many seconds, the unit, and the finer unit for what is left."""


def human_duration(seconds: float) -> str:
    """As kubectl shows ages: two units at most, coarser the older."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    for limit, unit, name, finer, finer_name in _SCALES:
        if whole < limit:
            left = whole % unit // finer if finer else 0
            return f"{whole // unit}{name}" + (f"{left}{finer_name}" if left else "")
    return f"{whole // (365 * 86400)}y"


@lru_cache(maxsize=4096)
def _compiled(path: str) -> JsonPath:
    return JsonPath.of(path)
