"""Checks the types of an expression and reports errors like cel-go.

Kubernetes declares the type of `self` from its schema and rejects rules with type errors. The library that runs rules
knows `self` only as a dynamic value, so this module checks the parsed tree.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from picokube.schema.cel.declarations import Declared, escape_name, go_seconds
from picokube.schema.cel.syntax_tree import Call, Const, Expr, Fold, Ident, Literal, Select, parts
from picokube.schema.cel.type_system import (
    BOOL,
    DYN,
    ERROR,
    INT,
    TYPE_NAMES,
    Type,
    TypeSubstitution,
    is_declared,
    is_dynamic,
    is_object,
    is_param,
    list_of,
    map_of,
    more_general,
    optional_of,
    parse_type,
    signatures,
    unwrapped,
)
from picokube.schema.patterns import pattern_error

TypeProblem = tuple[int, str]
"""An offset into the source, and the error message."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A type-checked expression. Nodes are keyed by identity."""

    root: Expr
    types: Mapping[int, Type]
    functions: Mapping[int, str]
    """The resolved function of a call if it differs from the name in the source: lists.range(3)."""
    fields: Mapping[int, str]
    """The resolved field of a selection if the source doesn't escape a reserved word: self.if."""
    names: Mapping[int, str]
    """Selections that are qualified type names: google.protobuf.Timestamp."""
    parameter_types: Mapping[int, tuple[tuple[Type, ...], ...]]
    """The parameter types of the signatures that match a call."""
    mistakes: tuple[TypeProblem, ...]

    @property
    def result_type(self) -> Type:
        return self.types[id(self.root)]

    def type_of(self, expr: Expr) -> Type:
        return self.types.get(id(expr), DYN)


def check_types(root: Expr, variables: Mapping[str, Type], declarations: Iterable[Declared]) -> Checked:
    """Check the types of an expression. `declarations` are the declarations of the variables' types."""
    checker = _Checker(_objects(declarations))
    checker.check(root, dict(variables))
    types = {part: checker.substitution.resolved(kind, finally_=True) for part, kind in checker.types.items()}
    return Checked(
        root,
        types,
        checker.functions,
        checker.fields,
        checker.names,
        checker.parameter_types,
        tuple(checker.mistakes),
    )


def _objects(declarations: Iterable[Declared]) -> dict[str, Declared]:
    objects: dict[str, Declared] = {}
    left = list(declarations)
    while left:
        declared = left.pop()
        if is_object(declared.type):
            objects[declared.type.name] = declared
        left.extend(declared.fields.values())
        left.extend(inner for inner in (declared.item, declared.key) if inner is not None)
    return objects


_Scope = dict[str, Type]


