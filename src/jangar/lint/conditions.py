"""The one way from the schema engine's CEL to the domain's conditions. Neither knows the other."""

from typing import Final

from jangar.domain.orchestration.definition import Condition
from jangar.schema import CelSyntaxError, CelType, compile_condition

_VARIABLES: Final = {"parameters": CelType.MAP, "steps": CelType.MAP}


def compile_when(source: str, /) -> Condition:
    """A ConditionCompiler: raises ValueError with the reason for what does not compile."""
    try:
        return compile_condition(source, _VARIABLES)
    except CelSyntaxError as error:
        where = (
            f" (line {error.line}, column {error.column})"
            if error.line and "line" not in error.problem
            else ""
        )
        raise ValueError(f"{error.problem}{where}") from error
