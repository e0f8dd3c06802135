"""Encodes a syntax tree for the library, the inverse of `cel_ast`."""

import struct
from collections.abc import Iterable
from itertools import count
from typing import Final

from picokube.schema.cel_ast import Call, Const, Expr, Fold, Ident, Literal, Select

_TYPE: Final = b"type.googleapis.com/cel.expr.ParsedExpr"
_VARINT, _FIXED64, _BYTES = 0, 1, 2


def serialized(root: Expr) -> bytes:
    """A ParsedExpr inside an Any."""
    parsed = _field(2, _Writer().expr(root)) + _field(3, _field(2, b"<input>"))
    return _field(1, _TYPE) + _field(2, parsed)


class _Writer:
    def __init__(self) -> None:
        self._ids = count(1)

    def expr(self, expr: Expr) -> bytes:
        number = _number(2, next(self._ids))
        match expr:
            case Const():
                return number + _field(3, _const(expr))
            case Ident(name=name):
                return number + _field(4, _field(1, name.encode()))
            case Select(operand=operand, field=field, test=test):
                body = _field(1, self.expr(operand)) + _field(2, field.encode())
                return number + _field(5, body + _number(3, int(test)) if test else body)
            case Call(function=function, args=args, method=method):
                body = _field(1, self.expr(args[0])) if method else b""
                body += _field(2, function.encode())
                return number + _field(6, body + self._all(3, args[1:] if method else args))
            case Literal(is_map=True):
                return number + _field(8, self._map(expr))
            case Literal(elements=elements, optional=optional):
                packed = _field(2, b"".join(map(_varint, sorted(optional)))) if optional else b""
                return number + _field(7, self._all(1, elements) + packed)
            case Fold():
                return number + _field(9, self._fold(expr))

    def _all(self, field: int, exprs: Iterable[Expr]) -> bytes:
        return b"".join(_field(field, self.expr(expr)) for expr in exprs)

    def _map(self, expr: Literal) -> bytes:
        body = _field(1, expr.message.encode()) if expr.message else b""
        for n, (key, value) in enumerate(zip(expr.elements[::2], expr.elements[1::2], strict=True)):
            entry = _number(1, next(self._ids)) + _field(3, self.expr(key)) + _field(4, self.expr(value))
            body += _field(2, entry + _number(5, 1) if n in expr.optional else entry)
        return body

    def _fold(self, fold: Fold) -> bytes:
        body = _field(1, fold.variables[0].encode()) + _field(3, fold.accumulator.encode())
        parts = {2: fold.over, 4: fold.start, 5: fold.condition, 6: fold.step, 7: fold.result}
        body += b"".join(_field(n, self.expr(item)) for n, item in parts.items())
        return body + (_field(8, fold.variables[1].encode()) if len(fold.variables) > 1 else b"")


def _const(expr: Const) -> bytes:
    match expr.type:
        case "bool":
            return _number(2, int(expr.value))
        case "int":
            return _number(3, expr.value % 2**64)
        case "uint":
            return _number(4, expr.value)
        case "double":
            return bytes([5 << 3 | _FIXED64]) + struct.pack("<d", expr.value)
        case "string":
            return _field(6, expr.value.encode())
        case "bytes":
            return _field(7, expr.value)
        case _:
            return _number(1, 0)


def _field(number: int, body: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _varint(len(body)) + body


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3 | _VARINT]) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits to a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
