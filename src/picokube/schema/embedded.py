"""Validates apiVersion, kind and metadata of embedded resources (x-kubernetes-embedded-resource)."""

import re
from collections.abc import Iterator
from typing import Any, Final

from picokube.schema.errors import FieldError, Path, invalid, required
from picokube.schema.node import Node, Routes, routes_to

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL: Final = 63
_LABEL_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation "
    "is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def embedding_routes(node: Node) -> Routes:
    """The routes to embedded resources."""
    return routes_to(node, lambda item: item.embedded)


def embedded_errors(
    value: Any, node: Node, embedding: Routes, at: Path = (), field: str = ""
) -> Iterator[FieldError]:
    """The errors of apiVersion, kind and metadata of the embedded resources."""
    if node not in embedding:
        return
    if isinstance(value, list) and node.items is not None:
        for n, item in enumerate(value):
            yield from embedded_errors(item, node.items, embedding, (*at, n), f"{field}[{n}]")
    elif isinstance(value, dict):
        if node.embedded:
            yield from _resource_errors(value, at, f"{field}." if field else "")
        for name, item in value.items():
            if (child := node.child(name)) is not None:
                inner = f"{field}.{name}" if field else name
                inner = inner if name in node.properties else f"{field}[{name}]"
                yield from embedded_errors(item, child, embedding, (*at, name), inner)


def _resource_errors(value: dict[str, Any], at: Path, prefix: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        path = (*at, name)
        match value.get(name):
            case None if name not in value:
                yield required(f"{prefix}{name}", path=path)
            case "":
                yield invalid(f"{prefix}{name}", "", "must not be empty", path=path)
            case str() as text if name == "kind" and (problems := _kind_problems(text)):
                problem = "may have mixed case, but should otherwise match: " + ",".join(problems)
                yield invalid(f"{prefix}{name}", text, problem, path=path)
            case str() as text if name == "apiVersion" and text.count("/") > 1:
                yield invalid(f"{prefix}{name}", text, f"unexpected GroupVersion string: {text}", path=path)
            case str():
                pass
            case other:
                yield invalid(f"{prefix}{name}", other, "must be a string", path=path)
    if not isinstance(value.get("metadata", {}), dict):
        # Upstream's message names a Go type. Callers need the field and the reason.
        yield invalid(f"{prefix}metadata", value["metadata"], "must be an object", path=(*at, "metadata"))


def _kind_problems(kind: str) -> list[str]:
    problems = []
    if len(kind) > _LONGEST_LABEL:
        problems.append(f"must be no more than {_LONGEST_LABEL} characters")
    if not _LABEL.fullmatch(kind.lower()):
        problems.append(_LABEL_RULE)
    return problems
