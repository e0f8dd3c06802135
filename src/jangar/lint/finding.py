"""A problem with the place where it stands. What the checks answer and every output shows."""

from dataclasses import dataclass
from enum import StrEnum

from jangar.api.problems import Problem, dotted
from jangar.api.reasons import Reason
from jangar.lint.marks import Path, Position
from jangar.lint.reasons import FileReason
from jangar.lint.tree import Flaw

_MAX_TEXT = 500
"""Characters of a message; some quote the value they refuse, which may be a megabyte."""


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
class Complaint:
    """A problem of an object, before it is known where the object stands."""

    path: Path
    reason: Reason | FileReason
    message: str
    fix: str = ""
    step: str | None = None
    severity: Severity = Severity.ERROR

    @classmethod
    def of(cls, problem: Problem, *, at: Path | None = None) -> "Complaint":
        """The domain's problem, at its own path or another."""
        return cls(
            path=problem.path if at is None else at,
            reason=problem.reason,
            message=problem.message,
            fix=problem.fix,
            step=problem.step,
        )


def finding_of_flaw(file: str, flaw: Flaw, position: Position, first: Position | None) -> Finding:
    message = flaw.message if first is None else f"{flaw.message}, first on line {first.line}"
    return Finding(
        file=file,
        position=position,
        reason=flaw.reason,
        message=short(message),
        fix=flaw.fix,
        field=short(dotted(flaw.path)),
    )


def short(text: str) -> str:
    """The text, its middle left out if it is very long."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]}…{text[-half:]}"
