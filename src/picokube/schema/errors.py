"""Field errors with the messages of Kubernetes, and the exceptions of this package.

An invalid field is a FieldError, which is returned. Exceptions are for everything else:

    SchemaError
    +-- SchemaRejected      a schema that cannot be compiled (too deep, a broken pattern)
    +-- JsonPathError       a JSONPath that cannot be read
    +-- CelError
        +-- CelSyntaxError      an expression that does not compile
        +-- CelEvaluationError  an expression that failed, or was stopped, on these values
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from picokube.schema.go_text import as_json, format_number, go_quote

Path: TypeAlias = tuple[str | int, ...]


class SchemaError(Exception):
    """Base class of the exceptions of this package."""


class SchemaRejected(SchemaError):
    """The schema can't be compiled. `structural_problems` returns all of its errors."""


class JsonPathError(SchemaError):
    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{problem} in JSONPath {source!r}")
        self.source, self.problem = source, problem


class CelError(SchemaError):
    def __init__(self, source: str, problem: str) -> None:
        super().__init__(problem)
        self.source, self.problem = source, problem


class CelSyntaxError(CelError):
    """The expression doesn't compile. `line` and `column` count from 1, and are 0 if unknown.

    `report` is the compiler's output: every error with its source line and a marker below.
    """

    def __init__(
        self, source: str, problem: str, *, line: int = 0, column: int = 0, report: str = ""
    ) -> None:
        super().__init__(source, problem)
        self.line, self.column = line, column
        self.report = report or f"ERROR: <input>:{line}:{column}: {problem}"


class CelEvaluationError(CelError):
    """The evaluation failed, or was stopped if `over_budget` is set."""

    def __init__(self, source: str, problem: str, *, over_budget: bool = False) -> None:
        super().__init__(source, problem)
        self.over_budget = over_budget


class ErrorType(StrEnum):
    """The reason of a cause in a Status."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_TITLES: Final = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TYPE_INVALID: "Invalid value",
    ErrorType.INTERNAL: "Internal error",
}
_VALUELESS: Final = frozenset(
    {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL}
)


class _Omitted:
    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = _Omitted()
"""The value of an error that shows none."""

NO_FIELD: Final = "<nil>"
"""The name of the root of an object in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """An invalid field. `field` is the display name; `path` are the keys and indexes to the value."""

    type: ErrorType
    field: str
    bad_value: object = ""
    detail: str = ""
    path: Path = ()

    @property
    def body(self) -> str:
        """The message of a Status cause, without the field."""
        title = _TITLES[self.type]
        if self.type not in _VALUELESS and self.bad_value is not OMITTED:
            title = f"{title}: {_shown(self.bad_value)}"
        return f"{title}: {self.detail}" if self.detail else title

    @property
    def message(self) -> str:
        return f"{self.field}: {self.body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownField:
    """A field that was dropped because the schema doesn't specify it."""

    path: Path

    @property
    def field(self) -> str:
        """The field path as in errors of fieldValidation=Strict: spec.steps[0].foo."""
        return "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path
        ).removeprefix(".")

    @property
    def message(self) -> str:
        return f'unknown field "{self.field}"'


def _shown(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return format_number(value)
        case str():
            return go_quote(value)
        case _:
            return as_json(value)


def required(field: str, detail: str = "", *, path: Path = ()) -> FieldError:
    return FieldError(type=ErrorType.REQUIRED, field=field, detail=detail, path=path)


def forbidden(field: str, detail: str, *, path: Path = ()) -> FieldError:
    return FieldError(type=ErrorType.FORBIDDEN, field=field, detail=detail, path=path)


def invalid(field: str, value: object, detail: str, *, path: Path = ()) -> FieldError:
    return FieldError(type=ErrorType.INVALID, field=field, bad_value=value, detail=detail, path=path)


def type_invalid(field: str, value: object, detail: str, *, path: Path = ()) -> FieldError:
    return FieldError(type=ErrorType.TYPE_INVALID, field=field, bad_value=value, detail=detail, path=path)


def internal(field: str, detail: str, *, path: Path = ()) -> FieldError:
    return FieldError(type=ErrorType.INTERNAL, field=field, detail=detail, path=path)


def duplicate(field: str, value: object, *, path: Path = ()) -> FieldError:
    return FieldError(type=ErrorType.DUPLICATE, field=field, bad_value=value, path=path)


def not_supported(field: str, value: object, supported: Sequence[str], *, path: Path = ()) -> FieldError:
    detail = "supported values: " + ", ".join(go_quote(item) for item in supported) if supported else ""
    return FieldError(type=ErrorType.NOT_SUPPORTED, field=field, bad_value=value, detail=detail, path=path)


def too_long(field: str, limit: int, *, path: Path = ()) -> FieldError:
    detail = f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"
    return FieldError(
        type=ErrorType.TOO_LONG, field=field, bad_value="<value omitted>", detail=detail, path=path
    )


def too_many(field: str, actual: int, limit: int, *, path: Path = ()) -> FieldError:
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}"
    return FieldError(type=ErrorType.TOO_MANY, field=field, bad_value=actual, detail=detail, path=path)
