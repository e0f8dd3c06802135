"""Fields an expression names that its schema does not. Knows syntax trees and nodes; evaluates nothing.

The library sees `self` as a value of any type; Kubernetes knows its schema and refuses a rule about a field that
cannot exist. This follows the tree as far as the schema is known and is silent where it is not.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from jangar.schema.cel_ast import Call, Expr, Fold, Ident, Select, parts
from jangar.schema.cel_values import escaped, has_type
from jangar.schema.node import Node

_TEXT: Final = Node(type="string")
_ROOT_META: Final = Node(type="object", properties={"name": _TEXT, "generateName": _TEXT})
_Scope = Mapping[str, Node | None]


def undefined_fields(expr: Expr, node: Node, *, root: bool, optional_old: bool) -> list[tuple[str, int]]:
    """Names of fields that cannot exist, and the offset of each in the source."""
    found = _undefined(expr, _scope(node, root=root, optional_old=optional_old))
    return sorted(set(found), key=lambda each: each[1])


def known_type(expr: Expr, node: Node, *, root: bool) -> str:
    """The JSON type the expression gives, where it only picks a field; else nothing."""
    found = _node_of(expr, _scope(node, root=root, optional_old=True))
    return found.type if found is not None else ""


def _scope(node: Node, *, root: bool, optional_old: bool) -> _Scope:
    seen = _as_resource(node) if root else node
    return {"self": seen, "oldSelf": None if optional_old else seen}


def _as_resource(node: Node) -> Node:
    properties = {**node.properties, "apiVersion": _TEXT, "kind": _TEXT, "metadata": _ROOT_META}
    return Node(type="object", properties=properties)


def _undefined(expr: Expr, scope: _Scope) -> Iterator[tuple[str, int]]:
    match expr:
        case Select(operand=operand, field=field, at=at):
            owner = _node_of(operand, scope)
            if owner is not None and owner.type == "object" and not owner.has_additional:
                names = {escaped(name) for name, child in owner.properties.items() if has_type(child)}
                if field not in names:
                    yield field, at
        case Fold():
            yield from _undefined(expr.over, scope)
            inner = {**scope, **_loop_variables(expr, scope), expr.accumulator: None}
            for each in (expr.start, expr.condition, expr.step, expr.result):
                yield from _undefined(each, inner)
            return
        case _:
            pass
    for each in parts(expr):
        yield from _undefined(each, scope)


def _loop_variables(fold: Fold, scope: _Scope) -> dict[str, Node | None]:
    over = _node_of(fold.over, scope)
    variables: dict[str, Node | None] = dict.fromkeys(fold.variables)
    if over is not None and over.type == "array" and len(fold.variables) == 1:
        variables[fold.variables[0]] = over.items
    return variables


def _node_of(expr: Expr, scope: _Scope) -> Node | None:
    """The schema of what an expression gives, where that is plain."""
    match expr:
        case Ident(name=name):
            return scope.get(name)
        case Select(test=True):
            return None
        case Select(operand=operand, field=field):
            owner = _node_of(operand, scope)
            if owner is None:
                return None
            named = {escaped(name): child for name, child in owner.properties.items()}
            return named.get(field, owner.additional)
        case Call(function="_[_]", args=(operand, _)):
            owner = _node_of(operand, scope)
            return None if owner is None else owner.items if owner.type == "array" else owner.additional
        case _:
            return None
