"""Compiles conditions with the schema engine's CEL, and rewrites its parser's messages."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from jangar.domain.orchestration.definition import Condition
from picokube.schema import CelEvaluationError, CelSyntaxError, CelType, compile_condition
from picokube.schema import Condition as Compiled

_WHEN: Final = {"parameters": CelType.MAP, "steps": CelType.MAP}


_LOOP: Final = {"iteration": CelType.MAP}


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


@dataclass(frozen=True, slots=True)
class _Condition:
    """A compiled condition that raises the domain's errors."""

    compiled: Compiled

    @property
    def source(self) -> str:
        return self.compiled.source

    def references(self, variable: str) -> frozenset[str]:
        return self.compiled.references(variable)

    def uses_whole(self, variable: str) -> bool:
        return self.compiled.uses_whole(variable)

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        try:
            return self.compiled.evaluate(bindings)
        except CelEvaluationError as error:
            raise ValueError(error.problem) from error


def compile_when(source: str, /) -> Condition:
    """A ConditionCompiler: raises ValueError with the reason for what does not compile."""
    return _compiled(source, _WHEN)


def compile_loop(source: str, /) -> Condition:
    """The same for the condition of a workflow's loop."""
    return _compiled(source, _LOOP)


def _compiled(source: str, variables: Mapping[str, CelType]) -> Condition:
    try:
        return _Condition(compile_condition(source, variables))
    except CelSyntaxError as error:
        where = (
            f" at line {error.line}, column {error.column}"
            if error.line and "line" not in error.problem
            else ""
        )
        raise ValueError(plain_problem(f"{error.problem}{where}")) from error


def plain_problem(problem: str) -> str:
    """The problem as one sentence, with its place if the parser reports one."""
    place = _AT.search(problem)
    text = (problem[: place.start()] if place else problem).removeprefix("Syntax error: ")
    where = f" (line {place[1]}, column {place[2]})" if place else ""
    for pattern, sentence in _PHRASES:
        if found := pattern.match(text):
            return sentence(found) + where
    return text.partition(" expecting {")[0] + where


def _shown(text: str) -> str:
    return f'"{text.strip()}"'
