"""The rules of graphs, applied to what stands in a file: reads as much of a definition as can be read."""

from collections.abc import Iterator
from typing import Any, Final

from jangar.api.meta import JsonObject
from jangar.api.orchestration import OrchestrationSpec
from jangar.domain.orchestration.validation import definition_problems, not_built_steps
from jangar.lint.conditions import compile_when
from jangar.lint.finding import Diagnostic
from jangar.lint.lenient_parse import ReadSpec, read_spec
from jangar.lint.source_positions import Path

ReadDefinition = ReadSpec[OrchestrationSpec]

_BLANK_STEP: Final = {"name": "", "kind": ""}


def read_definition(spec: Any) -> ReadDefinition:
    return read_spec(OrchestrationSpec, spec, _mend)


def _mend(holder: Any, path: Path, _spec: JsonObject) -> bool:
    """Blank where a value is needed, absent where it is not."""
    match holder, path[-1:]:
        case dict(), ("steps",) if len(path) == 1:
            holder["steps"] = []
        case list(), (int(index),) if len(path) == 2 and path[0] == "steps":  # noqa: PLR2004 - steps[index]
            holder[index] = dict(_BLANK_STEP)
        case dict(), (("name" | "kind" | "value") as key,):
            holder[key] = ""
        case dict(), (key,):
            holder.pop(key, None)
        case list(), (int(index),) if index < len(holder):
            holder[index] = ""
        case _:
            return False
    return True


def definition_complaints(read: ReadDefinition, *, under: Path) -> Iterator[Diagnostic]:
    """What the rules of graphs say about a definition that stands at `under`."""
    if read.spec is not None:
        problems = [
            *not_built_steps(read.spec),
            *definition_problems(read.spec, compile_condition=compile_when),
        ]
        yield from read.complaints(problems, under=under)
