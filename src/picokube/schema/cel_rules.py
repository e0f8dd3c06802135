"""Runs the compiled rules of x-kubernetes-validations on objects, with the error messages of Kubernetes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from picokube.schema.cel import Bindings
from picokube.schema.cel_compiled import CompiledRule
from picokube.schema.cel_declared import declared
from picokube.schema.cel_values import Projection, projection
from picokube.schema.correlation import Correlation
from picokube.schema.errors import (
    NO_FIELD,
    OMITTED,
    CelEvaluationError,
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    required,
)
from picokube.schema.node import Node, Routes, routes_to

BUDGET: Final = 10_000_000
_OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_LONGEST_MESSAGE: Final = 5 * 1024


@dataclass(frozen=True, slots=True)
class _Ratchet:
    """Whether ratcheting ignores an error here: the nearest correlated value is unchanged."""

    current: Correlation | None = None
    parent: Correlation | None = None

    def key(self, name: str) -> "_Ratchet":
        if self.current is None:
            return self
        if self.parent is None and name in {"apiVersion", "kind"}:
            return _Ratchet()
        return _Ratchet(self.current.key(name), self.current)

    def index(self, n: int) -> "_Ratchet":
        return self if self.current is None else _Ratchet(self.current.index(n), self.current)

    @property
    def forgives(self) -> bool:
        known = self.current if self.current is not None else self.parent
        return known is not None and known.unchanged


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """All rules of a schema, and the routes to the nodes with rules."""

    root: Node
    routes: Routes
    rules: Mapping[Node, tuple[CompiledRule, ...]]
    projections: Mapping[Node, Projection | None]

    @classmethod
    def of(cls, node: Node, *, root: bool = True) -> "RuleSet | None":
        """`root` marks a complete resource, whose metadata rules can access."""
        routes = routes_to(node, lambda item: bool(item.rules))
        if not routes:
            return None
        rules = {
            route: _compiled(route, root=root if route is node else route.embedded)
            for route in routes
            if route.rules
        }
        return cls(node, routes, rules, {rule: projection(rule) for rule in rules})

    def errors(self, obj: Any, old: Any) -> list[FieldError]:
        """The errors of all rules for `obj`, or for the update from `old` to it."""
        run = _Run(self)
        ratchet = _Ratchet(Correlation(obj, old, self.root)) if old is not None else _Ratchet()
        return list(run.node(obj, old, self.root, (), "", ratchet))


def _compiled(node: Node, *, root: bool) -> tuple[CompiledRule, ...]:
    declaration = declared(node, root=root)
    if declaration is None:
        return ()
    return tuple(CompiledRule.of(rule, node, declaration) for rule in node.rules if rule.rule.strip())


@dataclass(slots=True)
class _Run:
    """The validation of one object. Stops when the cost budget is exhausted."""

    rules: RuleSet
    left: int = field(default=BUDGET)

    def node(
        self, value: Any, old: Any, node: Node, at: Path, name: str, ratchet: _Ratchet
    ) -> Iterator[FieldError]:
        if value is None or node not in self.rules.routes or self.left < 0:
            return
        if node in self.rules.rules:
            yield from self._expressions(value, old, node, at, name, ratchet)
        if isinstance(value, list) and node.items is not None:
            before = Correlation(value, old, node)
            for n, item in enumerate(value):
                where = (*at, n), f"{name}[{n}]"
                yield from self.node(item, before.old_item(n), node.items, *where, ratchet.index(n))
        elif isinstance(value, dict):
            was = old if isinstance(old, dict) else {}
            for key, item in value.items():
                child = node.child(key)
                if child is not None and child in self.rules.routes:
                    inner = f"{name}.{key}" if name else key
                    inner = inner if key in node.properties else f"{name}[{key}]"
                    yield from self.node(item, was.get(key), child, (*at, key), inner, ratchet.key(key))

    def _expressions(
        self, value: Any, old: Any, node: Node, at: Path, name: str, ratchet: _Ratchet
    ) -> Iterator[FieldError]:
        project = self.rules.projections[node]
        seen = project(value) if project is not None else value
        was = project(old) if project is not None and old is not None else old
        plain = Bindings({"self": seen})
        changed = Bindings({"self": seen, "oldSelf": was})
        optional = Bindings({"self": seen, "_old": was, "_had_old": was is not None})
        shown = name or NO_FIELD
        for rule in self.rules.rules[node]:
            if rule.program is None:
                yield invalid(shown, node.type, f"rule compile error: {rule.error}", path=at)
                continue
            if rule.uses_old and was is None and not rule.rule.optional_old_self:
                continue
            bindings = optional if rule.rule.optional_old_self else changed if rule.uses_old else plain
            self.left -= rule.program.cost(bindings)
            if self.left < 0:
                yield invalid(shown, node.type, _OUT_OF_BUDGET, path=at)
                return
            try:
                if rule.program.run(bindings) is True:
                    continue
            except CelEvaluationError as error:
                if error.over_budget:
                    self.left = -1
                yield invalid(shown, node.type, _evaluation_problem(error, rule), path=at)
                if self.left < 0:
                    return
                continue
            if rule.uses_old or not ratchet.forgives:
                yield _broken(rule, bindings, value, node, at, name)


def _evaluation_problem(error: CelEvaluationError, rule: CompiledRule) -> str:
    if error.over_budget:
        detail = "no further validation rules will be run due to call cost exceeds limit for rule"
        return f"'operation cancelled: actual cost limit exceeded': {detail}: {rule.name}"
    if error.problem.startswith("no such overload"):
        detail = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error.problem}': {detail}: {rule.name}"
    return f"{error.problem} evaluating rule: {rule.name}"


def _broken(
    rule: CompiledRule, bindings: Bindings, value: Any, node: Node, at: Path, name: str
) -> FieldError:
    detail = _message(rule, bindings)
    shown = ".".join(part for part in (name, rule.target.text) if part) or NO_FIELD
    path = (*at, *rule.target.path)
    bad = OMITTED if node.type in {"object", "array"} else value
    match rule.rule.reason:
        case "FieldValueForbidden":
            return forbidden(shown, detail, path=path)
        case "FieldValueRequired":
            return required(shown, detail, path=path)
        case "FieldValueDuplicate":
            return duplicate(shown, bad, path=path)
        case _:
            return invalid(shown, bad, detail, path=path)


def _message(rule: CompiledRule, bindings: Bindings) -> str:
    """The result of messageExpression if valid, else the message, else the rule itself."""
    default = rule.rule.message.strip() or f"failed rule: {rule.name}"
    if rule.message is None:
        return default
    try:
        text = rule.message.run(bindings)
    except CelEvaluationError:
        return default
    words = text.strip() if isinstance(text, str) else ""
    return words if words and "\n" not in words and len(words.encode()) <= _LONGEST_MESSAGE else default
