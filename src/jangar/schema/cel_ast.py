"""The syntax tree of a checked CEL expression, read from its serialized form.

The library compiles but does not show what it parsed, so this reads the few protobuf messages of cel.expr that
matter. It knows CEL's syntax; it knows no schema and evaluates nothing.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class Const:
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or has(operand.field) when `test` is set. `at` is an offset into the source, or -1."""

    operand: "Expr"
    field: str
    test: bool
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a method or an operator; `args` starts with the target of a method."""

    function: str
    args: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A list or a map written out."""

    elements: tuple["Expr", ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """What the macros all, exists, map and filter become."""

    variables: tuple[str, ...]
    accumulator: str
    over: "Expr"
    start: "Expr"
    condition: "Expr"
    step: "Expr"
    result: "Expr"


Expr = Const | Ident | Select | Call | Literal | Fold


def tree_of(serialized: bytes) -> Expr:
    """The tree of what the library serialized: a CheckedExpr inside an Any."""
    checked = _fields(_fields(serialized)[2][0])
    positions: dict[int, int] = {}
    source_info, expression = checked.get(5, [b""])[0], checked[4][0]
    for entry in _fields(source_info).get(4, ()):
        pair = _fields(entry)
        positions[pair.get(1, [0])[0]] = pair.get(2, [0])[0]
    return _expr(expression, positions)


def walk(expr: Expr) -> Iterator[Expr]:
    left = [expr]
    while left:
        each = left.pop()
        yield each
        left.extend(parts(each))


def parts(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Select(operand=operand):
            return (operand,)
        case Call(args=args):
            return args
        case Literal(elements=elements):
            return elements
        case Fold():
            return (expr.over, expr.start, expr.condition, expr.step, expr.result)
        case _:
            return ()


def selected_names(expr: Expr, variable: str) -> Iterator[str]:
    """Names selected directly from `variable`: `v.name`, `v["name"]`, `v.?name`, has(v.name)."""
    match expr:
        case Select(operand=Ident(name=name), field=field) if name == variable:
            yield field
        case Call(function="_[_]" | "_[?_]" | "_?._", args=(Ident(name=name), Const(value=str() as key))) if (
            name == variable
        ):
            yield key
        case Fold() if variable in {*expr.variables, expr.accumulator}:
            # Inside the macro the name means its own variable.
            yield from selected_names(expr.over, variable)
            return
        case _:
            pass
    for each in parts(expr):
        yield from selected_names(each, variable)


def mentions(expr: Expr, variable: str) -> bool:
    """Whether `variable` is used at all, and not hidden by a macro's own variable of that name."""
    match expr:
        case Ident(name=name):
            return name == variable
        case Fold() if variable in expr.variables:
            return mentions(expr.over, variable)
        case _:
            return any(mentions(each, variable) for each in parts(expr))


def _expr(message: bytes, positions: dict[int, int]) -> Expr:
    fields = _fields(message)
    at = positions.get(fields.get(2, [0])[0], -1)
    for number, build in _KINDS.items():
        if number in fields:
            return build(_fields(fields[number][0]), positions, at)
    return Const(None)


def _const(fields: "_Fields", _positions: dict[int, int], _at: int) -> Expr:
    for number, values in fields.items():
        value = values[0]
        match number:
            case 2:
                return Const(bool(value))
            case 3:
                return Const(value - 2**64 if value >= 2**63 else value)
            case 4:
                return Const(value)
            case 5:
                return Const(struct.unpack("<d", value)[0])
            case 6:
                return Const(value.decode(errors="replace"))
            case 7:
                return Const(value)
            case _:
                return Const(None)
    return Const(None)


def _ident(fields: "_Fields", _positions: dict[int, int], _at: int) -> Expr:
    return Ident(_text(fields, 1))


def _select(fields: "_Fields", positions: dict[int, int], at: int) -> Expr:
    return Select(_expr(fields[1][0], positions), _text(fields, 2), bool(fields.get(3, [0])[0]), at)


def _call(fields: "_Fields", positions: dict[int, int], _at: int) -> Expr:
    args = (*fields.get(1, ()), *fields.get(3, ()))
    return Call(_text(fields, 2), tuple(_expr(each, positions) for each in args))


def _list(fields: "_Fields", positions: dict[int, int], _at: int) -> Expr:
    return Literal(tuple(_expr(each, positions) for each in fields.get(1, ())))


def _struct(fields: "_Fields", positions: dict[int, int], _at: int) -> Expr:
    entries = [_fields(each) for each in fields.get(2, ())]
    return Literal(
        tuple(_expr(each, positions) for entry in entries for n in (3, 4) for each in entry.get(n, ()))
    )


def _fold(fields: "_Fields", positions: dict[int, int], _at: int) -> Expr:
    over, start, condition, step, result = (_expr(fields[n][0], positions) for n in (2, 4, 5, 6, 7))
    variables = tuple(name for name in (_text(fields, 1), _text(fields, 8)) if name)
    return Fold(variables, _text(fields, 3), over, start, condition, step, result)


_KINDS: Final = {3: _const, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _struct, 9: _fold}
_Fields = dict[int, list[Any]]


def _text(fields: _Fields, number: int) -> str:
    value = fields.get(number, [b""])[0]
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _fields(message: bytes) -> _Fields:
    """The fields of one protobuf message by number; nested messages stay bytes."""
    fields: _Fields = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        value: Any
        if kind == _VARINT:
            value, at = _varint(message, at)
        elif kind == _BYTES:
            size, at = _varint(message, at)
            value, at = message[at : at + size], at + size
        else:
            size = 8 if kind == _FIXED64 else 4
            value, at = message[at : at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:  # noqa: PLR2004 - the last byte has no continuation bit
            return value, at
        shift += 7
