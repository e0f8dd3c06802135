"""Compiles a rule of x-kubernetes-validations to a program, or to the error message of Kubernetes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from picokube.schema.cel import Program, compile_tree, compiled, parsed
from picokube.schema.cel_ast import Call, Const, Expr, Fold, Ident, Literal, mentions
from picokube.schema.cel_checker import Checked, TypeProblem, checked
from picokube.schema.cel_cost import max_cost
from picokube.schema.cel_declared import Declared
from picokube.schema.cel_literals import literal_mistakes
from picokube.schema.cel_macros import expanded
from picokube.schema.cel_resolved import needs_resolving, resolved
from picokube.schema.cel_types import optional_of
from picokube.schema.errors import CelSyntaxError
from picokube.schema.field_paths import FieldPath, field_path
from picokube.schema.node import Node, Rule

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
        found = _compiled(rule, rule.rule, declaration, gives="bool")
        if isinstance(found, str):
            return cls(rule, None, found, None, uses_old=False, target=target)
        message_result = (
            _compiled(rule, rule.message_expression, declaration, gives="string")
            if rule.message_expression
            else ""
        )
        return cls(
            rule=rule,
            program=found.program,
            error="",
            message=None if isinstance(message_result, str) else message_result.program,
            uses_old=mentions(found.checked.root, "oldSelf"),
            target=target,
            message_error=f"messageExpression {message_result}"
            if message_result and isinstance(message_result, str)
            else "",
            cost=max_cost(found.checked, declaration) if estimated else 0,
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


def _compiled(rule: Rule, source: str, declaration: Declared, *, gives: str) -> _Compiled | str:
    """The program, or the error message of Kubernetes."""
    found = check_expression(rule, source, declaration, gives=gives)
    if isinstance(found, str):
        return found
    tree = resolved(found) if needs_resolving(found) else None
    try:
        program = _program(source, tree, optional_old=rule.optional_old_self)
    except CelSyntaxError as problem:
        return f"compilation failed: {problem.report}"
    return _Compiled(program, found)


def check_expression(rule: Rule, source: str, declaration: Declared, *, gives: str) -> Checked | str:
    """The type-checked expression, or the error message of Kubernetes."""
    old = optional_of(declaration.type) if rule.optional_old_self else declaration.type
    try:
        tree = expanded(parsed(source))
    except CelSyntaxError as problem:
        return f"compilation failed: {problem.report}"
    found = checked(tree, {"self": declaration.type, "oldSelf": old}, [declaration])
    mistakes = found.mistakes or literal_mistakes(found)
    if mistakes:
        return f"compilation failed: {_reports(source, mistakes)}"
    return found if found.gives.name == gives else _WRONG_RESULT[gives]


def _program(source: str, tree: Expr | None, *, optional_old: bool) -> Program:
    """The program of `source`, or of its transformed tree if the library would misinterpret the source."""
    # The library accepts no optional values as input, so an expression around the rule creates one.
    if tree is None:
        return (
            compiled(f"{_WRAPPING}{source}\n)", _OPTIONAL) if optional_old else compiled(source, _VARIABLES)
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
