"""Templates in `with` and `outputs`: `{{ parameters.x }}`, `{{ steps.a.outputs.y ?? "none" }}`.

Parses and renders them. An inserted value is data: it is never scanned again. Whether the parameters and steps exist is
checked elsewhere.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, assert_never

OPEN, CLOSE, ELSE = "{{", "}}", "??"
MAX_RENDERED_BYTES = 1_000_000
"""Maximum size of all rendered templates of one step or tool as JSON: they are part of one API object."""

# Each pattern is one character class, so matching never goes back: time is linear in the text.
_SPACE = re.compile(r"[ \t\r\n]*")
_PATH = re.compile(r"[A-Za-z0-9_.-]*")
_PLAIN = {quote: re.compile(rf"[^\\{quote}]*") for quote in ("'", '"')}
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "n": "\n"}
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRef:
    """A parameter of the run."""

    name: str
    default: str | None = None

    def __str__(self) -> str:
        return f"parameters.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRef:
    """An output of a step. Names of steps have no dots; names of outputs may."""

    step: str
    name: str
    default: str | None = None

    def __str__(self) -> str:
        return f"steps.{self.step}.outputs.{self.name}"


Reference = ParameterRef | OutputRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A parsed template: literals and references in order."""

    source: str
    parts: tuple[str | Reference, ...]

    @property
    def references(self) -> tuple[Reference, ...]:
        """The distinct references in order of first appearance."""
        return tuple(dict.fromkeys(part for part in self.parts if not isinstance(part, str)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateProblem:
    """A syntax error: the offset of the character at which parsing stopped, and why."""

    position: int
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingInput:
    """A reference that has neither a value nor a default."""

    reference: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """The rendered templates are larger than the limit. They are measured before they are rendered."""

    most: int

    def __str__(self) -> str:
        return (
            f"its inputs are larger than {self.most:,} bytes after {{{{ }}}} is rendered; "
            "pass large data as a file or a URL"
        )


class Scope(Protocol):
    """Values of references; None for a missing one."""

    def parameter(self, name: str, /) -> str | None: ...

    def output(self, step: str, name: str, /) -> str | None: ...


def parse_template(text: str) -> Template | TemplateProblem:
    """The parsed template, or its first syntax error."""
    try:
        return Template(source=text, parts=tuple(_parts(text)))
    except _SyntaxError as error:
        return _problem(text, error)


def render(
    template: Template, scope: Scope, *, most: int = MAX_RENDERED_BYTES
) -> str | MissingInput | TooLarge:
    """The text with every reference replaced, or the first reference without a value."""
    match render_all({"": template}, scope, most=most):
        case {"": rendered}:
            return rendered
        case MissingInput() | TooLarge() as failure:
            return failure
    raise AssertionError("one template has one result")


def render_all(
    templates: Mapping[str, Template], scope: Scope, *, most: int = MAX_RENDERED_BYTES
) -> dict[str, str] | MissingInput | TooLarge:
    """The rendered texts by name. `most` limits their total size, which is computed before any text is built."""
    known: dict[Reference, tuple[str, int]] = {}
    left = most
    filled: dict[str, list[str]] = {}
    for name, template in templates.items():
        pieces = filled[name] = []
        for part in template.parts:
            if isinstance(part, str):
                piece, size = part, json_size(part)
            elif part in known:
                piece, size = known[part]
            else:
                value = _value(part, scope)
                if value is None:
                    return MissingInput(reference=part)
                piece, size = known[part] = value, json_size(value)
            pieces.append(piece)
            left -= size
            if left < 0:
                return TooLarge(most=most)
    return {name: "".join(pieces) for name, pieces in filled.items()}


def json_size(text: str) -> int:
    """Bytes of a text inside JSON, without the quotes."""
    return len(json.dumps(text, ensure_ascii=False).encode(errors="replace")) - 2


def _value(reference: Reference, scope: Scope) -> str | None:
    match reference:
        case ParameterRef(name=name):
            found = scope.parameter(name)
        case OutputRef(step=step, name=name):
            found = scope.output(step, name)
        case _:
            assert_never(reference)
    return reference.default if found is None else found


class _SyntaxError(Exception):
    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position, self.message = position, message


def _problem(text: str, error: _SyntaxError) -> TemplateProblem:
    before = text[: error.position]
    return TemplateProblem(
        position=error.position,
        line=before.count("\n") + 1,
        column=len(before) - (before.rfind("\n") + 1) + 1,
        message=error.message,
    )


def _parts(text: str) -> Iterator[str | Reference]:
    done = 0
    while (start := text.find(OPEN, done)) >= 0:
        if start > done:
            yield text[done:start]
        reference, done = _hole(text, start)
        yield reference
    if done < len(text):
        yield text[done:]


def _hole(text: str, start: int) -> tuple[Reference, int]:
    """The reference between the braces that open at `start`, and the offset after it."""
    place = _skip_space(text, start + len(OPEN))
    path = _match(_PATH, text, place)
    after = _skip_space(text, place + len(path))
    default: str | None = None
    if path and text.startswith(ELSE, after):
        default, after = _default(text, _skip_space(text, after + len(ELSE)), opened=start)
        after = _skip_space(text, after)
    if after >= len(text):
        raise _never_closed(start)
    if not path:
        raise _SyntaxError(
            place, f"expected parameters.NAME or steps.STEP.outputs.NAME, found {_seen(text, place)}"
        )
    reference = _reference(path, place, default)
    if not text.startswith(CLOSE, after):
        expected = "}}" if default is not None else '}} or ?? "default"'
        raise _SyntaxError(after, f"expected {expected}, found {_seen(text, after)}")
    return reference, after + len(CLOSE)


def _reference(path: str, place: int, default: str | None) -> Reference:
    names = path.split(".")
    match names if all(names) else ():
        case ["parameters", _, *_]:
            return ParameterRef(name=".".join(names[1:]), default=default)
        case ["steps", step, "outputs", _, *_]:
            return OutputRef(step=step, name=".".join(names[3:]), default=default)
    raise _SyntaxError(place, f"expected parameters.NAME or steps.STEP.outputs.NAME, found {_short(path)}")


def _default(text: str, place: int, *, opened: int) -> tuple[str, int]:
    """The quoted text at `place`, and the offset after it."""
    quote = text[place : place + 1]
    if not quote:
        raise _never_closed(opened)
    if quote not in _PLAIN:
        raise _SyntaxError(place, f"expected a quoted default after ??, found {_seen(text, place)}")
    read: list[str] = []
    start = place
    place += 1
    while True:
        plain = _match(_PLAIN[quote], text, place)
        read.append(plain)
        place += len(plain)
        if text.startswith(quote, place):
            return "".join(read), place + 1
        escaped = text[place + 1 : place + 2]
        if not escaped:
            raise _SyntaxError(start, "the quoted default is never closed")
        if escaped not in _ESCAPES:
            raise _SyntaxError(place, r"unknown escape in the quoted default; use \" \' \\ or \n")
        read.append(_ESCAPES[escaped])
        place += 2


def _never_closed(start: int) -> _SyntaxError:
    return _SyntaxError(start, "{{ is never closed with }}")


def _match(pattern: re.Pattern[str], text: str, place: int) -> str:
    found = pattern.match(text, place)
    return found.group() if found else ""


def _skip_space(text: str, place: int) -> int:
    return place + len(_match(_SPACE, text, place))


def _seen(text: str, place: int) -> str:
    """The token at `place`, for a message: a path, a delimiter or one character."""
    mark = text[place : place + 2]
    return _short(_match(_PATH, text, place)) or (mark if mark in {OPEN, CLOSE, ELSE} else ascii(text[place]))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
