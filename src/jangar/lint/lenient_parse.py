"""Reads a spec with errors as far as possible, to check the rest of it.

A wrong type in one place must not hide a mistake in another, so what the types refuse is repaired for reading, and
whatever the rules then say about a repaired place is left out.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from jangar.api.meta import ApiModel, JsonObject
from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.domain.orchestration.validation import definition_problems, not_built_steps
from jangar.lint.conditions import compile_when
from jangar.lint.finding import Diagnostic
from jangar.lint.source_positions import Path

Spec = TypeVar("Spec", bound=ApiModel)
Repair = Callable[[Any, Path, JsonObject], bool]
"""Repairs the field at a path; gets the field's holder, its path and the spec. False if it cannot."""

_ATTEMPTS: Final = 3
_MISSING: Final = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec(Generic[Spec]):
    """A spec as far as it could be read: None if nothing could; `whole` if it had no errors."""

    spec: Spec | None
    repaired: frozenset[Path] = frozenset()

    @property
    def whole(self) -> Spec | None:
        return None if self.repaired else self.spec

    def covers(self, path: Path) -> bool:
        """Whether the field or one of its parents was repaired."""
        return (
            any(path[:length] in self.repaired for length in range(1, len(path) + 1))
            if self.repaired
            else False
        )

    def diagnostics(self, problems: Iterable[Problem], *, under: Path) -> Iterator[Diagnostic]:
        """Problems of fields that were not repaired; the spec is at `under`."""
        for problem in problems:
            inner = problem.path[1:]  # the domain's paths begin with spec
            if not self.covers(inner):
                yield Diagnostic.of(problem, at=(*under, *inner))


def read_spec(model: type[Spec], value: Any, repair: Repair) -> ReadSpec[Spec]:
    nothing: ReadSpec[Spec] = ReadSpec(spec=None, repaired=frozenset({()}))
    if not isinstance(value, dict):
        return nothing
    repaired: set[Path] = set()
    for attempt in range(_ATTEMPTS):
        try:
            return ReadSpec(spec=model.model_validate(value), repaired=frozenset(repaired))
        except ValidationError as error:
            value = value if attempt else copy.deepcopy(value)
            for item in error.errors(include_url=False, include_context=False, include_input=False):
                path = tuple(item["loc"])
                if _repaired(value, path, repair) and item["type"] != _MISSING:
                    repaired.add(path)
    return nothing


def _repaired(value: JsonObject, path: Path, repair: Repair) -> bool:
    holder: Any = value
    for part in path[:-1]:
        try:
            holder = holder[part]
        except (KeyError, IndexError, TypeError):
            return False
    return repair(holder, path, value)


ReadDefinition = ReadSpec[OrchestrationSpec]

_BLANK_STEP: Final = {"name": "", "kind": ""}


def read_definition(spec: Any) -> ReadDefinition:
    return read_spec(OrchestrationSpec, spec, _repair)


def _repair(holder: Any, path: Path, _spec: JsonObject) -> bool:
    """Replace a required value with a blank one, and remove an optional one."""
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


def definition_diagnostics(read: ReadDefinition, *, under: Path) -> Iterator[Diagnostic]:
    """Problems of a definition at `under`."""
    if read.spec is not None:
        problems = [
            *not_built_steps(read.spec),
            *definition_problems(read.spec, compile_condition=compile_when),
        ]
        yield from read.diagnostics(problems, under=under)
