r"""The JSONPath dialect of Kubernetes, for printer columns, selectable fields and wait conditions.

Fields (`.spec.a`, `.a\.b`, `['a.b']`), items (`[0]`, `[-1]`, `[1:3]`, `[0,2]`, `[*]`, `.*`), filters
(`[?(@.type=="Ready")]`, `[?(@.x)]`), recursive descent (`..name`), with or without surrounding `{}`. Missing values are
skipped and never an error.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import re2

from picokube.schema.errors import JsonPathError

MAX_SOURCE: Final = 4_096
_FIELD: Final = re.compile(r"((?:\\.|[^\\.\[\]{}()'\"\s,=<>!*])+)")
_BRACKET: Final = re.compile(r"\[((?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^\[\]'\"]|\[[^\[\]]*\])*)\]")
_SLICE: Final = re.compile(r"(-?\d{0,9})(?::(-?\d{0,9}))?(?::(-?\d{0,9}))?")
_FILTER: Final = re2.compile(r"(?s)\?\(\s*(.+?)\s*\)\s*$")
_OPERATOR: Final = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*")
_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?")
_ORDER: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_MISSING: Final = object()

_Step = Callable[[Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A compiled path. Equal if the sources are equal."""

    source: str
    fields: tuple[str, ...] | None
    """The field names of a path that consists only of names, which is the fast path."""
    steps: tuple[_Step, ...]

    @classmethod
    def of(cls, source: str) -> Self:
        """Parse a path. Raises JsonPathError."""
        text = source.strip()
        if len(text) > MAX_SOURCE:
            raise JsonPathError(source[:80], f"more than {MAX_SOURCE} characters")
        if text.startswith("{") or text.endswith("}"):
            if not (text.startswith("{") and text.endswith("}")):
                raise JsonPathError(source, "unbalanced braces")
            text = text[1:-1].strip()
        names, steps = _read(source, text.removeprefix("$"))
        plain = tuple(name for name in names if name is not None)
        return cls(source=source, fields=plain if len(plain) == len(names) else None, steps=tuple(steps))

    def first(self, obj: Any) -> Any:
        """The first matching value, or None."""
        if self.fields is not None:
            for name in self.fields:
                if type(obj) is not dict:
                    return None
                obj = obj.get(name)
            return obj
        return next(iter(self.values(obj)), None)

    def values(self, obj: Any) -> list[Any]:
        """All matching values in order."""
        values: Iterable[Any] = (obj,)
        for step in self.steps:
            values = step(values)
        return list(values)


def _read(source: str, text: str) -> tuple[list[str | None], list[_Step]]:
    """The steps of a path, and for each step its field name if it is a plain field."""
    names: list[str | None] = []
    steps: list[_Step] = []
    at = 0
    while at < len(text):
        if match := _BRACKET.match(text, at):
            name, step = _bracket(source, match[1].strip())
        elif text.startswith("..", at):
            match = _FIELD.match(text, at + 2)
            if match is None:
                raise JsonPathError(source, "a name must follow ..")
            name, step = None, _below(_unescaped(match[1]))
        elif text.startswith(".*", at):
            at += 2
            names.append(None)
            steps.append(_every)
            continue
        elif match := _FIELD.match(text, at + text.startswith(".", at)):
            if not text.startswith(".", at) and at:
                raise JsonPathError(source, f"unexpected {text[at]!r} at {at}")
            name = _unescaped(match[1])
            step = _field(name)
        elif text == ".":
            break
        else:
            raise JsonPathError(source, f"unexpected {text[at]!r} at {at}")
        at = match.end()
        names.append(name)
        steps.append(step)
    return names, steps


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def _bracket(source: str, inner: str) -> tuple[str | None, _Step]:
    if inner == "*":
        return None, _every
    if match := _FILTER.match(inner):
        return None, _filter(source, match[1])
    if inner[:1] in {"'", '"'} and inner[-1:] == inner[:1] and len(inner) > 1:
        name = _unescaped(inner[1:-1])
        return name, _field(name)
    if "," in inner:
        parts = [_bracket(source, item.strip())[1] for item in inner.split(",")]
        return None, lambda values: (match for value in values for part in parts for match in part((value,)))
    match = _SLICE.fullmatch(inner)
    if match is None or not inner:
        raise JsonPathError(source, f"cannot read [{inner}]")
    return None, _items(inner, match)


def _items(inner: str, match: re.Match[str]) -> _Step:
    if ":" not in inner:
        index = int(inner)
        return lambda values: (
            value[index] for value in values if isinstance(value, list) and -len(value) <= index < len(value)
        )
    start, stop, step = (int(group) if group else None for group in match.groups())
    taken = slice(start, stop, step or None)
    return lambda values: (item for value in values if isinstance(value, list) for item in value[taken])


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
    left, comparison, right = _split_comparison(text)
    operand, other = _operand(source, left), _operand(source, right) if comparison else None

    def matches(item: Any) -> bool:
        value = operand(item)
        return value is not _MISSING if other is None else _compared(value, comparison, other(item))

    return lambda values: (
        entry for value in values if isinstance(value, list) for entry in value if matches(entry)
    )


def _split_comparison(text: str) -> tuple[str, str, str]:
    """The operands and the first comparison outside quotes."""
    quote = ""
    for n, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in {"'", '"'}:
            quote = char
        elif match := _OPERATOR.match(text, n):
            return text[:n].strip(), match[1], text[match.end() :].strip()
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


def _compared(value: Any, comparison: str, other: Any) -> bool:
    if value is _MISSING or other is _MISSING:
        return False
    numbers = (int, float)
    alike = isinstance(value, bool) == isinstance(other, bool) and (
        type(value) is type(other) or (isinstance(value, numbers) and isinstance(other, numbers))
    )
    if comparison in {"==", "!="}:
        return bool(alike and value == other) is (comparison == "==")
    return bool(alike and isinstance(value, str | int | float) and _ORDER[comparison](value, other))
