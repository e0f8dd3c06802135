"""Resolves the `fieldPath` of a rule, such as .spec.x or .labels['a.b'], in a schema."""

import re
from dataclasses import dataclass
from typing import Final

from picokube.schema.errors import Path
from picokube.schema.node import Node

_TOKEN: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_MEANING: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


@dataclass(frozen=True, slots=True)
class FieldPath:
    text: str
    path: Path


def field_path(source: str, node: Node) -> FieldPath | None:
    """The path in the notation of Kubernetes. None if it isn't in the schema of `node`."""
    text, path, at = "", [], 0
    current: Node | None = node
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None or current is None:
            return None
        at = found.end()
        name = found[1] if found[1] is not None else _unescaped(found[2])
        if name is None:
            return None
        if current.properties:
            current = current.properties.get(name)
            text += f".{name}"
            if current is None:
                return None
        elif current.has_additional:
            current = current.additional
            text += f"[{name}]"
        else:
            return None
        path.append(name)
    return FieldPath(text.removeprefix("."), tuple(path)) if path else None


def _unescaped(text: str) -> str | None:
    if any(found not in _MEANING for found in _ESCAPE.findall(text)):
        return None
    return _ESCAPE.sub(lambda found: _MEANING[found[1]], text)
