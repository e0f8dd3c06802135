"""Text cut to a number of terminal cells: names in the middle, sentences at the end or wrapped between words."""

import textwrap
from typing import Final

ELLIPSIS: Final = "…"


def cell_width(text: str) -> int:
    """Columns that the text takes on a terminal; wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - ASCII needs no tables

    return cell_len(text)


def padded(text: str, width: int) -> str:
    return text + " " * max(width - cell_width(text), 0)


def shorten(text: str, width: int) -> str:
    """The text in at most `width` cells: a single word loses its middle, a sentence its end."""
    if cell_width(text) <= width:
        return text
    room = max(width - 1, 0)
    if " " in text:
        return _head(text, room).rstrip() + ELLIPSIS
    tail = room // 2
    return _head(text, room - tail) + ELLIPSIS + (_head(text[::-1], tail)[::-1] if tail else "")


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken between words; a longer word is shortened in its middle."""
    if cell_width(text) <= width:
        return [text]
    if text.isascii():
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    else:
        lines = _wrapped_words(text.split(), width)
    return [shorten(line, width) for line in lines]


def _wrapped_words(words: list[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and cell_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _head(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    used = 0
    for at, sign in enumerate(text):
        used += cell_width(sign)
        if used > width:
            return text[:at]
    return text
