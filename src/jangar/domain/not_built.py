"""Whether an object uses something that is not built. Pure; the table is `api/not_built`."""

from collections.abc import Iterator, Mapping
from typing import Any

from jangar.api.not_built import KINDS_NOT_BUILT, NotBuilt, rows_of
from jangar.api.problems import Problem
from jangar.api.reasons import Reason


def not_built_problems(kind: str, spec: Mapping[str, Any]) -> Iterator[Problem]:
    """One for the kind itself, or one for each field that says something that is not built."""
    if (row := KINDS_NOT_BUILT.get(kind)) is not None:
        yield _problem(row, ("kind",))
        return
    for row in rows_of(kind):
        path = tuple(row.field.split("."))
        found = _at(spec, path)
        if found is not None and (not row.value or found == row.value):
            yield _problem(row, ("spec", *path))


def _problem(row: NotBuilt, path: tuple[str, ...]) -> Problem:
    return Problem(reason=Reason.NOT_BUILT, path=path, message=row.message, fix=row.instead)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
