"""Conditions: a compiled boolean CEL expression over named variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from picokube.schema import cel
from picokube.schema.cel_ast import mentions, mentions_whole, selected_names
from picokube.schema.errors import CelEvaluationError, CelSyntaxError


class CelType(StrEnum):
    """The type of a variable. Maps have string keys. Items and values are checked at run time."""

    DYN = "dyn"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    MAP = "map"


Variables: TypeAlias = Mapping[str, CelType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A compiled condition. Equal if source and variables are equal."""

    source: str
    variables: tuple[tuple[str, CelType], ...]
    program: cel.Program = field(compare=False, repr=False)

    def references(self, variable: str) -> frozenset[str]:
        """Names selected directly from `variable`: steps.build, steps["my-step"], has(steps.build)."""
        return frozenset(selected_names(self.program.tree, variable))

    def uses(self, variable: str) -> bool:
        """Whether the condition uses `variable`."""
        return mentions(self.program.tree, variable)

    def uses_whole(self, variable: str) -> bool:
        """Whether the condition uses `variable` other than to select literal names."""
        return mentions_whole(self.program.tree, variable)

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        """Evaluate the condition. Raises CelEvaluationError."""
        unbound = [name for name, _ in self.variables if name not in bindings and self.uses(name)]
        if unbound:
            raise CelEvaluationError(self.source, f"no value for {', '.join(unbound)}")
        value = self.program.run(cel.Bindings(bindings))
        if not isinstance(value, bool):
            raise CelEvaluationError(self.source, f"must evaluate to a bool, got {type(value).__name__}")
        return value


def compile_condition(source: str, variables: Variables) -> Condition:
    """Compile a condition. Raises CelSyntaxError, also if the expression is not boolean."""
    declared = tuple(sorted((name, CelType(kind)) for name, kind in variables.items()))
    program = cel.compiled(source, declared)
    if program.gives not in {"BOOL", "DYN"}:
        raise CelSyntaxError(source, f"must evaluate to a bool, not {program.gives.lower()}")
    return Condition(source=source, variables=declared, program=program)
