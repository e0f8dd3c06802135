"""Transforms a checked expression for the library: qualified function names, and conversions of timestamps.

The library receives timestamps and durations as strings, so they are converted where a rule uses them.
"""

from dataclasses import replace
from typing import Final

from picokube.schema.cel_ast import Call, Const, Expr, Fold, Ident, Literal, Select
from picokube.schema.cel_checker import Checked
from picokube.schema.cel_macros import has_expanded_macros

_TIMES: Final = frozenset({"timestamp", "duration"})
_ADDRESSES: Final = frozenset({"net.IP", "net.CIDR"})


def needs_resolving(checked: Checked) -> bool:
    """Whether the library would misinterpret the unchanged expression."""
    special = any(kind.name in _TIMES | _ADDRESSES for kind in checked.types.values())
    return special or bool(checked.fields) or has_expanded_macros(checked.root)


def resolved(checked: Checked) -> Expr:
    """The tree with timestamp() and duration() around fields and items of these types."""
    return _Resolver(checked).read(checked.root)


class _Resolver:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def read(self, expr: Expr) -> Expr:
        inner = self._inside(expr)
        kind = self._checked.type_of(expr).name
        looks = isinstance(expr, Ident | Select) or (isinstance(expr, Call) and expr.function == "_[_]")
        return Call(kind, (inner,)) if looks and kind in _TIMES else inner

    def _inside(self, expr: Expr) -> Expr:
        match expr:
            case Select(operand=operand, field=name) if id(expr) not in self._checked.names:
                return replace(
                    expr, operand=self.read(operand), field=self._checked.fields.get(id(expr), name)
                )
            case Call(function="_?._", args=(operand, Const())) if id(expr) in self._checked.fields:
                field = Const(self._checked.fields[id(expr)], "string")
                return replace(expr, args=(self.read(operand), field))
            case Call(args=args) if id(expr) in self._checked.functions:
                name = self._checked.functions[id(expr)]
                return Call(name, tuple(map(self.read, args[1:])), at=expr.at)
            case Call(function="string", args=(arg,)) if self._checked.type_of(arg).name in _ADDRESSES:
                # The library doesn't allow new overloads of its own functions.
                return Call("net.@text", (self.read(arg),), at=expr.at)
            case Call(args=args):
                return replace(expr, args=tuple(map(self.read, args)))
            case Literal(elements=elements):
                return replace(expr, elements=tuple(map(self.read, elements)))
            case Fold():
                return replace(
                    expr,
                    over=self.read(expr.over),
                    start=self.read(expr.start),
                    condition=self.read(expr.condition),
                    step=self.read(expr.step),
                    result=self.read(expr.result),
                )
            case _:
                return expr
