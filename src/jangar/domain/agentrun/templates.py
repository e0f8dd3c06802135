"""The templates of an AgentProvider: what they may say, and how they are filled in. Pure.

A template reads values, gives defaults and chooses with `if`; it neither loops, calls nor computes. What the engine of
templates would allow beyond that can fill the memory of the process however little fuel it gets.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import minijinja

from jangar.api.meta import JsonObject

MAX_EXPRESSIONS: Final = 100
MAX_RENDERED: Final = 900_000
"""Characters of all templates of a run together: they travel in one ConfigMap."""
FUEL: Final = 20_000
_SHOWN: Final = 60
FILTERS: Final = frozenset(
    {"default", "d", "tojson", "lower", "upper", "trim", "length", "first", "last", "join"}
)
STATEMENTS: Final = frozenset({"if", "elif", "else", "endif"})

_CODE = re.compile(r"\{\{-?(?P<expression>.*?)-?\}\}|\{%-?(?P<statement>.*?)-?%\}|\{#.*?#\}", re.DOTALL)
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ALLOWED = re.compile(r"[\w\s.\[\]|,()=!<>-]*")
_CALLED = re.compile(r"(?P<before>\|\s*)?(?P<name>[A-Za-z_]\w*)?\s*\(")
_FILTER = re.compile(r"\|\s*(?P<name>\w+)")
_WORDS_BEFORE_BRACKET = frozenset({"and", "or", "not", "in", "is", "if", "elif", "else"})


class TemplateError(ValueError):
    """Why a template cannot be filled in; says what to do about it."""


class Templates:
    """The templates of one run, filled in from the same values; all of them together have one bound."""

    def __init__(self, values: JsonObject) -> None:
        self._values = values
        self._left = MAX_RENDERED
        self._engine = minijinja.Environment(
            undefined_behavior="strict",
            fuel=FUEL,
            keep_trailing_newline=True,
            auto_escape_callback=lambda _: False,
            finalizer=_told,
        )

    def fill(self, text: str) -> str:
        """The text with its values. Raises TemplateError."""
        if not ("{{" in text or "{%" in text or "{#" in text):
            return self._counted(text)
        if problem := template_problem(text):
            raise TemplateError(problem)
        try:
            return self._counted(self._engine.render_str(text, None, **self._values))
        except minijinja.TemplateError as error:
            raise TemplateError(f"{_short(text)}: {error.message}") from error
        except ValueError as error:
            raise TemplateError(f"{_short(text)}: {error}") from error

    def _counted(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise TemplateError(
                f"the templates of the provider fill in to more than {MAX_RENDERED} characters"
            )
        return text


def template_problem(text: str) -> str | None:
    """What is wrong with a template whatever its values are; None if nothing is."""
    found = list(_CODE.finditer(text))
    if len(found) > MAX_EXPRESSIONS:
        return f"{_short(text)}: has more than {MAX_EXPRESSIONS} expressions"
    for each in found:
        if (problem := _code_problem(each)) is not None:
            return f"{_short(each[0])}: {problem}"
    try:
        _CHECKING.undeclared_variables_in_str(text)
    except minijinja.TemplateError as error:
        return f"{_short(text)}: {error.message}"
    return None


def _code_problem(found: re.Match[str]) -> str | None:
    statement = found["statement"]
    if statement is not None:
        word = (statement.split() or [""])[0]
        if word not in STATEMENTS:
            return f"{word!r} is not known: there are {', '.join(sorted(STATEMENTS))}"
    code = _TEXT.sub("''", statement if statement is not None else found["expression"] or "")
    if not _ALLOWED.fullmatch(code.replace("''", "")):
        return "values can be read and compared, nothing can be computed"
    if re.search(r"[)\]'\"]\s*\(", code):
        return "nothing can be called"
    for call in _CALLED.finditer(code):
        if call["name"] and not call["before"] and call["name"] not in _WORDS_BEFORE_BRACKET:
            return f"{call['name']} cannot be called"
    for used in _FILTER.finditer(code):
        if used["name"] not in FILTERS:
            return f"filter {used['name']} is not known: there are {', '.join(sorted(FILTERS))}"
    return None


def _told(value: Any) -> str:
    """How a value stands in a text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool | int | float | Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    raise ValueError("is no value that a text can hold")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


_CHECKING: Final = minijinja.Environment(fuel=FUEL)
