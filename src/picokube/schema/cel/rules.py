"""Compiles the rules of x-kubernetes-validations and runs them on objects, with the error messages of Kubernetes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from picokube.schema.cel.checker import Checked, TypeProblem, check_types, literal_mistakes
from picokube.schema.cel.costs import max_cost
from picokube.schema.cel.declarations import Declared, Projection, declare, projection
from picokube.schema.cel.program import Bindings, Program, compile_expression, compile_tree, parse
from picokube.schema.cel.syntax_tree import Call, Const, Expr, Fold, Ident, Literal, mentions
from picokube.schema.cel.transforms import expand_macros, needs_resolving, resolve_names
from picokube.schema.cel.type_system import optional_of
from picokube.schema.errors import (
    NO_FIELD,
    OMITTED,
    CelEvaluationError,
    CelSyntaxError,
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    required,
)
from picokube.schema.node import FieldPath, Node, Routes, Rule, field_path, routes_to
from picokube.schema.validation.correlation import Correlation

_VARIABLES: Final = (("oldSelf", "dyn"), ("self", "dyn"))
_OPTIONAL: Final = (("_had_old", "bool"), ("_old", "dyn"), ("self", "dyn"))
_WRAPPING: Final = "cel.bind(oldSelf, _had_old ? optional.of(_old) : optional.none(), "
_MOST_REPORTS: Final = 100
_WRONG_RESULT: Final = {
    "bool": "cel expression must evaluate to a bool",
    "string": "must evaluate to a string",
}


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """`cost` and `message_cost` are the maximum cost of an evaluation, or 0 if not estimated."""

    rule: Rule
    program: Program | None
    error: str
    message: Program | None
    uses_old: bool
    target: FieldPath
    message_error: str = ""
    cost: int = 0
    message_cost: int = 0

    @classmethod
    def of(cls, rule: Rule, node: Node, declaration: Declared, *, estimated: bool = False) -> "CompiledRule":
        """Compile a rule of a schema `node`, whose CEL declaration is `declaration`."""
        target = (field_path(rule.field_path, node) if rule.field_path else None) or FieldPath("", ())
        compiled_rule = _compile(rule, rule.rule, declaration, result_type="bool")
        if isinstance(compiled_rule, str):
            return cls(rule, None, compiled_rule, None, uses_old=False, target=target)
        message_result = (
            _compile(rule, rule.message_expression, declaration, result_type="string")
            if rule.message_expression
            else ""
        )
        return cls(
            rule=rule,
            program=compiled_rule.program,
            error="",
            message=None if isinstance(message_result, str) else message_result.program,
            uses_old=mentions(compiled_rule.checked.root, "oldSelf"),
            target=target,
            message_error=f"messageExpression {message_result}"
            if message_result and isinstance(message_result, str)
            else "",
            cost=max_cost(compiled_rule.checked, declaration) if estimated else 0,
            message_cost=max_cost(message_result.checked, declaration)
            if estimated and not isinstance(message_result, str)
            else 0,
        )

    @property
    def name(self) -> str:
        return self.rule.message.strip() or self.rule.rule.strip()


@dataclass(frozen=True, slots=True)
class _Compiled:
    program: Program
    checked: Checked


def _compile(rule: Rule, source: str, declaration: Declared, *, result_type: str) -> _Compiled | str:
    """The program, or the error message of Kubernetes."""
    checked_rule = check_expression(rule, source, declaration, result_type=result_type)
    if isinstance(checked_rule, str):
        return checked_rule
    tree = resolve_names(checked_rule) if needs_resolving(checked_rule) else None
    try:
        program = _program(source, tree, optional_old=rule.optional_old_self)
    except CelSyntaxError as problem:
        return f"compilation failed: {problem.report}"
    return _Compiled(program, checked_rule)


def check_expression(rule: Rule, source: str, declaration: Declared, *, result_type: str) -> Checked | str:
    """The type-checked expression, or the error message of Kubernetes."""
    old = optional_of(declaration.type) if rule.optional_old_self else declaration.type
    try:
        tree = expand_macros(parse(source))
    except CelSyntaxError as problem:
        return f"compilation failed: {problem.report}"
    checked_expression = check_types(tree, {"self": declaration.type, "oldSelf": old}, [declaration])
    mistakes = checked_expression.mistakes or literal_mistakes(checked_expression)
    if mistakes:
        return f"compilation failed: {_reports(source, mistakes)}"
    return (
        checked_expression
        if checked_expression.result_type.name == result_type
        else _WRONG_RESULT[result_type]
    )


def _program(source: str, tree: Expr | None, *, optional_old: bool) -> Program:
    """The program of `source`, or of its transformed tree if the library would misinterpret the source."""
    # The library accepts no optional values as input, so an expression around the rule creates one.
    if tree is None:
        return (
            compile_expression(f"{_WRAPPING}{source}\n)", _OPTIONAL)
            if optional_old
            else compile_expression(source, _VARIABLES)
        )
    if not optional_old:
        return compile_tree(source, tree, _VARIABLES)
    none = Call("optional.none", ())
    old = Call("_?_:_", (Ident("_had_old"), Call("optional.of", (Ident("_old"),)), none))
    never = Const(value=False, type="bool")
    return compile_tree(
        source, Fold(("#unused",), "oldSelf", Literal(()), old, never, Ident("oldSelf"), tree), _OPTIONAL
    )


def _reports(source: str, mistakes: Sequence[TypeProblem]) -> str:
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    reports = []
    for at, problem in sorted(mistakes[:_MOST_REPORTS], key=lambda item: item[0]):
        number = max(n for n, start in enumerate(starts[:-1]) if start <= max(at, 0))
        reports.append(_report(lines[number], number + 1, max(at, 0) - starts[number], problem))
    if len(mistakes) > _MOST_REPORTS:
        reports.append(f"{len(mistakes) - _MOST_REPORTS} more errors were truncated")
    return "\n".join(reports)


def _report(line: str, number: int, column: int, problem: str) -> str:
    """The message with its source line and a marker below."""
    shown = line.replace("\t", " ")
    mark = "".join("\uff0e" if item > "\x7f" else "." for item in shown[:column])
    mark += "\uff3e" if shown[column : column + 1] > "\x7f" else "^"
    return f"ERROR: <input>:{number}:{column + 1}: {problem}\n | {shown}\n | {mark}"


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
            route: _compile_rules(route, root=root if route is node else route.embedded)
            for route in routes
            if route.rules
        }
        return cls(node, routes, rules, {rule: projection(rule) for rule in rules})

    def errors(self, obj: Any, old: Any) -> list[FieldError]:
        """The errors of all rules for `obj`, or for the update from `old` to it."""
        run = _Run(self)
        ratchet = _Ratchet(Correlation(obj, old, self.root)) if old is not None else _Ratchet()
        return list(run.node(obj, old, self.root, (), "", ratchet))


def _compile_rules(node: Node, *, root: bool) -> tuple[CompiledRule, ...]:
    declaration = declare(node, root=root)
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
                    where = (*at, key), node.field_name(name, key)
                    yield from self.node(item, was.get(key), child, *where, ratchet.key(key))

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
                yield _violation(rule, bindings, value, node, at, name)


def _evaluation_problem(error: CelEvaluationError, rule: CompiledRule) -> str:
    if error.over_budget:
        detail = "no further validation rules will be run due to call cost exceeds limit for rule"
        return f"'operation cancelled: actual cost limit exceeded': {detail}: {rule.name}"
    if error.problem.startswith("no such overload"):
        detail = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error.problem}': {detail}: {rule.name}"
    return f"{error.problem} evaluating rule: {rule.name}"


def _violation(
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
