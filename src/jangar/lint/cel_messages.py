"""What the parser of CEL says, as one plain sentence. Knows ANTLR's phrases; knows no expression."""

import re
from collections.abc import Callable
from typing import Final

_AT: Final = re.compile(r" at line (\d+), column (\d+)\Z")
_QUOTE: Final = re.compile(r"token recognition error at: '(['\"].*)'\Z", re.DOTALL)
_PHRASES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (
        re.compile(r"(?:mismatched|extraneous) input '<EOF>'(?: expecting '(.+?)'\Z)?", re.DOTALL),
        lambda found: (
            f"the expression ends where {found[1]} is expected"
            if found[1]
            else "the expression ends too early"
        ),
    ),
    (
        re.compile(r"missing '(.+?)' at '(.*)'\Z", re.DOTALL),
        lambda found: (
            f"{found[1]} is missing" + ("" if found[2] == "<EOF>" else f" before {_shown(found[2])}")
        ),
    ),
    (
        re.compile(r"(?:mismatched|extraneous) input '(.+?)' expecting", re.DOTALL),
        lambda found: f"{_shown(found[1])} is not expected here",
    ),
    (
        re.compile(r"no viable alternative at input '(.+?)'\Z", re.DOTALL),
        lambda found: f"{_shown(found[1])} is not expected here",
    ),
    (
        re.compile(r"token recognition error at: '= *'\Z"),
        lambda _: "a single = is not an operator; write ==",
    ),
    (_QUOTE, lambda _: "text is not closed: a quotation mark is missing"),
    (
        re.compile(r"token recognition error at: '(.+?)'\Z", re.DOTALL),
        lambda found: f"{_shown(found[1])} is not part of CEL",
    ),
    (
        re.compile(r"undeclared reference to '(.+?)'", re.DOTALL),
        lambda found: f"{_shown(found[1])} is not known",
    ),
    (
        re.compile(r"found no matching overload for '(.+?)' applied to '\((.+?)\)'", re.DOTALL),
        lambda found: f"{found[1].strip('_')} does not work with {found[2]}",
    ),
)


def plain_problem(problem: str) -> str:
    """One sentence, with its place where the parser tells one."""
    place = _AT.search(problem)
    text = (problem[: place.start()] if place else problem).removeprefix("Syntax error: ")
    where = f" (line {place[1]}, column {place[2]})" if place else ""
    for pattern, sentence in _PHRASES:
        if found := pattern.match(text):
            return sentence(found) + where
    return text.partition(" expecting {")[0] + where


def _shown(text: str) -> str:
    return f'"{text.strip()}"'
