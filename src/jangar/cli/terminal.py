"""Terminal capabilities and output. Control characters in user text are escaped before a terminal shows it."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NoReturn, TextIO

import typer

from jangar.cli.exit_codes import ExitCode

_WIDTH_OF_FILES: Final = 120
"""Columns of output to a file or a pipe."""
_RESET: Final = "\x1b[0m"
_COLOR: Final = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL: Final = re.compile(
    r"(?P<color>\x1b\[[0-9;:]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Control characters except tab and newline, and characters that reorder a line; colors form a group."""


class TextOrJson(StrEnum):
    """Output formats of commands that have no table."""

    TEXT = "text"
    JSON = "json"


def write_lines(lines: Iterable[str], *, to: TextIO | None = None) -> None:
    """Write lines to standard output or another stream. Exits without a message if the reader closed the pipe.

    A terminal gets no control characters except colors, because logs and messages contain user text. A file or a pipe
    gets every byte.
    """
    stream = to or sys.stdout
    shown = map(without_control, lines) if stream.isatty() else lines
    try:
        stream.writelines(f"{line}\n" for line in shown)
        stream.flush()
    except BrokenPipeError:
        _leave_broken_pipe(stream)


def write_error(line: str) -> None:
    """Write a message to standard error; a terminal gets it wrapped to its width."""
    shown = printable(line)
    write_lines(folded(shown, columns()) if sys.stderr.isatty() else [shown], to=sys.stderr)


def folded(line: str, width: int) -> list[str]:
    """A sentence wrapped to this width. Long words are not broken; further lines are indented."""
    return textwrap.wrap(
        line, max(width, 20), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ) or [line]


def _leave_broken_pipe(stream: TextIO) -> NoReturn:
    """Redirect the stream, because Python would report an error when it flushes at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    raise SystemExit(ExitCode.BROKEN_PIPE)


def printable(text: str) -> str:
    """The text on one line, with control and reordering characters escaped."""
    if text.isprintable():
        return text
    return "".join(item if item.isprintable() else ascii(item)[1:-1] for item in text)


def without_control(text: str) -> str:
    """The text with its lines and colors; other control and reordering characters are escaped."""
    if text.isprintable():
        return text
    colors = len(_COLOR.findall(text))
    shown = _CONTROL.sub(_escaped, text.replace("\r\n", "\n").removesuffix("\r"))
    return f"{shown}{_RESET}" if colors and not shown.endswith(_RESET) else shown


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found["color"] else ascii(found[0])[1:-1]


def has_color(stream: TextIO) -> bool:
    """Whether to use color: on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    return can_redraw(stream) and not os.environ.get("NO_COLOR")


def can_redraw(stream: TextIO) -> bool:
    """Whether written lines can be replaced, as on a terminal that is not dumb."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Maximum width of a line."""
    return shutil.get_terminal_size((_WIDTH_OF_FILES, 0)).columns


def has_box_characters(stream: TextIO) -> bool:
    try:
        "│▼".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def match_word(text: str, words: Iterable[str], option: str) -> str:
    """The word that the user typed in any case. Raises a usage error if it is none of them."""
    known = [*words]
    match = next((word for word in known if word.lower() == text.lower()), None)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(known)}", param_hint=option)
    return match
