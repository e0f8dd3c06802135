"""Reads a settings dataclass from the environment and reports every problem at once."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from jangar.settings.variable import variables_of

T = TypeVar("T")


class BadSettings(Exception):
    """Settings in the environment are invalid; `problems` has one message for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def read(settings: type[T], environment: Mapping[str, str]) -> T:
    """The settings in the environment; raises BadSettings."""
    values, problems = read_values(settings, environment)
    if problems:
        raise BadSettings(problems)
    return settings(**values)


def read_values(settings: type[Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The valid values by field, and a message for each invalid one."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, variable in variables_of(settings).items():
        try:
            values[name] = variable.read(environment)
        except ValueError as error:
            problems.append(str(error))
    return values, problems
