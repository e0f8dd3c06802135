"""What the scale of an object reads and sets: replicas and a selector, by paths. Pure.

Values of another type than expected are rejected with Go's messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from picokube.apiserver.protocol.go_text import plain, type_name
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.schema import FieldError
from picokube.schema.errors import invalid
from picokube.schema.go_text import format_number

MAX_REPLICAS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """Where a kind keeps its replicas, wanted and seen, and the selector of what it counts."""

    spec: str
    status: str
    selector: str = ""
    """The path of the selector as a string, for custom resources."""
    pod_selector: str = ""
    """A label selector, or a map of labels: of built-in kinds."""


class WrongValue(ValueError):
    """A value of another type, or a path through something that is no object."""


def read_number(obj: Json, path: str) -> int | None:
    """None if there is none."""
    found, value = _find(obj, path)
    if not found:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongValue(_accessor_error(path, value, "int64"))
    return value


def read_text(obj: Json, path: str) -> str | None:
    found, value = _find(obj, path)
    if not found:
        return None
    if not isinstance(value, str):
        raise WrongValue(_accessor_error(path, value, "string"))
    return value


def steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _find(obj: Json, path: str) -> tuple[bool, Any]:
    value: Any = obj
    names = steps(path)
    for index, name in enumerate(names, start=1):
        if value is None:
            return False, None
        if not isinstance(value, Mapping):
            raise WrongValue(_accessor_error("." + ".".join(names[:index]), value, "map[string]interface{}"))
        if name not in value:
            return False, None
        value = value[name]
    return True, value


def label_selector_text(selector: Json) -> str:
    """A label selector, or a map of labels, in the short form, by key: `app=web,!tier`."""
    is_whole = {"matchLabels", "matchExpressions"} & set(selector)
    labels = (selector.get("matchLabels") or {}) if is_whole else selector
    terms = [(key, f"{key}={value}") for key, value in labels.items()]
    for match_expression in (selector.get("matchExpressions") or ()) if is_whole else ():
        key, values = match_expression["key"], ",".join(sorted(match_expression.get("values") or ()))
        match match_expression.get("operator"):
            case "In":
                terms.append((key, f"{key} in ({values})"))
            case "NotIn":
                terms.append((key, f"{key} notin ({values})"))
            case "Exists":
                terms.append((key, key))
            case _:
                terms.append((key, f"!{key}"))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def _accessor_error(path: str, value: Any, expected: str) -> str:
    kind = "<nil>" if value is None else type_name(value)
    shown = format_number(value) if isinstance(value, float) else plain(value)
    return f"{path} accessor error: {shown} is of the type {kind}, expected {expected}"


def spec_problems(paths: ScalePaths, obj: Json) -> list[FieldError]:
    return _replica_problems(paths.spec, obj)


def status_problems(paths: ScalePaths, obj: Json) -> list[FieldError]:
    problems = _replica_problems(paths.status, obj)
    if paths.selector:
        try:
            read_text(obj, paths.selector)
        except WrongValue as error:
            problems.append(invalid(paths.selector, "", str(error)))
    return problems


def _replica_problems(path: str, obj: Json) -> list[FieldError]:
    try:
        found = read_number(obj, path) or 0
    except WrongValue as error:
        return [invalid(path, 0, str(error))]
    if found < 0:
        return [invalid(path, found, "should be a non-negative integer")]
    if found > MAX_REPLICAS:
        return [invalid(path, found, f"should be less than or equal to {MAX_REPLICAS}")]
    return []


def scale_of(paths: ScalePaths, obj: Json) -> tuple[JsonObject, bool]:
    """The Scale of an object, and whether its replicas are set. Raises WrongValue."""
    wanted = read_number(obj, paths.spec)
    seen = read_number(obj, paths.status) or 0
    selector = read_text(obj, paths.selector) if paths.selector else None
    if paths.pod_selector:
        found, value = _find(obj, paths.pod_selector)
        selector = label_selector_text(value) if found and value else None
    meta = obj["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec = {"replicas": wanted} if wanted else {}
    scale: JsonObject = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {name: meta[name] for name in names if name in meta},
        "spec": spec,
        "status": {"replicas": seen} | ({"selector": selector} if selector else {}),
    }
    return scale, wanted is not None


def with_replicas(paths: ScalePaths, obj: JsonObject, replicas: int) -> JsonObject:
    """In place. Raises WrongValue for a path through something that is no object."""
    *before, last = steps(paths.spec)
    parent = obj
    for name in before:
        inner = parent.setdefault(name, {})
        if not isinstance(inner, dict):
            raise WrongValue(
                f"value cannot be set because {paths.spec.rpartition('.')[0]} is not a map[string]interface{{}}"
            )
        parent = inner
    parent[last] = replicas
    return obj
