"""One environment variable: what it is called, what it may say, what it means. Knows no particular one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

from jangar.settings.forms import Form

T = TypeVar("T")

_METADATA = "variable"


class Process(StrEnum):
    """Who reads it, as the command line calls it."""

    CONTROLLERS = "controllers"
    CONTROL_PLANE = "control-plane"
    UP = "up"


BOTH = frozenset({Process.CONTROLLERS, Process.CONTROL_PLANE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Generic[T]):
    """A row of the table."""

    name: str
    form: Form[T]
    default: T
    shown_default: str
    """The default as one would write it; empty if it is not set."""
    helm_value: str
    """Where the chart has it; empty if the chart sets it by itself."""
    processes: frozenset[Process] = frozenset({Process.CONTROLLERS})
    sentence: str
    is_secret: bool = False

    def read(self, environment: Mapping[str, str]) -> T:
        """Its value; raises ValueError with a whole sentence about a bad one."""
        written = environment.get(self.name)
        if written is None:
            return self.default
        word = written.strip()
        if not word and not self.form.takes_empty:
            return self.default
        try:
            return self.form.read(word)
        except ValueError as error:
            raise ValueError(self._problem(written, str(error))) from None

    def _problem(self, written: str, reason: str) -> str:
        if self.is_secret:
            return f"{self.name} (its value is not shown): it is not of its form; write {self.form.allowed}"
        if reason.startswith(self.name):
            return reason
        return f"{self.name}={written!r}: {reason}; write {self.form.allowed}"


def setting(variable: Variable[T]) -> T:
    """A field of a settings dataclass, with the variable that it comes from."""
    return field(default=variable.default, metadata={_METADATA: variable})


def variables_of(settings: type[Any]) -> dict[str, Variable[Any]]:
    """The variables of a settings dataclass, by field."""
    return {each.name: cast("Variable[Any]", each.metadata[_METADATA]) for each in fields(settings)}
