"""Findings of lint: a problem with its position in a file."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from jangar.api.problems import Problem, dotted
from jangar.api.reasons import Reason
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Path, Position, Text
from jangar.lint.tree import Flaw

_MAX_TEXT = 500
"""Maximum length of a message; some quote the rejected value, which can be large."""


class Severity(StrEnum):
    """An error fails the check; a warning does so with --strict only."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem of one file."""

    file: str
    position: Position
    reason: Reason | FileReason
    message: str
    fix: str = ""
    field: str = ""
    kind: str = ""
    name: str = ""
    step: str | None = None
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A problem of an object, without the object's position."""

    path: Path
    reason: Reason | FileReason
    message: str
    fix: str = ""
    step: str | None = None
    severity: Severity = Severity.ERROR

    @classmethod
    def of(cls, problem: Problem, *, at: Path | None = None) -> "Diagnostic":
        """The domain's problem, at its own path or another."""
        return cls(
            path=problem.path if at is None else at,
            reason=problem.reason,
            message=problem.message,
            fix=problem.fix,
            step=problem.step,
        )


class Owner(NamedTuple):
    """The object with a flaw, as far as its text is readable. `depth` is the depth of its own fields."""

    kind: str = ""
    name: str = ""
    depth: int = 0

    @classmethod
    def of(cls, value: object, path: Path) -> "Owner":
        """The owner at this path: the document, or an item of a list of objects."""
        match value, path:
            case {"kind": str(kind), "items": list(items)}, ("items", int(index), *_) if kind.endswith(
                "List"
            ):
                item = items[index] if index < len(items) else None
                return cls.of(item, ())._replace(depth=2)
            case {"kind": str(kind)}, _:
                return cls(kind, name_in(value.get("metadata") if isinstance(value, dict) else None))
            case _:
                return cls()


def finding_of_flaw(file: str, flaw: Flaw, text: Text, owner: "Owner") -> Finding:
    message = flaw.message
    if flaw.first_offset is not None:
        message = f"{message}, first on line {text.position(flaw.first_offset).line}"
    return Finding(
        file=file,
        position=text.position(flaw.offset),
        reason=flaw.reason,
        message=short(message),
        fix=flaw.fix,
        field=short(dotted(flaw.path[owner.depth :])),
        kind=short(owner.kind),
        name=short(owner.name),
    )


def short(text: str) -> str:
    """The text, without its middle if it is very long."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]}…{text[-half:]}"


def name_in(metadata: Any) -> str:
    """The object's name; `generateName` and a star if it has none; else an empty text."""
    match metadata:
        case {"name": str(name)}:
            return name
        case {"generateName": str(prefix)} if prefix:
            return f"{prefix}*"
        case _:
            return ""
