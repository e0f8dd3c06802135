"""Finds invalid literals in an expression: patterns, durations, timestamps, and lists of mixed types.

Only for expressions without type errors.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from picokube.schema.cel_ast import Call, Const, Expr, Literal, parts
from picokube.schema.cel_checker import Checked, TypeProblem
from picokube.schema.cel_times import go_seconds
from picokube.schema.cel_types import Type, unwrapped
from picokube.schema.regex_syntax import pattern_error

_MIXED_ALLOWED: Final = "format"


def literal_mistakes(checked: Checked) -> list[TypeProblem]:
    calls = [part for part in _parts(checked.root, mixed=True) if isinstance(part, Call)]
    found: list[TypeProblem] = []
    for name, reads in _CHECKS.items():
        found += [mistake for call in calls if call.function == name for mistake in _argument(call, reads)]
    literals = [part for part in _parts(checked.root, mixed=False) if isinstance(part, Literal)]
    found += [mistake for literal in literals if not literal.is_map for mistake in _list(literal, checked)]
    found += [mistake for literal in literals if literal.is_map for mistake in _map(literal, checked)]
    return found


def _parts(expr: Expr, *, mixed: bool) -> Iterator[Expr]:
    """All nodes of the expression. Without `mixed`, skips calls whose lists may have mixed types."""
    yield expr
    if isinstance(expr, Call) and expr.function == _MIXED_ALLOWED and not mixed:
        return
    for part in parts(expr):
        yield from _parts(part, mixed=mixed)


def _argument(call: Call, reads: Callable[[str], bool]) -> Iterator[TypeProblem]:
    args = call.args[1:] if call.method else call.args
    if args and isinstance(args[0], Const) and isinstance(args[0].value, str) and not reads(args[0].value):
        yield args[0].at, f"invalid {call.function} argument"


def _list(expr: Literal, checked: Checked) -> Iterator[TypeProblem]:
    kinds = [
        _value_type(checked.type_of(item), optional=n in expr.optional)
        for n, item in enumerate(expr.elements)
    ]
    for item, kind in zip(expr.elements, kinds, strict=True):
        if kind != kinds[0]:
            yield item.at, f"expected type '{kinds[0]}' but found '{kind}'"
            return


def _map(expr: Literal, checked: Checked) -> Iterator[TypeProblem]:
    pairs = list(zip(expr.elements[::2], expr.elements[1::2], strict=True))
    kinds = [
        (checked.type_of(key), _value_type(checked.type_of(value), optional=n in expr.optional))
        for n, (key, value) in enumerate(pairs)
    ]
    for pair, kind in zip(pairs, kinds, strict=True):
        for n in (0, 1):
            if kind[n] != kinds[0][n]:
                yield pair[n].at, f"expected type '{kinds[0][n]}' but found '{kind[n]}'"


def _value_type(kind: Type, *, optional: bool) -> Type:
    return unwrapped(kind)[0] if optional else kind


def _is_duration(text: str) -> bool:
    return go_seconds(text) is not None


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None and "T" in text
    except ValueError:
        return False


def _is_pattern(text: str) -> bool:
    return not pattern_error(text)


_CHECKS: Final = {"duration": _is_duration, "timestamp": _is_time, "matches": _is_pattern}
