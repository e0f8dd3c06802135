"""Reads JSON with the position of every value: one object, or several in a row, like kubectl."""

import math
import re
from collections.abc import Iterator
from typing import Final

import orjson

from jangar.lint.limits import MAX_DOCUMENTS
from jangar.lint.reasons import FileReason
from jangar.lint.scalars import NumberRefused, Scalar, int64
from jangar.lint.tree import Budget, Flaw, Refused, TreeBuilder

_TOKEN: Final = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")'
    r"|(?P<mark>[{}\[\],:])"
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][-+]?[0-9]+)?)"
    r"|(?P<word>true|false|null)|(?P<end>\Z))",
    re.ASCII,
)
_WORDS: Final[dict[str, Scalar]] = {"true": True, "false": False, "null": None}
_MAX_DIGITS: Final = 400
"""Maximum number of digits: more than 64 bits need, fewer than Python's limit."""


class JsonSyntax(Exception):
    """The text is not JSON; it may be YAML."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.message)
        self.flaw = flaw


def read_json(text: str, budget: Budget) -> Iterator[TreeBuilder | Flaw]:
    """Every document of the text. Raises JsonSyntax if it is not JSON."""
    offset, count = 0, 0
    while True:
        found = _token(text, offset)
        if found.lastgroup == "end":
            return
        count += 1
        if count > MAX_DOCUMENTS:
            message = f"more than {MAX_DOCUMENTS:,} documents in one file"
            yield Flaw(reason=FileReason.TOO_LARGE, offset=found.end(), message=message, fix="split the file")
            return
        reader = _Reader(text, budget)
        try:
            offset = reader.read(offset)
        except Refused as refused:
            yield refused.flaw
            return
        yield reader.builder


class _Reader:
    """One document, read with an explicit stack, because deep nesting must not exhaust Python's."""

    def __init__(self, text: str, budget: Budget) -> None:
        self.builder = TreeBuilder(budget)
        self._text = text
        self._closers: list[str] = []

    def read(self, offset: int) -> int:
        """Read one value; returns the offset of its end."""
        offset = self._value(offset, may_close=False)
        while self._closers:
            found = _token(self._text, offset)
            sign, at = found["mark"], found.start(found.lastgroup or 0)
            if sign == self._closers[-1]:
                self._close()
                offset = found.end()
            elif sign == ",":
                offset = self._entry(found.end(), may_close=False)
            else:
                raise _unexpected(self._text, at, f"a comma or {self._closers[-1]}")
        return offset

    def _entry(self, offset: int, *, may_close: bool) -> int:
        """A key and a value in an object, a value in a list."""
        if self._closers[-1] == "]":
            return self._value(offset, may_close=may_close)
        found = _token(self._text, offset)
        if may_close and found["mark"] == "}":
            self._close()
            return found.end()
        if found["string"] is None:
            raise _unexpected(self._text, found.start(found.lastgroup or 0), "a key in double quotes")
        at = found.start("string")
        self.builder.key(_string(self._text, found["string"], at), at)
        colon = _token(self._text, found.end())
        if colon["mark"] != ":":
            raise _unexpected(self._text, colon.start(colon.lastgroup or 0), "a colon")
        return self._value(colon.end(), may_close=False)

    def _value(self, offset: int, *, may_close: bool) -> int:
        found = _token(self._text, offset)
        at = found.start(found.lastgroup or 0)
        match found.lastgroup:
            case "string":
                self.builder.scalar(_string(self._text, found["string"], at), at)
            case "word":
                self.builder.scalar(_WORDS[found["word"]], at)
            case "mark" if found["mark"] in "{[":
                return self._open(found["mark"], at, found.end())
            case "mark" if may_close and found["mark"] == self._closers[-1]:
                self._close()
            case "mark" | "end":
                raise _unexpected(self._text, at, "a value")
            case _:
                self._number(found, at)
        return found.end()

    def _open(self, sign: str, at: int, end: int) -> int:
        if sign == "{":
            self.builder.open_mapping(at)
        else:
            self.builder.open_list(at)
        self._closers.append("}" if sign == "{" else "]")
        return self._entry(end, may_close=True)

    def _close(self) -> None:
        self._closers.pop()
        self.builder.close()

    def _number(self, found: re.Match[str], at: int) -> None:
        text = found["number"]
        try:
            if found["fraction"] or found["exponent"]:
                self.builder.scalar(_float(text), at)
                return
            self.builder.scalar(int64(int(text[:_MAX_DIGITS])), at)
        except NumberRefused as refused:
            self.builder.flaw(FileReason.INVALID_NUMBER, at, str(refused), "quote it to make it text")
            self.builder.scalar(text, at)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NumberRefused("the number is too large")
    return value


def _token(text: str, offset: int) -> re.Match[str]:
    found = _TOKEN.match(text, offset)
    if found is None:
        at = (
            offset + len(text[offset : offset + 65536]) - len(text[offset : offset + 65536].lstrip(" \t\r\n"))
        )
        raise _unexpected(text, at, "a value, a key or a bracket")
    return found


def _string(text: str, token: str, at: int) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        value: str = orjson.loads(token)
    except orjson.JSONDecodeError as error:
        raise _unexpected(text, at, "a string with valid escapes") from error
    return value


def _unexpected(text: str, offset: int, wanted: str) -> JsonSyntax:
    found = repr(text[offset]) if offset < len(text) else "the end"
    message = f"not valid JSON: expected {wanted}, found {found}"
    return JsonSyntax(Flaw(reason=FileReason.INVALID_SYNTAX, offset=min(offset, len(text)), message=message))
