"""Validates regular expressions with the error messages of Go, and matches them in linear time.

Schemas use the engine of jsonschema_rs, CEL uses RE2.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Final

import jsonschema_rs
import re2

from picokube.schema.errors import SchemaRejected

_CLASSES: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t\x20", "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": r"\x20-~", "punct": r"!-\/:-@\[-`{-~",
    "space": r"\t\n\v\f\r\x20", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_NAMED_CLASS: Final = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_UNICODE: Final = re.compile(r"\\[pP](?:\{([^}]*)\}|([^{]))", re.DOTALL)
_FLAGS: Final = re.compile(r"\(\?(?:[imsU]*|[imsU]*-[imsU]+)([:)])")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_OCTAL: Final = re.compile(r"\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEX: Final = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_LETTERS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MOST_REPEATS: Final = 1000
_LAST_CHARACTER: Final = 0x10FFFF
_MEANT_ELSEWHERE: Final = {"[": r"\x5B", "&": r"\x26", "~": r"\x7E", "-": r"\x2D", "^": r"\x5E"}
_PERL: Final = "dDsSwW"
_ANCHORS: Final = "AbBz"
_SIZE_LIMIT: Final = jsonschema_rs.RegexOptions(size_limit=10 * 2**20)
MAX_PATTERN: Final = 10_000
"""Maximum characters of a pattern."""
_MAX_MEMORY: Final = 2**20
"""Maximum bytes of a compiled pattern. RE2 caches 128 patterns."""


class _PatternError(Exception):
    """A syntax error like in Go: a message and the invalid part of the pattern."""

    def __init__(self, what: str, piece: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{piece}`")


@lru_cache(maxsize=4096)
def pattern_error(pattern: str) -> str:
    """The error message of Go. Empty if the pattern is valid."""
    try:
        _Reader(pattern).read()
    except _PatternError as wrong:
        return str(wrong)
    return ""


@lru_cache(maxsize=4096)
def translate_pattern(pattern: str) -> str:
    """The pattern without syntax that is specific to Go. Unchanged if it is invalid."""
    try:
        return _Reader(pattern).read()
    except _PatternError:
        return pattern


@dataclass(slots=True)
class _Group:
    """An open group: the largest repeat count of its parts, and the last part."""

    repeats: int = 1
    last: int | None = None
    """The repeat count of the last part. None if there is nothing to repeat."""


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    out: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])

    def read(self) -> str:
        last_repeat = -1
        while self.at < len(self.text):
            here = self.at
            repeated = self._next(last_repeat)
            last_repeat = here if repeated else -1
        if len(self.groups) > 1:
            raise _PatternError("missing closing )", self.text)
        return "".join(self.out)

    def _next(self, last_repeat: int) -> bool:
        """Parse the next part. Returns the repetition, if it was one."""
        match self.text[self.at]:
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self.groups[-1].last = None
                self._take(1)
            case "[":
                self._class()
            case "*" | "+" | "?":
                self._repeat(self.at + 1, 0, last_repeat)
                return True
            case "{" if (repeat := _REPEAT.match(self.text, self.at)) is not None:
                self._counted(repeat, last_repeat)
                return True
            case "{" | "}":
                self._put("\\" + self.text[self.at], 1)
            case "\\":
                self._escape()
            case _:
                self._part(1)
        return False

    def _take(self, length: int) -> None:
        self.out.append(self.text[self.at : self.at + length])
        self.at += length

    def _part(self, length: int) -> None:
        self._take(length)
        self.groups[-1].last = 1

    def _put(self, spelled: str, length: int) -> None:
        self.out.append(spelled)
        self.at += length
        self.groups[-1].last = 1

    def _open(self) -> None:
        text, at = self.text, self.at
        if not text.startswith("(?", at):
            self._take(1)
            self.groups.append(_Group())
            return
        named = 4 if text.startswith("P<", at + 2) else 3 if text.startswith("<", at + 2) else 0
        if named and len(text) > at + named:
            end = text.find(">", at)
            if end < 0:
                raise _PatternError("invalid named capture", text[at:])
            if not _NAME.fullmatch(text[at + named : end]):
                raise _PatternError("invalid named capture", text[at : end + 1])
            # Drop the group name, which another engine may reject.
            self.out.append("(")
            self.at = end + 1
            self.groups.append(_Group())
            return
        flags = _FLAGS.match(text, at)
        if flags is None:
            raise _PatternError("invalid or unsupported Perl syntax", text[at : _end_of_flags(text, at + 2)])
        if flags[1] == ":":
            self.groups.append(_Group())
        self._take(flags.end() - at)

    def _close(self) -> None:
        if len(self.groups) == 1:
            raise _PatternError("unexpected )", self.text)
        inner = self.groups.pop()
        self._take(1)
        self.groups[-1].last = max(inner.repeats, inner.last or 1)
        self._settle()

    def _settle(self) -> None:
        group = self.groups[-1]
        group.repeats = max(group.repeats, group.last or 1)

    def _counted(self, repeat: re.Match[str], last_repeat: int) -> None:
        least = int(repeat[1][:9])
        most = least if repeat[2] is None else -1 if repeat[3] is None else int(repeat[3][:9])
        if least > _MOST_REPEATS or most > _MOST_REPEATS or 0 <= most < least:
            raise _PatternError("invalid repeat count", repeat[0])
        self._repeat(repeat.end(), least if most < 0 else most, last_repeat, counted=True)

    def _repeat(self, end: int, times: int, last_repeat: int, *, counted: bool = False) -> None:
        end += self.text.startswith("?", end)
        if last_repeat >= 0:
            raise _PatternError("invalid nested repetition operator", self.text[last_repeat:end])
        group = self.groups[-1]
        if group.last is None:
            raise _PatternError("missing argument to repetition operator", self.text[self.at : end])
        if counted:
            group.last = group.last * times if times else 1
            if group.last > _MOST_REPEATS and times > 1:
                raise _PatternError("invalid repeat count", self.text[self.at : end])
        self._settle()
        self._take(end - self.at)

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "Q":
            literal, _, _ = self.text[self.at + 2 :].partition("\\E")
            length = 2 + len(literal) + (2 if self.text.startswith("\\E", self.at + 2 + len(literal)) else 0)
            self.out.append(re.escape(literal))
            self.at += length
            self.groups[-1].last = 1 if literal else self.groups[-1].last
        elif following and following in _ANCHORS + _PERL:
            self._part(2)
        elif following and following in "pP":
            self._part(len(self._unicode_class()))
        else:
            code, length = self._character()
            self._put(
                _spelled(code) if following.isalnum() else self.text[self.at : self.at + length], length
            )

    def _unicode_class(self) -> str:
        match = _UNICODE.match(self.text, self.at)
        if match is None:
            raise _PatternError("invalid character class range", self.text[self.at :])
        name = (match[1] if match[1] is not None else match[2]).removeprefix("^")
        if not _is_category(name):
            raise _PatternError("invalid character class range", match[0])
        return match[0]

    def _character(self) -> tuple[int, int]:
        """The character of an escape, and the length of the escape."""
        text, at = self.text, self.at
        if at + 1 == len(text):
            raise _PatternError("trailing backslash at end of expression", "")
        if (octal := _OCTAL.match(text, at)) is not None:
            return int(octal[0][1:], 8), octal.end() - at
        if (hexadecimal := _HEX.match(text, at)) is not None:
            code = int(hexadecimal[1] or hexadecimal[2], 16)
            if code <= _LAST_CHARACTER:
                return code, hexadecimal.end() - at
        following = text[at + 1]
        if following in _LETTERS:
            return ord(_LETTERS[following]), 2
        if following.isascii() and not following.isalnum():
            return ord(following), 2
        raise _PatternError("invalid escape sequence", text[at : self._end_of_escape()])

    def _end_of_escape(self) -> int:
        """The end of an unknown escape in Go's error message."""
        at = self.at + 2
        if self.text[self.at + 1] != "x" or at == len(self.text):
            return at
        if self.text[at] != "{":
            return min(at + 2, len(self.text))
        code = 0
        for n in range(at + 1, len(self.text)):
            digit = self.text[n]
            code = code * 16 + (int(digit, 16) if digit in "0123456789abcdefABCDEF" else _LAST_CHARACTER + 1)
            if code > _LAST_CHARACTER:
                return n + 1
        return len(self.text)

    def _class(self) -> None:
        text, start = self.text, self.at
        self._take(2 if text.startswith("[^", start) else 1)
        first = True
        while first or not text.startswith("]", self.at):
            first = False
            if text.startswith("[:", self.at) and (named := _NAMED_CLASS.match(text, self.at)) is not None:
                if named[2] not in _CLASSES:
                    raise _PatternError("invalid character class range", named[0])
                self.out.append(_complement(named[2]) if named[1] else _CLASSES[named[2]])
                self.at = named.end()
            elif text.startswith(("\\p", "\\P"), self.at):
                self._take(len(self._unicode_class()))
            elif text[self.at : self.at + 2] in {f"\\{item}" for item in _PERL}:
                self._take(2)
            else:
                self._range(start)
        self._part(1)

    def _range(self, start: int) -> None:
        begin = self.at
        low = self._class_character(start)
        if self.text.startswith("-", self.at) and self.text[self.at + 1 : self.at + 2] not in {"", "]"}:
            self._take(1)
            if self._class_character(start) < low:
                raise _PatternError("invalid character class range", self.text[begin : self.at])

    def _class_character(self, start: int) -> int:
        if self.at == len(self.text):
            raise _PatternError("missing closing ]", self.text[start:])
        here = self.text[self.at]
        if here != "\\":
            self.out.append(_MEANT_ELSEWHERE.get(here, "\\]" if here == "]" else here))
            self.at += 1
            return ord(here)
        code, length = self._character()
        self.out.append(_spelled(code))
        self.at += length
        return code


