"""The definition of one environment variable: name, value type, default, Helm value and description."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

from jangar.settings.forms import Form

T = TypeVar("T")

_METADATA = "variable"


class Process(StrEnum):
    """A process that reads the variable, named as its CLI command."""

    CONTROLLERS = "controllers"
    CONTROL_PLANE = "control-plane"
    UP = "up"


BOTH = frozenset({Process.CONTROLLERS, Process.CONTROL_PLANE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Generic[T]):
    """One environment variable."""

    name: str
    form: Form[T]
    default: T
    shown_default: str
    """The default as text; empty if the variable is unset by default."""
    helm_value: str
    """The chart value that sets it; empty if the chart computes it."""
    processes: frozenset[Process] = frozenset({Process.CONTROLLERS})
    description: str
    is_secret: bool = False

    def read(self, environment: Mapping[str, str]) -> T:
        """The value in the environment, or the default; raises ValueError with the name and what is allowed."""
        raw = environment.get(self.name)
        if raw is None:
            return self.default
        text = raw.strip()
        if not text and not self.form.accepts_empty:
            return self.default
        try:
            return self.form.read(text)
        except ValueError as error:
            raise ValueError(self._error_message(raw, str(error))) from None

    def _error_message(self, raw: str, reason: str) -> str:
        if self.is_secret:
            return f"{self.name} (value not shown): the value is invalid; use {self.form.allowed}"
        if reason.startswith(self.name):
            return reason
        return f"{self.name}={raw!r}: {reason}; use {self.form.allowed}"


def setting(variable: Variable[T]) -> T:
    """A field of a settings dataclass that is read from the variable."""
    return field(default=variable.default, metadata={_METADATA: variable})


def variables_of(settings: type[Any]) -> dict[str, Variable[Any]]:
    """The variables of a settings dataclass, by field."""
    return {item.name: cast("Variable[Any]", item.metadata[_METADATA]) for item in fields(settings)}
