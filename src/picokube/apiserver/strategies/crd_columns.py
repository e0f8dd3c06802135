"""What is wrong with printer columns, selectable fields and the scale subresource of a definition."""

import re
from collections.abc import Sequence
from typing import Final

from picokube.apiserver.strategies.checks import Json, duplicate, invalid, required
from picokube.schema import FieldError
from picokube.schema.errors import too_many

_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST: Final = 8
_STEP: Final = re.compile(r"\.([^.\[\]]+)")


def column_problems(field: str, column: Json) -> list[FieldError]:
    problems = [] if column.get("name") else [required(f"{field}.name")]
    kind, form = column.get("type", ""), column.get("format", "")
    one_of = f"must be one of {','.join(_TYPES)}"
    if not kind:
        problems.append(required(f"{field}.type", one_of))
    elif kind not in _TYPES:
        problems.append(invalid(f"{field}.type", kind, one_of))
    if form and form not in _FORMATS:
        problems.append(invalid(f"{field}.format", form, f"must be one of {','.join(_FORMATS)}"))
    path = column.get("jsonPath", "")
    return [
        *problems,
        *(_path_problems(f"{field}.JSONPath", path) if path else [required(f"{field}.JSONPath")]),
    ]


def _path_problems(field: str, path: str) -> list[FieldError]:
    return (
        [] if path.startswith(".") else [invalid(field, path, "must be a simple json path starting with .")]
    )


def scale_problems(field: str, subresources: Json) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    problems: list[FieldError] = []
    for name, under in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        place, path = f"{field}.scale.{name}", scale.get(name, "")
        if not path:
            problems.append(required(place))
        elif found := _path_problems(place, path):
            problems += found
        elif not path.startswith(f"{under}."):
            problems.append(invalid(place, path, f"should be a json path under {under}"))
    path = scale.get("labelSelectorPath") or ""
    place = f"{field}.scale.labelSelectorPath"
    if path and (found := _path_problems(place, path)):
        problems += found
    elif path and not path.startswith((".spec.", ".status.")):
        problems.append(invalid(place, path, "should be a json path under either .spec or .status"))
    return problems


def selectable_problems(field: str, fields: Sequence[Json], schema: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for n, item in enumerate(fields):
        place, path = f"{field}[{n}].jsonPath", item.get("jsonPath", "")
        if not path:
            problems.append(required(place))
            continue
        kind, problem = _kind_at(path, schema)
        if problem:
            problems.append(invalid(place, path, f"is an invalid path: {problem}"))
            continue
        if kind not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                "formats are allowed."
            )
            problems.append(invalid(place, path, detail))
        if path in seen:
            problems.append(duplicate(place, path))
        seen.add(path)
    return [*problems, too_many(field, len(seen), _MOST)] if len(seen) > _MOST else problems


def _kind_at(path: str, schema: Json) -> tuple[str, str]:
    """The type of the field that a path leads to, or why it leads nowhere."""
    if path[0] not in ".[":
        word = re.split(r"[.\[]", path)[0]
        return "", f"expected [ or . but got: {word}"
    at, found = 0, schema
    while at < len(path):
        step = _STEP.match(path, at)
        inner = (found.get("properties") or {}).get(step[1]) if step else None
        if step is None or inner is None:
            return "", "does not refer to a valid field"
        at, found = step.end(), inner
    return str(found.get("type", "")), ""