def _spelled(code: int) -> str:
    return chr(code) if code > 0x7F or chr(code).isalnum() else f"\\x{code:02X}"  # noqa: PLR2004 - ASCII


@cache
def _complement(name: str) -> str:
    """The complement of a class, for use inside brackets."""
    inside = re.compile(f"[{_CLASSES[name]}]")
    others = "".join(f"\\x{code:02X}" for code in range(0x80) if not inside.match(chr(code)))
    return f"{others}\x80-\U0010ffff"


def _end_of_flags(text: str, at: int) -> int:
    """The end of unknown flags in Go's error message."""
    negated = False
    while at < len(text):
        here = text[at]
        at += 1
        if here == "-" and not negated:
            negated = True
        elif here not in "imsU":
            break
    return at


@lru_cache(maxsize=256)
def _is_category(name: str) -> bool:
    """Whether Unicode has such a category or script, according to the engine."""
    import jsonschema_rs  # noqa: PLC0415 - slow to import and rarely needed

    if not _NAME.fullmatch(name):
        return False
    try:
        jsonschema_rs.Draft202012Validator(
            {"pattern": f"\\p{{{name}}}"}, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that returns whether a text matches. Raises SchemaRejected for an invalid pattern."""
    if len(pattern) > MAX_PATTERN:
        raise SchemaRejected(f"pattern of {len(pattern)} characters is longer than {MAX_PATTERN}")
    if problem := pattern_error(pattern):
        raise SchemaRejected(problem)
    try:
        validator = jsonschema_rs.Draft202012Validator(
            {"pattern": translate_pattern(pattern)}, pattern_options=_SIZE_LIMIT
        )
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise SchemaRejected(f"pattern {pattern!r} is not a regular expression") from error
    return _of_text(validator)


def _of_text(validator: jsonschema_rs.Draft202012Validator) -> Callable[[str], bool]:
    def has_match(text: str) -> bool:
        # The engine rejects lone surrogates. Go replaces them when it decodes the JSON.
        return validator.is_valid(text.encode(errors="replace").decode())

    return has_match


class InvalidPattern(ValueError):
    """RE2 rejects the pattern."""


def compile_re2(pattern: str) -> Any:
    """Compile a pattern. Raises InvalidPattern."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidPattern(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN}")
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    # Capture groups slow down the search and are not needed.
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(errors="replace"), options)
    except re2.error as error:
        reported = error.args[0] if error.args else ""
        raise InvalidPattern(
            reported.decode(errors="replace") if isinstance(reported, bytes) else str(reported)
        ) from error
