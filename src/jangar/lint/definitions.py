"""The rules of graphs, applied to what stands in a file: reads as much of a definition as can be read.

A wrong type in one step must not hide a cycle among the others, so what the types refuse is mended for
reading, and whatever the rules then say about a mended place is left out.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from jangar.api.meta import JsonObject
from jangar.api.orchestration import OrchestrationSpec
from jangar.domain.orchestration.validation import definition_problems
from jangar.lint.conditions import compile_when
from jangar.lint.finding import Complaint
from jangar.lint.marks import Path

_ATTEMPTS: Final = 3
_MISSING: Final = "missing"
_BLANK_STEP: Final = {"name": "", "kind": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDefinition:
    """A definition as far as it could be read: `spec` is None if nothing could, `whole` if all was right."""

    spec: OrchestrationSpec | None
    mended: frozenset[Path] = frozenset()

    @property
    def whole(self) -> OrchestrationSpec | None:
        return None if self.mended else self.spec

    def covers(self, path: Path) -> bool:
        """Whether the place, or one around it, was mended."""
        return (
            any(path[:length] in self.mended for length in range(1, len(path) + 1)) if self.mended else False
        )


def read_definition(spec: Any) -> ReadDefinition:
    if not isinstance(spec, dict):
        return ReadDefinition(spec=None, mended=frozenset({()}))
    mended: set[Path] = set()
    for attempt in range(_ATTEMPTS):
        try:
            return ReadDefinition(spec=OrchestrationSpec.model_validate(spec), mended=frozenset(mended))
        except ValidationError as error:
            spec = spec if attempt else copy.deepcopy(spec)
            for each in error.errors(include_url=False, include_context=False, include_input=False):
                path = tuple(each["loc"])
                if _mend(spec, path) and each["type"] != _MISSING:
                    mended.add(path)
    return ReadDefinition(spec=None, mended=frozenset({()}))


def _mend(spec: JsonObject, path: Path) -> bool:
    """Makes the place readable: blank where a value is needed, absent where it is not."""
    holder: Any = spec
    for part in path[:-1]:
        try:
            holder = holder[part]
        except (KeyError, IndexError, TypeError):
            return False
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


def definition_complaints(read: ReadDefinition, *, under: Path) -> Iterator[Complaint]:
    """What the rules of graphs say about a definition that stands at `under`."""
    if read.spec is None:
        return
    for problem in definition_problems(read.spec, compile_condition=compile_when):
        inner = problem.path[1:]  # the domain's paths begin with spec
        if not read.covers(inner):
            yield Complaint.of(problem, at=(*under, *inner))
