"""The templates of an AgentProvider: what they may say, and how they are filled in. Pure.

A template reads values, gives defaults and chooses with `if`; it neither loops, calls nor computes. What the engine of
templates would allow beyond that can fill the memory of the process however little fuel it gets.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import minijinja
import re2

from jangar.api.meta import JsonObject

MAX_TEMPLATE: Final = 262_144
"""Characters of one template."""
MAX_CODE: Final = 2_000
"""Characters of one expression or statement."""
MAX_EXPRESSIONS: Final = 100
MAX_RENDERED: Final = 900_000
"""Characters of all templates of a run together: they travel in one ConfigMap."""
FUEL: Final = 20_000
_SHOWN: Final = 60
FILTERS: Final = frozenset(
    {"default", "d", "tojson", "lower", "upper", "trim", "length", "first", "last", "join"}
)
STATEMENTS: Final = frozenset({"if", "elif", "else", "endif"})

_ENDS: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPENING = re.compile(r"\{[{%#]")
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ALLOWED = re.compile(r"[\w\s.\[\]|,()=!<>-]*")
_CALLED = re2.compile(r"(?P<before>\|\s*)?(?P<name>[A-Za-z_]\w*)?\s*\(")
_FILTER = re.compile(r"\|\s*(?P<name>\w+)")
_WORDS_BEFORE_BRACKET = frozenset({"and", "or", "not", "in", "is", "if", "elif", "else"})


class TemplateError(ValueError):
    """Why a template cannot be filled in; says what to do about it."""


class Templates:
    """The templates of one run, filled in from the same values; all of them together have one bound."""

    def __init__(self, values: JsonObject) -> None:
        self._values = values
        self._left = MAX_RENDERED
        self._printable = MAX_RENDERED
        self._engine = minijinja.Environment(
            undefined_behavior="strict",
            fuel=FUEL,
            keep_trailing_newline=True,
            auto_escape_callback=lambda _: False,
            finalizer=self._printed,
        )

    def fill(self, text: str) -> str:
        """The text with its values. Raises TemplateError."""
        if not ("{{" in text or "{%" in text or "{#" in text):
            return self._counted(text)
        if problem := template_problem(text):
            raise TemplateError(problem)
        self._printable = self._left
        try:
            return self._counted(self._engine.render_str(text, None, **self._values))
        except minijinja.TemplateError as error:
            raise TemplateError(f"{_short(text)}: {error.message}") from error
        except ValueError as error:
            raise TemplateError(f"{_short(text)}: {error}") from error

    def _printed(self, value: Any) -> str:
        """A value as it stands in the text; the engine stops at the first that there is no room for."""
        text = _format_value(value)
        self._printable -= len(text)
        if self._printable < 0:
            raise ValueError(f"renders to more than {MAX_RENDERED:,} characters")
        return text

    def _counted(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise TemplateError(f"the provider's templates render to more than {MAX_RENDERED} characters")
        return text


def template_problem(text: str) -> str | None:
    """What is wrong with a template whatever its values are; None if nothing is."""
    if len(text) > MAX_TEMPLATE:
        return f"{_short(text)}: has more than {MAX_TEMPLATE:,} characters"
    for number, (mark, code) in enumerate(_code(text)):
        if number >= MAX_EXPRESSIONS:
            return f"{_short(text)}: has more than {MAX_EXPRESSIONS} expressions"
        if (problem := _code_problem(mark, code)) is not None:
            return f"{_short(mark + code + _ENDS[mark])}: {problem}"
    try:
        _CHECKING.undeclared_variables_in_str(text)
    except minijinja.TemplateError as error:
        return f"{_short(text)}: {error.message}"
    return None


def _code(text: str) -> Iterator[tuple[str, str]]:
    """What stands between marks that open and close, with the mark that opens it. Reads the text once."""
    place = 0
    while (opening := _OPENING.search(text, place)) is not None:
        mark = opening[0]
        end = text.find(_ENDS[mark], opening.end())
        if end < 0:
            # What is never closed has no end anywhere: the engine says so.
            return
        yield mark, text[opening.end() : end]
        place = end + 2


def _code_problem(mark: str, written: str) -> str | None:
    if mark == "{#":
        return None
    inside = written.removeprefix("-").removesuffix("-")
    if mark == "{%":
        word = (inside.split(maxsplit=1) or [""])[0]
        if word not in STATEMENTS:
            return f"{_short(word)!r} is not supported; use one of {', '.join(sorted(STATEMENTS))}"
    if len(inside) > MAX_CODE:
        return f"an expression has more than {MAX_CODE:,} characters"
    return _expression_problem(_TEXT.sub("''", inside))


def _expression_problem(code: str) -> str | None:
    """What is wrong with code whose texts are taken out."""
    if not _ALLOWED.fullmatch(code.replace("''", "")):
        return "templates can only read and compare values"
    if re.search(r"[)\]'\"]\s*\(", code):
        return "templates cannot call functions"
    for call in _CALLED.finditer(code):
        if call["name"] and not call["before"] and call["name"] not in _WORDS_BEFORE_BRACKET:
            return f"{call['name']} cannot be called"
    for used in _FILTER.finditer(code):
        if used["name"] not in FILTERS:
            return f"filter {used['name']} is not supported; use one of {', '.join(sorted(FILTERS))}"
    return None


def _format_value(value: Any) -> str:
    """How a value stands in a text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool | int | float | Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    raise ValueError("cannot be rendered as text")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


_CHECKING: Final = minijinja.Environment(fuel=FUEL)
