"""From the environment to the settings of a process: every problem at once. Knows no particular process."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from jangar.settings.variable import variables_of

T = TypeVar("T")


class BadSettings(Exception):
    """The environment says what no process can follow: every problem, a sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def read(settings: type[T], environment: Mapping[str, str]) -> T:
    """What the environment says; raises BadSettings."""
    values, problems = read_values(settings, environment)
    if problems:
        raise BadSettings(problems)
    return settings(**values)


def read_values(settings: type[Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """By field, those that could be read; and what is wrong with the others."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, variable in variables_of(settings).items():
        try:
            values[name] = variable.read(environment)
        except ValueError as error:
            problems.append(str(error))
    return values, problems
