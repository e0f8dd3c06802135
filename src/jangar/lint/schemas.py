"""What the API server would refuse: the schema of a kind, its CEL rules and fields it does not know."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from jangar.api.kind import Kind
from jangar.api.meta import JsonObject
from jangar.api.reasons import Reason
from jangar.crdgen.crd import root_schema
from jangar.domain.orchestration.wording import Guesses, quoted
from jangar.lint.finding import Complaint
from jangar.lint.marks import Path
from jangar.lint.reasons import FileReason
from jangar.schema import CompiledSchema, ErrorType, FieldError, UnknownField, admit, check

_NO_RULE_RUN: Final = "some validation rules were not checked"
_BARE: Final = ("boolean", "integer", "number")
"""Types that are written without quotes."""
_JSON_TYPES: Final = frozenset({*_BARE, "string", "array", "object", "null"})


@cache
def schema_of(kind: Kind) -> CompiledSchema:
    """Compiled once a process, and only for kinds that occur."""
    return CompiledSchema.of(_root(kind))


@cache
def _root(kind: Kind) -> JsonObject:
    return root_schema(kind)


def admitted_object(kind: Kind, value: JsonObject) -> tuple[JsonObject, list[Complaint]]:
    """The object as the API server would store it, and everything it refuses, unknown fields included."""
    admitted, unknown = admit(schema_of(kind), value)
    complaints = list(_unknown_complaints(kind, unknown))
    complaints.extend(
        _complaint(error)
        for error in check(schema_of(kind), admitted)
        if not error.detail.startswith(_NO_RULE_RUN)
    )
    return admitted, complaints


def _unknown_complaints(kind: Kind, unknown: list[UnknownField]) -> Iterator[Complaint]:
    guesses: dict[Path, Guesses] = {}
    for each in unknown:
        name = str(each.path[-1])
        place = tuple("" if isinstance(part, int) else part for part in each.path[:-1])
        if place not in guesses:
            guesses[place] = Guesses(_known_fields(_root(kind), each.path[:-1]))
        yield Complaint(
            path=each.path,
            reason=FileReason.UNKNOWN_FIELD,
            message=f"unknown field {quoted(name)}",
            fix=guesses[place].fix(name, otherwise="remove it, or check its indentation"),
        )


def _known_fields(schema: JsonObject, path: Path) -> list[str]:
    """The fields that may stand at `path`; below a map of our kinds there are values, not fields."""
    for part in path:
        schema = (
            schema.get("items", {}) if isinstance(part, int) else schema.get("properties", {}).get(part, {})
        )
    return list(schema.get("properties", ()))


def _complaint(error: FieldError) -> Complaint:
    return Complaint(path=error.path, reason=Reason.INVALID_VALUE, message=_message(error), fix=_fix(error))


def _message(error: FieldError) -> str:
    """Kubernetes' words, less the field, which stands before them, and less what they say twice."""
    own = f"{error.field} in body "
    if error.type is ErrorType.TYPE_INVALID and error.detail.startswith(own):
        wanted, _, found = error.detail.removeprefix(own).rpartition(": ")
        return f"{wanted}, found {error.bad_value if error.bad_value in _JSON_TYPES else found}"
    return error.body.replace(own, "")


def _fix(error: FieldError) -> str:
    if error.type is ErrorType.REQUIRED:
        return f"add {error.path[-1]}" if error.path and not error.detail else ""
    if error.type is ErrorType.TYPE_INVALID:
        wants_text = "of type string" in error.detail
        if wants_text and error.bad_value in _BARE:
            return "quote it to make it text"
        if not wants_text and error.bad_value == "string" and any(each in error.detail for each in _BARE):
            return "write it without quotes"
    return ""
