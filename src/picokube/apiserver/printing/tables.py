"""Cells of a Table: computed by the kind itself, or found by the JSONPath of a printer column."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from picokube.apiserver.kinds.resources import ResourceType, TableColumn
from picokube.apiserver.protocol.messages import JsonObject
from picokube.apiserver.strategies.printing import human_duration
from picokube.schema import JsonPath
from picokube.schema.go_text import as_json, format_number

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
_INT64 = 2**63
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
    """Conditions of a row: that the object has ended, for kinds that end."""
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
        case "integer":
            return _whole(value) if _is_number(value) else None
        case "number":
            return value if _is_number(value) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return _text(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: float) -> int:
    """Go's int64 of a number: without its fraction, and the least int64 for what does not fit."""
    whole = int(value)
    return whole if -_INT64 <= whole < _INT64 else -_INT64


def _text(value: Any) -> str | None:
    """As Go prints it: a text as it is, a number without a needless fraction, lists and objects as JSON."""
    match value:
        case None:
            return None
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return format_number(value)
        case _:
            return as_json(value)


def _age(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return "<invalid>"
    return human_duration((datetime.now(UTC) - moment).total_seconds())


@lru_cache(maxsize=4096)
def _compiled(path: str) -> JsonPath:
    return JsonPath.of(path)
