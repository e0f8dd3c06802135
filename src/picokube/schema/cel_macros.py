"""Expands the macros of Kubernetes that the library's parser lacks: two-variable comprehensions and sortBy.

The parser reads such macros as calls.
"""

from dataclasses import replace
from typing import Final

from picokube.schema.cel_ast import Call, Const, Expr, Fold, Ident, Literal, Select, parts, walk

_RESULT: Final = "@result"
_SORTED: Final = "@__sortBy_input__"
_QUANTIFIERS: Final = frozenset({"all", "exists", "existsOne", "exists_one"})
_TRANSFORMS: Final = frozenset({"transformList", "transformMap", "transformMapEntry"})


def expanded(expr: Expr) -> Expr:
    """The tree with these macros expanded, or the same tree if it has none."""
    before = parts(expr)
    inner = tuple(map(expanded, before))
    if all(one is other for one, other in zip(before, inner, strict=True)):
        return _expand_call(expr)
    match expr:
        case Select():
            return replace(expr, operand=inner[0])
        case Call():
            return _expand_call(replace(expr, args=inner))
        case Literal():
            return replace(expr, elements=inner)
        case Fold():
            over, start, condition, step, result = inner
            return replace(expr, over=over, start=start, condition=condition, step=step, result=result)
        case _:
            return expr


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
                return _quantified(name, over, (one, other), rest[0], at)
            if name in _TRANSFORMS and len(rest) in {1, 2}:
                return _transformed(name, over, (one, other), rest, at)
        case Call(function="sortBy", args=(over, Ident(name=one), key), method=True, at=at):
            return _sorted(over, one, key, at)
        case _:
            pass
    return expr


def _quantified(name: str, over: Expr, variables: tuple[str, str], test: Expr, at: int) -> Fold:
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


def _transformed(name: str, over: Expr, variables: tuple[str, str], rest: list[Expr], at: int) -> Fold:
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


def _sorted(over: Expr, variable: str, key: Expr, at: int) -> Fold:
    always, never = (Const(value=item, type="bool", at=at) for item in (True, False))
    step = Call("_+_", (Ident(_RESULT, at), Literal((key,), at=at)), at=at)
    result = Ident(_RESULT, at)
    keys = Fold((variable,), _RESULT, Ident(_SORTED, at), Literal((), at=at), always, step, result, at)
    in_order = Call("@sortByAssociatedKeys", (Ident(_SORTED, at), keys), method=True, at=at)
    return Fold(("#unused",), _SORTED, Literal((), at=at), over, never, Ident(_SORTED, at), in_order, at)
