"""The one way from the schema engine's CEL to the domain's conditions. Neither knows the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jangar.domain.orchestration.definition import Condition
from jangar.lint.cel_messages import plain_problem
from picokube.schema import CelEvaluationError, CelSyntaxError, CelType, compile_condition
from picokube.schema import Condition as Compiled

_WHEN: Final = {"parameters": CelType.MAP, "steps": CelType.MAP}
_LOOP: Final = {"iteration": CelType.MAP}


@dataclass(frozen=True, slots=True)
class _Condition:
    """A compiled condition that fails with the domain's own kind of error."""

    compiled: Compiled

    @property
    def source(self) -> str:
        return self.compiled.source

    def references(self, variable: str) -> frozenset[str]:
        return self.compiled.references(variable)

    def uses_whole(self, variable: str) -> bool:
        return self.compiled.uses_whole(variable)

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        try:
            return self.compiled.evaluate(bindings)
        except CelEvaluationError as error:
            raise ValueError(error.problem) from error


def compile_when(source: str, /) -> Condition:
    """A ConditionCompiler: raises ValueError with the reason for what does not compile."""
    return _compiled(source, _WHEN)


def compile_loop(source: str, /) -> Condition:
    """The same for the condition of a workflow's loop."""
    return _compiled(source, _LOOP)


def _compiled(source: str, variables: Mapping[str, CelType]) -> Condition:
    try:
        return _Condition(compile_condition(source, variables))
    except CelSyntaxError as error:
        where = (
            f" at line {error.line}, column {error.column}"
            if error.line and "line" not in error.problem
            else ""
        )
        raise ValueError(plain_problem(f"{error.problem}{where}")) from error
