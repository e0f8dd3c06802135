"""Validates objects like the API server: schema, CEL rules and unknown fields."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from jangar.api.kind import Kind
from jangar.api.meta import JsonObject
from jangar.api.reasons import Reason
from jangar.crdgen.crd import root_schema
from jangar.domain.orchestration.message_text import MAX_QUOTED, Guesses, quoted
from jangar.lint.finding import Diagnostic
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Path
from picokube.schema import CompiledSchema, ErrorType, FieldError, UnknownField, admit, check

_NO_RULE_RUN: Final = "some validation rules were not checked"
_BARE: Final = ("boolean", "integer", "number")
"""Types that are written without quotes."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_DURATION: Final = re.compile(r"([0-9]{1,9})\s*(s|m|h)")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_JSON_TYPES: Final = frozenset({*_BARE, "string", "array", "object", "null"})


@cache
def schema_of(kind: Kind) -> CompiledSchema:
    """The compiled schema, cached for the process."""
    return CompiledSchema.of(_root(kind))


@cache
def _root(kind: Kind) -> JsonObject:
    return root_schema(kind)


def admitted_object(kind: Kind, value: JsonObject) -> tuple[JsonObject, list[Diagnostic]]:
    """The object as the API server would store it, and all its problems, including unknown fields."""
    admitted, unknown = admit(schema_of(kind), value)
    diagnostics = list(_unknown_diagnostics(kind, unknown))
    diagnostics.extend(
        _diagnostic(error, _at(admitted, error.path), _schema_at(_root(kind), error.path))
        for error in check(schema_of(kind), admitted)
        if not error.detail.startswith(_NO_RULE_RUN)
    )
    return admitted, diagnostics


def _unknown_diagnostics(kind: Kind, unknown: list[UnknownField]) -> Iterator[Diagnostic]:
    guesses: dict[Path, Guesses] = {}
    for item in unknown:
        name = str(item.path[-1])
        place = tuple("" if isinstance(part, int) else part for part in item.path[:-1])
        if place not in guesses:
            guesses[place] = Guesses(_known_fields(_root(kind), item.path[:-1]))
        yield Diagnostic(
            path=item.path,
            reason=FileReason.UNKNOWN_FIELD,
            message=f"unknown field {quoted(name)}",
            fix=guesses[place].fix(name, otherwise="remove it, or check its indentation"),
        )


def _known_fields(schema: JsonObject, path: Path) -> list[str]:
    """The known fields at `path`; none below a map."""
    return list(_schema_at(schema, path).get("properties", ()))


def _schema_at(schema: JsonObject, path: Path) -> JsonObject:
    for part in path:
        schema = (
            schema.get("items", {}) if isinstance(part, int) else schema.get("properties", {}).get(part, {})
        )
    return schema


def _diagnostic(error: FieldError, value: Any, schema: JsonObject) -> Diagnostic:
    return Diagnostic(
        path=error.path,
        reason=Reason.INVALID_VALUE,
        message=_message(error),
        fix=_fix(error, value, schema),
    )


def _at(value: Any, path: Path) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _message(error: FieldError) -> str:
    """Kubernetes' message without the field, which is shown before it, and without repetitions."""
    own = f"{error.field} in body "
    if error.type is ErrorType.TYPE_INVALID and error.detail.startswith(own):
        wanted, _, found = error.detail.removeprefix(own).rpartition(": ")
        return f"{wanted}, found {error.bad_value if error.bad_value in _JSON_TYPES else found}"
    return error.body.replace(own, "")


def _fix(error: FieldError, value: Any, schema: JsonObject) -> str:
    if error.type is ErrorType.REQUIRED:
        return f"add {error.path[-1]}" if error.path and not error.detail else ""
    if error.type is not ErrorType.TYPE_INVALID:
        return ""
    if "of type string" in error.detail:
        return "quote it to make it text" if error.bad_value in _BARE else ""
    if error.bad_value in _BARE and schema.get("type") == "array":
        return _as_list(error.path, value)
    return _in_place_of_text(error.path, value, schema) if isinstance(value, str) else ""


def _in_place_of_text(path: Path, text: str, schema: JsonObject) -> str:
    """The fix for a text where another type is required."""
    match schema.get("type"):
        case "integer" | "number":
            return _as_number(path, text)
        case "boolean":
            is_quoted = text.lower() in {"true", "false"}
            return "write it without quotes" if is_quoted else "write true or false"
        case "object" if "name" in schema.get("properties", {}):
            return f"write {path[-1]}: {{name: {quoted_if_needed(text)}}}"
        case "array":
            return _as_list(path, text)
        case _:
            return ""


def _as_number(path: Path, text: str) -> str:
    if _NUMBER.fullmatch(text):
        return "write it without quotes"
    is_seconds = str(path[-1]).endswith("Seconds") if path else False
    found = _DURATION.fullmatch(text)
    if is_seconds and found:
        return f"write a whole number of seconds, without a unit: {int(found[1]) * _UNITS[found[2]]}"
    return f"write a whole number{' of seconds, such as 30' if is_seconds else ', such as 2'}"


def _as_list(path: Path, value: Any) -> str:
    return f"write {path[-1]}: [{quoted_if_needed(str(value))}]"


def quoted_if_needed(text: str) -> str:
    """The text in YAML flow style, quoted if necessary."""
    short = text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…"
    return short if _PLAIN.fullmatch(short) else quoted(short)
