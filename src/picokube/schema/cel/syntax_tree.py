"""The syntax tree of a CEL expression, decoded from and encoded to its serialized form.

The library doesn't expose the tree, so this module reads and writes the protobuf messages of cel.expr.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


# `at` is the offset into the source, or -1. Other modules key facts about a node by its identity.
_CONSTANTS: Final[dict[int, tuple[str, Callable[[Any], Any]]]] = {
    2: ("bool", bool),
    3: ("int", lambda value: value - 2**64 if value >= 2**63 else value),
    4: ("uint", int),
    5: ("double", lambda value: struct.unpack("<d", value)[0]),
    6: ("string", lambda value: value.decode(errors="replace")),
    7: ("bytes", bytes),
}
"""The type of a constant and its decoder, by field number."""
_Fields = dict[int, list[Any]]
_TYPE: Final = b"type.googleapis.com/cel.expr.ParsedExpr"


@dataclass(frozen=True, slots=True)
class Const:
    """A literal value and its CEL type."""

    value: Any
    type: str = "null"
    at: int = -1


@dataclass(frozen=True, slots=True)
class Ident:
    name: str
    at: int = -1


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or has(operand.field) if `test` is set."""

    operand: "Expr"
    field: str
    test: bool
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, method or operator. The target of a method is its first argument."""

    function: str
    args: tuple["Expr", ...]
    method: bool = False
    at: int = -1


@dataclass(frozen=True, slots=True)
class Literal:
    """A list literal, or a map literal with alternating keys and values in `elements`.

    `message` is the type name before the braces, if any. `optional` are the indexes of the optional elements or
    entries: [?a], {?k: v}.
    """

    elements: tuple["Expr", ...]
    is_map: bool = False
    message: str = ""
    optional: frozenset[int] = frozenset()
    at: int = -1


@dataclass(frozen=True, slots=True)
class Fold:
    """A comprehension: the expansion of the macros all, exists, map and filter."""

    variables: tuple[str, ...]
    accumulator: str
    over: "Expr"
    start: "Expr"
    condition: "Expr"
    step: "Expr"
    result: "Expr"
    at: int = -1


Expr = Const | Ident | Select | Call | Literal | Fold


def decode_tree(serialized: bytes) -> Expr:
    """Decode a ParsedExpr or CheckedExpr inside an Any."""
    wrapped = _fields(serialized)
    first = 2 if wrapped[1][0].endswith(b".ParsedExpr") else 4
    message = _fields(wrapped[2][0])
    positions: dict[int, int] = {}
    source_info, expression = message.get(first + 1, [b""])[0], message[first][0]
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


def with_parts(expr: Expr, new: Iterable[Expr]) -> Expr:
    """The node with other parts, or the same node if they are identical."""
    new = tuple(new)
    if all(one is other for one, other in zip(parts(expr), new, strict=True)):
        return expr
    match expr:
        case Select():
            return replace(expr, operand=new[0])
        case Call():
            return replace(expr, args=new)
        case Literal():
            return replace(expr, elements=new)
        case Fold():
            over, start, condition, step, result = new
            return replace(expr, over=over, start=start, condition=condition, step=step, result=result)
        case _:
            return expr


def with_calls_renamed(expr: Expr, name: str, other: str) -> Expr:
    """Replace all calls of the function or method `name` with calls of the function `other`."""
    expr = with_parts(expr, (with_calls_renamed(part, name, other) for part in parts(expr)))
    if isinstance(expr, Call) and expr.function == name:
        return replace(expr, function=other, method=False)
    return expr


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
            # The macro's variable shadows it.
            yield from selected_names(expr.over, variable)
            return
        case _:
            pass
    for part in parts(expr):
        yield from selected_names(part, variable)


def mentions_whole(expr: Expr, variable: str) -> bool:
    """Whether `variable` is used other than to select a literal name."""
    match expr:
        case Ident(name=name):
            return name == variable
        case Select(operand=Ident(name=name)) if name == variable:
            return False
        case Call(function="_[_]" | "_[?_]" | "_?._", args=(Ident(name=name), Const(value=str()))) if (
            name == variable
        ):
            return False
        case Fold() if variable in expr.variables:
            return mentions_whole(expr.over, variable)
        case _:
            return any(mentions_whole(part, variable) for part in parts(expr))


def mentions(expr: Expr, variable: str) -> bool:
    """Whether `variable` is used without being shadowed by a macro's variable."""
    match expr:
        case Ident(name=name):
            return name == variable
        case Fold() if variable in expr.variables:
            return mentions(expr.over, variable)
        case _:
            return any(mentions(part, variable) for part in parts(expr))


def _expr(message: bytes, positions: dict[int, int]) -> Expr:
    fields = _fields(message)
    at = positions.get(fields.get(2, [0])[0], -1)
    for number, build in _KINDS.items():
        if number in fields:
            return build(_fields(fields[number][0]), positions, at)
    return Const(None)


def _const(fields: "_Fields", _positions: dict[int, int], at: int) -> Expr:
    number, values = next(iter(fields.items()), (0, [None]))
    if number not in _CONSTANTS:
        return Const(None, at=at)
    kind, decode = _CONSTANTS[number]
    return Const(decode(values[0]), kind, at)


def _ident(fields: "_Fields", _positions: dict[int, int], at: int) -> Expr:
    return Ident(_text(fields, 1), at)


