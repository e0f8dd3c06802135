"""What the terminal can show, and writing to it. Text of files is made harmless before it is shown."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Final, NoReturn, TextIO

from jangar.cli.exit_codes import ExitCode

_WIDTH_OF_FILES: Final = 120
"""Columns of output that goes to a file or a pipe."""


def write_lines(lines: Iterable[str], *, to: TextIO | None = None) -> None:
    """Writes the lines to standard output, or elsewhere; ends quietly if the reader has gone."""
    stream = to or sys.stdout
    try:
        stream.writelines(f"{line}\n" for line in lines)
        stream.flush()
    except BrokenPipeError:
        _leave_broken_pipe(stream)


def write_error(line: str) -> None:
    """One line for programs; for people on a terminal as many as its width needs, broken between words."""
    shown = printable(line)
    write_lines(folded(shown, columns()) if sys.stderr.isatty() else [shown], to=sys.stderr)


def folded(line: str, width: int) -> list[str]:
    """A sentence in lines of this width, a word that is longer left whole; further lines are indented."""
    return textwrap.wrap(
        line, max(width, 20), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ) or [line]


def _leave_broken_pipe(stream: TextIO) -> NoReturn:
    """Points the stream elsewhere, or Python would complain when it flushes at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    raise SystemExit(ExitCode.BROKEN_PIPE)


def printable(text: str) -> str:
    """The text on one line, with whatever could steer a terminal or reorder the line written as an escape."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def has_colour(stream: TextIO) -> bool:
    """Colour is for terminals, and for people who did not decline it (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """How wide a line may be."""
    return shutil.get_terminal_size((_WIDTH_OF_FILES, 0)).columns


def has_box_characters(stream: TextIO) -> bool:
    try:
        "│▼".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
