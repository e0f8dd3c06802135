"""Environment variables: the definition of one, and settings dataclasses that are read from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Generic, TypeVar, cast

from jangar.domain.retention import Keep
from jangar.settings import forms
from jangar.settings.forms import Form

T = TypeVar("T")
K = TypeVar("K", bound=Keep | None)

_VARIABLE = "variable"
_GROUP = "group"


class Process(StrEnum):
    """A process that reads the variable, named as its CLI command."""

    CONTROLLERS = "controllers"
    CONTROL_PLANE = "control-plane"
    UP = "up"


CONTROLLERS = frozenset({Process.CONTROLLERS})
CONTROL_PLANE = frozenset({Process.CONTROL_PLANE})
UP = frozenset({Process.UP})
BOTH = CONTROLLERS | CONTROL_PLANE


class BadSettings(Exception):
    """Settings in the environment are invalid; `problems` has one message for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Variable(Generic[T]):
    """One environment variable."""

    name: str
    form: Form[T]
    default: T
    description: str
    helm_value: str = ""
    """The chart value that sets it; empty if the chart computes it."""
    processes: frozenset[Process] = CONTROLLERS
    is_secret: bool = False
    effective_default: str = ""
    """What applies if the variable is unset and the default only says so."""

    @property
    def shown_default(self) -> str:
        """The default as text; empty if the variable is unset by default."""
        return self.effective_default or self.form.format(self.default)

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


def setting(
    name: str,
    form: Form[T],
    default: T,
    description: str,
    *,
    helm_value: str = "",
    processes: frozenset[Process] = CONTROLLERS,
    is_secret: bool = False,
    effective_default: str = "",
) -> T:
    """A field of a settings dataclass that is read from this variable."""
    return shared(
        Variable(name, form, default, description, helm_value, processes, is_secret, effective_default)
    )


def retention(
    name: str,
    default: K,
    description: str,
    *,
    helm_value: str,
    processes: frozenset[Process] = CONTROLLERS,
    effective_default: str = "",
) -> K:
    """A field that is read from this variable as a retention period. None means unset."""
    form = cast("Form[K]", forms.retention(name))
    return shared(
        Variable(
            name,
            form,
            default,
            description,
            helm_value,
            processes,
            effective_default=effective_default,
        )
    )


def shared(variable: Variable[T]) -> T:
    """A field of a settings dataclass that is read from a variable of several processes."""
    return field(default=variable.default, metadata={_VARIABLE: variable})


def group(settings: type[T]) -> T:
    """A field that holds another settings dataclass."""
    return field(default_factory=settings, metadata={_GROUP: settings})


def variables_of(settings: type[Any]) -> dict[str, Variable[Any]]:
    """The variables of a settings dataclass by field; those of a group as `group.field`."""
    found: dict[str, Variable[Any]] = {}
    for item in fields(settings):
        if _GROUP in item.metadata:
            members = variables_of(item.metadata[_GROUP])
            found |= {f"{item.name}.{name}": variable for name, variable in members.items()}
        else:
            found[item.name] = item.metadata[_VARIABLE]
    return found


def read(settings: type[T], environment: Mapping[str, str]) -> T:
    """The settings in the environment; raises BadSettings with every problem at once."""
    values, problems = read_values(settings, environment)
    if problems:
        raise BadSettings(problems)
    return settings(**values)


def read_values(settings: type[Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The valid values by field, and a message for each invalid one."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for item in fields(settings):
        if (members := item.metadata.get(_GROUP)) is not None:
            group_values, group_problems = read_values(members, environment)
            values[item.name] = members(**group_values)
            problems += group_problems
            continue
        try:
            values[item.name] = item.metadata[_VARIABLE].read(environment)
        except ValueError as error:
            problems.append(str(error))
    return values, problems