def _select(fields: "_Fields", positions: dict[int, int], at: int) -> Expr:
    return Select(_expr(fields[1][0], positions), _text(fields, 2), bool(fields.get(3, [0])[0]), at)


def _call(fields: "_Fields", positions: dict[int, int], at: int) -> Expr:
    args = (*fields.get(1, ()), *fields.get(3, ()))
    return Call(_text(fields, 2), tuple(_expr(arg, positions) for arg in args), 1 in fields, at)


def _list(fields: "_Fields", positions: dict[int, int], at: int) -> Expr:
    optional = frozenset(n for packed in fields.get(2, ()) for n in _numbers(packed))
    return Literal(tuple(_expr(item, positions) for item in fields.get(1, ())), optional=optional, at=at)


def _struct(fields: "_Fields", positions: dict[int, int], at: int) -> Expr:
    entries = [_fields(item) for item in fields.get(2, ())]
    return Literal(
        tuple(_expr(item, positions) for entry in entries for n in (3, 4) for item in entry.get(n, ())),
        is_map=True,
        message=_text(fields, 1),
        optional=frozenset(n for n, entry in enumerate(entries) if entry.get(5, [0])[0]),
        at=at,
    )


def _fold(fields: "_Fields", positions: dict[int, int], at: int) -> Expr:
    over, start, condition, step, result = (_expr(fields[n][0], positions) for n in (2, 4, 5, 6, 7))
    variables = tuple(name for name in (_text(fields, 1), _text(fields, 8)) if name)
    return Fold(variables, _text(fields, 3), over, start, condition, step, result, at)


_KINDS: Final = {3: _const, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _struct, 9: _fold}


def _text(fields: _Fields, number: int) -> str:
    value = fields.get(number, [b""])[0]
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _fields(message: bytes) -> _Fields:
    """The fields of a protobuf message by number. Nested messages stay encoded."""
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


def _numbers(packed: int | bytes) -> Iterator[int]:
    if isinstance(packed, int):
        yield packed
        return
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def serialize(root: Expr) -> bytes:
    """A ParsedExpr inside an Any."""
    parsed = _encoded_field(2, _Writer().expr(root)) + _encoded_field(3, _encoded_field(2, b"<input>"))
    return _encoded_field(1, _TYPE) + _encoded_field(2, parsed)


class _Writer:
    def __init__(self) -> None:
        self._ids = count(1)

    def expr(self, expr: Expr) -> bytes:
        number = _encoded_number(2, next(self._ids))
        match expr:
            case Const():
                return number + _encoded_field(3, _encoded_const(expr))
            case Ident(name=name):
                return number + _encoded_field(4, _encoded_field(1, name.encode()))
            case Select(operand=operand, field=field, test=test):
                body = _encoded_field(1, self.expr(operand)) + _encoded_field(2, field.encode())
                return number + _encoded_field(5, body + _encoded_number(3, int(test)) if test else body)
            case Call(function=function, args=args, method=method):
                body = _encoded_field(1, self.expr(args[0])) if method else b""
                body += _encoded_field(2, function.encode())
                return number + _encoded_field(6, body + self._all(3, args[1:] if method else args))
            case Literal(is_map=True):
                return number + _encoded_field(8, self._map(expr))
            case Literal(elements=elements, optional=optional):
                packed = (
                    _encoded_field(2, b"".join(map(_encoded_varint, sorted(optional)))) if optional else b""
                )
                return number + _encoded_field(7, self._all(1, elements) + packed)
            case Fold():
                return number + _encoded_field(9, self._fold(expr))

    def _all(self, field: int, exprs: Iterable[Expr]) -> bytes:
        return b"".join(_encoded_field(field, self.expr(expr)) for expr in exprs)

    def _map(self, expr: Literal) -> bytes:
        body = _encoded_field(1, expr.message.encode()) if expr.message else b""
        for n, (key, value) in enumerate(zip(expr.elements[::2], expr.elements[1::2], strict=True)):
            entry = (
                _encoded_number(1, next(self._ids))
                + _encoded_field(3, self.expr(key))
                + _encoded_field(4, self.expr(value))
            )
            body += _encoded_field(2, entry + _encoded_number(5, 1) if n in expr.optional else entry)
        return body

    def _fold(self, fold: Fold) -> bytes:
        body = _encoded_field(1, fold.variables[0].encode()) + _encoded_field(3, fold.accumulator.encode())
        parts = {2: fold.over, 4: fold.start, 5: fold.condition, 6: fold.step, 7: fold.result}
        body += b"".join(_encoded_field(n, self.expr(item)) for n, item in parts.items())
        return body + (_encoded_field(8, fold.variables[1].encode()) if len(fold.variables) > 1 else b"")


def _encoded_const(expr: Const) -> bytes:
    match expr.type:
        case "bool":
            return _encoded_number(2, int(expr.value))
        case "int":
            return _encoded_number(3, expr.value % 2**64)
        case "uint":
            return _encoded_number(4, expr.value)
        case "double":
            return bytes([5 << 3 | _FIXED64]) + struct.pack("<d", expr.value)
        case "string":
            return _encoded_field(6, expr.value.encode())
        case "bytes":
            return _encoded_field(7, expr.value)
        case _:
            return _encoded_number(1, 0)


def _encoded_field(number: int, body: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _encoded_varint(len(body)) + body


def _encoded_number(number: int, value: int) -> bytes:
    return bytes([number << 3 | _VARINT]) + _encoded_varint(value)


def _encoded_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits to a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
