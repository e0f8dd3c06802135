"""One rule of x-kubernetes-validations, compiled: its program, or what Kubernetes says of a rule that can be none.

Knows rules and the types a schema declares; runs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from picokube.schema.cel import Program, assembled, compiled, parsed
from picokube.schema.cel_ast import Call, Const, Expr, Fold, Ident, Literal, mentions
from picokube.schema.cel_checker import Checked, Mistake, checked
from picokube.schema.cel_cost import largest_cost
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
    """`cost` and `message_cost` are the most that one evaluation can cost; 0 unless they were asked for."""

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
    def of(cls, rule: Rule, node: Node, about: Declared, *, estimated: bool = False) -> "CompiledRule":
        """The rule of a schema `node`, `about` being what CEL knows of its values."""
        target = (field_path(rule.field_path, node) if rule.field_path else None) or FieldPath("", ())
        found = _compiled(rule, rule.rule, about, gives="bool")
        if isinstance(found, str):
            return cls(rule, None, found, None, uses_old=False, target=target)
        told = (
            _compiled(rule, rule.message_expression, about, gives="string") if rule.message_expression else ""
        )
        return cls(
            rule=rule,
            program=found.program,
            error="",
            message=None if isinstance(told, str) else told.program,
            uses_old=mentions(found.checked.root, "oldSelf"),
            target=target,
            message_error=f"messageExpression {told}" if told and isinstance(told, str) else "",
            cost=largest_cost(found.checked, about) if estimated else 0,
            message_cost=largest_cost(told.checked, about) if estimated and not isinstance(told, str) else 0,
        )

    @property
    def name(self) -> str:
        return self.rule.message.strip() or self.rule.rule.strip()


@dataclass(frozen=True, slots=True)
class _Compiled:
    program: Program
    checked: Checked


def _compiled(rule: Rule, source: str, about: Declared, *, gives: str) -> _Compiled | str:
    """The program, or what Kubernetes says of a source that cannot be one."""
    found = understood(rule, source, about, gives=gives)
    if isinstance(found, str):
        return found
    tree = resolved(found) if needs_resolving(found) else None
    try:
        program = _program(source, tree, optional_old=rule.optional_old_self)
    except CelSyntaxError as problem:
        return f"compilation failed: {problem.report}"
    return _Compiled(program, found)


def understood(rule: Rule, source: str, about: Declared, *, gives: str) -> Checked | str:
    """The expression with its types, or what Kubernetes says of one that makes no sense."""
    old = optional_of(about.type) if rule.optional_old_self else about.type
    try:
        tree = expanded(parsed(source))
    except CelSyntaxError as problem:
        return f"compilation failed: {problem.report}"
    found = checked(tree, {"self": about.type, "oldSelf": old}, [about])
    mistakes = found.mistakes or literal_mistakes(found)
    if mistakes:
        return f"compilation failed: {_reports(source, mistakes)}"
    return found if found.gives.name == gives else _WRONG_RESULT[gives]


def _program(source: str, tree: Expr | None, *, optional_old: bool) -> Program:
    """The program of `source`; of a tree that was made from it, where the library would not read it right."""
    # The library takes no optional value from outside, so one is made around the rule.
    if tree is None:
        return (
            compiled(f"{_WRAPPING}{source}\n)", _OPTIONAL) if optional_old else compiled(source, _VARIABLES)
        )
    if not optional_old:
        return assembled(source, tree, _VARIABLES)
    none = Call("optional.none", ())
    old = Call("_?_:_", (Ident("_had_old"), Call("optional.of", (Ident("_old"),)), none))
    never = Const(value=False, type="bool")
    return assembled(
        source, Fold(("#unused",), "oldSelf", Literal(()), old, never, Ident("oldSelf"), tree), _OPTIONAL
    )


def _reports(source: str, mistakes: Sequence[Mistake]) -> str:
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    reports = []
    for at, problem in sorted(mistakes[:_MOST_REPORTS], key=lambda each: each[0]):
        number = max(n for n, start in enumerate(starts[:-1]) if start <= max(at, 0))
        reports.append(_report(lines[number], number + 1, max(at, 0) - starts[number], problem))
    if len(mistakes) > _MOST_REPORTS:
        reports.append(f"{len(mistakes) - _MOST_REPORTS} more errors were truncated")
    return "\n".join(reports)


def _report(line: str, number: int, column: int, problem: str) -> str:
    """A compiler's account of one problem: the line it is in, with a mark below."""
    shown = line.replace("\t", " ")
    mark = "".join("\uff0e" if each > "\x7f" else "." for each in shown[:column])
    mark += "\uff3e" if shown[column : column + 1] > "\x7f" else "^"
    return f"ERROR: <input>:{number}:{column + 1}: {problem}\n | {shown}\n | {mark}"
