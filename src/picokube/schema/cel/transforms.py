"""Transforms parsed expressions for the library: macros, qualified names, and conversions of timestamps."""

from dataclasses import replace
from typing import Final

from picokube.schema.cel.checker import Checked
from picokube.schema.cel.syntax_tree import (
    Call,
    Const,
    Expr,
    Fold,
    Ident,
    Literal,
    Select,
    parts,
    walk,
    with_parts,
)

_RESULT: Final = "@result"
_SORTED: Final = "@__sortBy_input__"
_QUANTIFIERS: Final = frozenset({"all", "exists", "existsOne", "exists_one"})
_TRANSFORMS: Final = frozenset({"transformList", "transformMap", "transformMapEntry"})


def expand_macros(expr: Expr) -> Expr:
    """The tree with these macros expanded, or the same tree if it has none."""
    return _expand_call(with_parts(expr, map(expand_macros, parts(expr))))


def has_expanded_macros(expr: Expr) -> bool:
    """Whether the tree contains an expansion of these macros."""
    folds = (item for item in walk(expr) if isinstance(item, Fold))
    return any(len(fold.variables) > 1 or fold.accumulator == _SORTED for fold in folds)


def _expand_call(expr: Expr) -> Expr:
    match expr:
        case Call(
            function=name, args=(over, Ident(name=one), Ident(name=other), *rest), method=True, at=at
        ) if one != other:
            if name in _QUANTIFIERS and len(rest) == 1:
                return _expand_quantifier(name, over, (one, other), rest[0], at)
            if name in _TRANSFORMS and len(rest) in {1, 2}:
                return _expand_transform(name, over, (one, other), rest, at)
        case Call(function="sortBy", args=(over, Ident(name=one), key), method=True, at=at):
            return _expand_sort(over, one, key, at)
        case _:
            pass
    return expr


def _expand_quantifier(name: str, over: Expr, variables: tuple[str, str], test: Expr, at: int) -> Fold:
    result = Ident(_RESULT, at)
    if name == "all":
        goes_on = Call("@not_strictly_false", (Ident(_RESULT, at),), at=at)
        step = Call("_&&_", (Ident(_RESULT, at), test), at=at)
        return Fold(
            variables, _RESULT, over, Const(value=True, type="bool", at=at), goes_on, step, result, at
        )
    if name == "exists":
        goes_on = Call("@not_strictly_false", (Call("!_", (Ident(_RESULT, at),), at=at),), at=at)
        step = Call("_||_", (Ident(_RESULT, at), test), at=at)
        return Fold(
            variables, _RESULT, over, Const(value=False, type="bool", at=at), goes_on, step, result, at
        )
    more = Call("_+_", (Ident(_RESULT, at), Const(1, "int", at)), at=at)
    step = Call("_?_:_", (test, more, Ident(_RESULT, at)), at=at)
    once = Call("_==_", (result, Const(1, "int", at)), at=at)
    always = Const(value=True, type="bool", at=at)
    return Fold(variables, _RESULT, over, Const(0, "int", at), always, step, once, at)


def _expand_transform(name: str, over: Expr, variables: tuple[str, str], rest: list[Expr], at: int) -> Fold:
    *tests, made = rest
    match name:
        case "transformList":
            step = Call("_+_", (Ident(_RESULT, at), Literal((made,), at=at)), at=at)
        case "transformMap":
            step = Call("cel.@mapInsert", (Ident(_RESULT, at), Ident(variables[0], at), made), at=at)
        case _:
            step = Call("cel.@mapInsert", (Ident(_RESULT, at), made), at=at)
    for test in tests:
        step = Call("_?_:_", (test, step, Ident(_RESULT, at)), at=at)
    start = Literal((), is_map=name != "transformList", at=at)
    always = Const(value=True, type="bool", at=at)
    return Fold(variables, _RESULT, over, start, always, step, Ident(_RESULT, at), at)


def _expand_sort(over: Expr, variable: str, key: Expr, at: int) -> Fold:
    always, never = (Const(value=item, type="bool", at=at) for item in (True, False))
    step = Call("_+_", (Ident(_RESULT, at), Literal((key,), at=at)), at=at)
    result = Ident(_RESULT, at)
    keys = Fold((variable,), _RESULT, Ident(_SORTED, at), Literal((), at=at), always, step, result, at)
    in_order = Call("@sortByAssociatedKeys", (Ident(_SORTED, at), keys), method=True, at=at)
    return Fold(("#unused",), _SORTED, Literal((), at=at), over, never, Ident(_SORTED, at), in_order, at)


_TIMES: Final = frozenset({"timestamp", "duration"})
_ADDRESSES: Final = frozenset({"net.IP", "net.CIDR"})


def needs_resolving(checked: Checked) -> bool:
    """Whether the library would misinterpret the unchanged expression."""
    special = any(kind.name in _TIMES | _ADDRESSES for kind in checked.types.values())
    return special or bool(checked.fields) or has_expanded_macros(checked.root)


def resolve_names(checked: Checked) -> Expr:
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
            case _:
                return with_parts(expr, map(self.read, parts(expr)))
