r"""JSONPath as Kubernetes speaks it, for printer columns, selectable fields and waiting.

Fields (`.spec.a`, `.a\.b`, `['a.b']`), items (`[0]`, `[-1]`, `[1:3]`, `[0,2]`, `[*]`, `.*`), filters
(`[?(@.type=="Ready")]`, `[?(@.x)]`), everything below (`..name`), with or without `{}` around. Knows paths and
JSON; what is missing is left out, never an error.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import re2

from picokube.schema.errors import JsonPathError

LONGEST_SOURCE: Final = 4_096
_FIELD: Final = re.compile(r"((?:\\.|[^\\.\[\]{}()'\"\s,=<>!*])+)")
_BRACKET: Final = re.compile(r"\[((?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^\[\]'\"]|\[[^\[\]]*\])*)\]")
_SLICE: Final = re.compile(r"(-?\d{0,9})(?::(-?\d{0,9}))?(?::(-?\d{0,9}))?")
_FILTER: Final = re2.compile(r"(?s)\?\(\s*(.+?)\s*\)\s*$")
_OPERATOR: Final = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*")
_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?")
_MISSING: Final = object()

_Step = Callable[[Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A compiled path. Equal paths have equal sources."""

    source: str
    fields: tuple[str, ...] | None
    """The names to follow when the path has nothing but names: the common case, and the fast one."""
    steps: tuple[_Step, ...]

    @classmethod
    def of(cls, source: str) -> Self:
        """Raises JsonPathError."""
        text = source.strip()
        if len(text) > LONGEST_SOURCE:
            raise JsonPathError(source[:80], f"more than {LONGEST_SOURCE} characters")
        if text.startswith("{") or text.endswith("}"):
            if not (text.startswith("{") and text.endswith("}")):
                raise JsonPathError(source, "unbalanced braces")
            text = text[1:-1].strip()
        names, steps = _read(source, text.removeprefix("$"))
        plain = tuple(each for each in names if each is not None)
        return cls(source=source, fields=plain if len(plain) == len(names) else None, steps=tuple(steps))

    def first(self, obj: Any) -> Any:
        """The first value the path leads to, or None."""
        if self.fields is not None:
            for name in self.fields:
                if type(obj) is not dict:
                    return None
                obj = obj.get(name)
            return obj
        return next(iter(self.values(obj)), None)

    def values(self, obj: Any) -> list[Any]:
        """All values the path leads to, in order."""
        found: Iterable[Any] = (obj,)
        for step in self.steps:
            found = step(found)
        return list(found)


def _read(source: str, text: str) -> tuple[list[str | None], list[_Step]]:
    """The steps of a path, and beside each the name it follows, if that is all it does."""
    names: list[str | None] = []
    steps: list[_Step] = []
    at = 0
    while at < len(text):
        if found := _BRACKET.match(text, at):
            name, step = _bracket(source, found[1].strip())
        elif text.startswith("..", at):
            found = _FIELD.match(text, at + 2)
            if found is None:
                raise JsonPathError(source, "a name must follow ..")
            name, step = None, _below(_unescaped(found[1]))
        elif text.startswith(".*", at):
            at += 2
            names.append(None)
            steps.append(_every)
            continue
        elif found := _FIELD.match(text, at + text.startswith(".", at)):
            if not text.startswith(".", at) and at:
                raise JsonPathError(source, f"unexpected {text[at]!r} at {at}")
            name = _unescaped(found[1])
            step = _field(name)
        elif text == ".":
            break
        else:
            raise JsonPathError(source, f"unexpected {text[at]!r} at {at}")
        at = found.end()
        names.append(name)
        steps.append(step)
    return names, steps


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def _bracket(source: str, inner: str) -> tuple[str | None, _Step]:
    if inner == "*":
        return None, _every
    if found := _FILTER.match(inner):
        return None, _filter(source, found[1])
    if inner[:1] in {"'", '"'} and inner[-1:] == inner[:1] and len(inner) > 1:
        name = _unescaped(inner[1:-1])
        return name, _field(name)
    if "," in inner:
        parts = [_bracket(source, each.strip())[1] for each in inner.split(",")]
        return None, lambda values: (found for value in values for part in parts for found in part((value,)))
    found = _SLICE.fullmatch(inner)
    if found is None or not inner:
        raise JsonPathError(source, f"cannot read [{inner}]")
    return None, _items(inner, found)


def _items(inner: str, found: re.Match[str]) -> _Step:
    if ":" not in inner:
        index = int(inner)
        return lambda values: (
            value[index] for value in values if isinstance(value, list) and -len(value) <= index < len(value)
        )
    start, stop, step = (int(each) if each else None for each in found.groups())
    taken = slice(start, stop, step or None)
    return lambda values: (each for value in values if isinstance(value, list) for each in value[taken])


def _field(name: str) -> _Step:
    return lambda values: (value[name] for value in values if isinstance(value, dict) and name in value)


def _every(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def _below(name: str) -> _Step:
    def find(values: Iterable[Any]) -> Iterator[Any]:
        left = list(values)[::-1]
        while left:
            value = left.pop()
            if isinstance(value, dict):
                if name in value:
                    yield value[name]
                left.extend(reversed(value.values()))
            elif isinstance(value, list):
                left.extend(reversed(value))

    return find


def _filter(source: str, text: str) -> _Step:
    left, operator, right = _parted(text)
    wanted, other = _operand(source, left), _operand(source, right) if operator else None

    def matches(item: Any) -> bool:
        value = wanted(item)
        return value is not _MISSING if other is None else _compared(value, operator, other(item))

    return lambda values: (
        each for value in values if isinstance(value, list) for each in value if matches(each)
    )


def _parted(text: str) -> tuple[str, str, str]:
    """Both sides of the first operator that is not inside quotes."""
    quote = ""
    for n, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in {"'", '"'}:
            quote = char
        elif found := _OPERATOR.match(text, n):
            return text[:n].strip(), found[1], text[found.end() :].strip()
    return text.strip(), "", ""


def _operand(source: str, text: str) -> Callable[[Any], Any]:
    if text.startswith("@"):
        path = JsonPath.of(text[1:] or ".")
        return lambda item: next(iter(path.values(item)), _MISSING)
    value: Any
    if text[:1] in {"'", '"'} and text[-1:] == text[:1] and len(text) > 1:
        value = _unescaped(text[1:-1])
    elif text in {"true", "false"}:
        value = text == "true"
    elif _NUMBER.fullmatch(text):
        value = float(text) if "." in text else int(text)
    else:
        raise JsonPathError(source, f"cannot compare with {text!r}")
    return lambda _item: value


def _compared(value: Any, operator: str, other: Any) -> bool:
    if value is _MISSING or other is _MISSING:
        return False
    numbers = (int, float)
    alike = isinstance(value, bool) == isinstance(other, bool) and (
        type(value) is type(other) or (isinstance(value, numbers) and isinstance(other, numbers))
    )
    match operator:
        case "==":
            return bool(alike and value == other)
        case "!=":
            return not (alike and value == other)
        case _ if not alike or not isinstance(value, str | int | float):
            return False
        case "<":
            return bool(value < other)
        case "<=":
            return bool(value <= other)
        case ">":
            return bool(value > other)
        case _:
            return bool(value >= other)