@dataclass(slots=True)
class _Checker:
    objects: Mapping[str, Declared]
    substitution: TypeSubstitution = field(default_factory=TypeSubstitution)
    types: dict[int, Type] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    fields: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    parameter_types: dict[int, tuple[tuple[Type, ...], ...]] = field(default_factory=dict)
    mistakes: list[TypeProblem] = field(default_factory=list)

    def check(self, expr: Expr, scope: _Scope) -> Type:
        kind = self._type(expr, scope)
        self.types[id(expr)] = kind
        return kind

    def _type(self, expr: Expr, scope: _Scope) -> Type:
        match expr:
            case Const(type=kind):
                return Type(kind)
            case Ident(name=name, at=at):
                return self._named(name, scope) or self._mistake(at, _undeclared(name))
            case Select():
                return self._select(expr, scope)
            case Call(function="_?._", args=(operand, Const(value=str() as name))):
                return self._field(expr, operand, name, scope, asks=True)
            case Call():
                return self._call(expr, scope)
            case Literal():
                return self._map(expr, scope) if expr.is_map else self._list(expr, scope)
            case Fold():
                return self._fold(expr, scope)

    def _mistake(self, at: int, problem: str) -> Type:
        self.mistakes.append((at, problem))
        return ERROR

    def _named(self, name: str, scope: _Scope) -> Type | None:
        kind = scope.get(name)
        if kind is None and name in TYPE_NAMES:
            return self.substitution.renamed([Type("type", (parse_type(TYPE_NAMES[name]),))])[0]
        return kind

    def _select(self, expr: Select, scope: _Scope) -> Type:
        qualified = _qualified(expr)
        if qualified is not None and (kind := self._named(qualified, scope)) is not None:
            self.names[id(expr)] = qualified
            return kind
        kind = self._field(expr, expr.operand, expr.field, scope)
        return BOOL if expr.test else self.substitution.resolved(kind)

    def _field(self, expr: Expr, operand: Expr, name: str, scope: _Scope, *, asks: bool = False) -> Type:
        """The type of a field. Optional for `.?field` and for a field of an optional."""
        owner, optional = unwrapped(self.substitution.resolved(self.check(operand, scope)))
        kind = DYN
        if owner.name == "map":
            kind = owner.params[1]
        elif is_param(owner):
            self.substitution.fit([DYN], [owner])
        elif is_object(owner):
            kind = self._object_field(expr, owner, name)
        elif not is_dynamic(owner):
            self._mistake(expr.at, f"type '{owner}' does not support field selection")
        return optional_of(kind) if optional or asks else kind

    def _object_field(self, expr: Expr, owner: Type, name: str) -> Type:
        known = self.objects.get(owner.name)
        if known is None:
            return self._mistake(expr.at, f"unexpected failed resolution of '{owner}'")
        if name in known.fields:
            return known.fields[name].type
        marked = escape_name(name) or ""
        if marked not in known.fields or marked != f"__{name}__":
            return self._mistake(expr.at, f"undefined field '{name}'")
        self.fields[id(expr)] = marked
        return known.fields[marked].type

    def _call(self, call: Call, scope: _Scope) -> Type:
        function, args = call.function, call.args
        own = args[1:] if call.method else args
        kinds = [self.check(item, scope) for item in own]
        if call.method:
            prefix = _qualified(args[0])
            if prefix is not None and signatures(f"{prefix}.{function}", method=False):
                function = self.functions[id(call)] = f"{prefix}.{function}"
                return self._resolved(call, function, own, kinds, method=False)
            kinds = [self.check(args[0], scope), *kinds]
        if not is_declared(function):
            return self._mistake(call.at, _undeclared(function))
        return self._resolved(call, function, args, kinds, method=call.method)

    def _resolved(
        self, call: Call, function: str, args: tuple[Expr, ...], kinds: list[Type], *, method: bool
    ) -> Type:
        if function in {"_&&_", "_||_"}:
            return self._junction(call, args, kinds)
        parameter_types: list[tuple[Type, ...]] = []
        result: Type | None = None
        for signature in signatures(function, method=method):
            parameters, result_type = signature.parameters, signature.result_type
            if signature.generic:
                *renamed, result_type = self.substitution.renamed((*parameters, result_type))
                parameters = tuple(renamed)
            if self.substitution.fit(kinds, parameters):
                parameter_types.append(signature.parameters)
                given = self.substitution.resolved(result_type)
                result = given if result is None or result == given else DYN
        self.parameter_types[id(call)] = tuple(parameter_types)
        if result is not None:
            return result
        shown = [str(self.substitution.resolved(kind, finally_=True)) for kind in kinds]
        target = f"{shown.pop(0)}." if method else ""
        problem = f"found no matching overload for '{function}' applied to '{target}({', '.join(shown)})'"
        return self._mistake(call.at, problem)

    def _junction(self, call: Call, args: tuple[Expr, ...], kinds: list[Type]) -> Type:
        wrong = [
            (part, kind)
            for part, kind in zip(args, kinds, strict=True)
            if not self.substitution.fit([kind], [BOOL])
        ]
        for part, kind in wrong:
            self._mistake(part.at, f"expected type 'bool' but found '{kind}'")
        self.parameter_types[id(call)] = ((BOOL, BOOL),)
        return ERROR if wrong else BOOL

    def _list(self, expr: Literal, scope: _Scope) -> Type:
        item: Type | None = None
        for n, entry in enumerate(expr.elements):
            kind = self._element(entry, self.check(entry, scope), optional=n in expr.optional)
            item = self._joined(item, kind)
        return list_of(self.substitution.fresh() if item is None else item)

    def _map(self, expr: Literal, scope: _Scope) -> Type:
        if expr.message:
            return self._mistake(expr.at + len(expr.message), _undeclared(expr.message))
        key: Type | None = None
        value: Type | None = None
        pairs = zip(expr.elements[::2], expr.elements[1::2], strict=True)
        for n, (one, other) in enumerate(pairs):
            key = self._joined(key, self.check(one, scope))
            kind = self._element(other, self.check(other, scope), optional=n in expr.optional)
            value = self._joined(value, kind)
        return map_of(key or self.substitution.fresh(), value or self.substitution.fresh())

    def _element(self, expr: Expr, kind: Type, *, optional: bool) -> Type:
        if not optional:
            return kind
        inner, was_optional = unwrapped(kind)
        if not was_optional and inner != DYN:
            self._mistake(expr.at, f"expected type '{optional_of(inner)}' but found '{inner}'")
        return inner

    def _joined(self, before: Type | None, kind: Type) -> Type:
        if before is None:
            return kind
        return more_general(before, kind) if self.substitution.fit([before], [kind]) else DYN

    def _fold(self, fold: Fold, scope: _Scope) -> Type:
        over = self.substitution.resolved(self.check(fold.over, scope))
        start = self.check(fold.start, scope)
        around = {**scope, fold.accumulator: start}
        inside = {**around, **dict(zip(fold.variables, self._items(fold, over), strict=False))}
        self._expect(fold.condition, self.check(fold.condition, inside), BOOL)
        self._expect(fold.step, self.check(fold.step, inside), start)
        return self.substitution.resolved(self.check(fold.result, around))

    def _items(self, fold: Fold, over: Type) -> tuple[Type, ...]:
        """The types of the loop variables: item or key; or index or key, and value."""
        two = len(fold.variables) > 1
        if over.name == "list":
            return (INT, over.params[0]) if two else (over.params[0],)
        if over.name == "map":
            return over.params
        if is_dynamic(over) or is_param(over):
            self.substitution.fit([DYN], [over])
            return DYN, DYN
        problem = (
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
        )
        self._mistake(fold.over.at, problem)
        return ERROR, ERROR

    def _expect(self, expr: Expr, kind: Type, expected: Type) -> None:
        if not self.substitution.fit([expected], [kind]):
            self._mistake(expr.at, f"expected type '{expected}' but found '{kind}'")


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


def _qualified(expr: Expr) -> str | None:
    """The qualified name a.b.c, or nothing if the expression is not one."""
    match expr:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field_, test=False):
            prefix = _qualified(operand)
            return None if prefix is None else f"{prefix}.{field_}"
        case _:
            return None


_MIXED_ALLOWED: Final = "format"


def literal_mistakes(checked: Checked) -> list[TypeProblem]:
    calls = [part for part in _parts(checked.root, mixed=True) if isinstance(part, Call)]
    mistakes: list[TypeProblem] = []
    for name, reads in _CHECKS.items():
        mistakes += [mistake for call in calls if call.function == name for mistake in _argument(call, reads)]
    literals = [part for part in _parts(checked.root, mixed=False) if isinstance(part, Literal)]
    mistakes += [mistake for literal in literals if not literal.is_map for mistake in _list(literal, checked)]
    mistakes += [mistake for literal in literals if literal.is_map for mistake in _map(literal, checked)]
    return mistakes


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
