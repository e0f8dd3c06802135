"""The string, regular expression and URL functions of CEL on plain values."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from picokube.schema import patterns
from picokube.schema.cel.budget import MAX_TEXT_SIZE, burn
from picokube.schema.formats import is_uri
from picokube.schema.go_text import format_number, go_quote

_SPACES: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_VERB: Final = re.compile(r"%(\.[0-9]{1,3})?([a-zA-Z%])")
_SEARCHED_PER_UNIT: Final = 20
"""Pattern instructions times text bytes that RE2 processes per unit of fuel."""
URL_PARTS: Final = ("Scheme", "Host", "Hostname", "Port", "EscapedPath")


def _bounded(text: str) -> str:
    if len(text) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return text


def char_at(text: str, n: int) -> str:
    if not 0 <= n <= len(text):
        raise ValueError(f"index out of range: {n}")
    return text[n : n + 1]


def index_of(text: str, wanted: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text.find(wanted, start)


def last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(wanted)
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text.rfind(wanted, 0, start + len(wanted))


def joined(values: list[Any], separator: str = "") -> str:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("no such overload: only text can be joined")
    if len(separator) * len(values) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return _bounded(separator.join(values))


def lower_ascii(text: str) -> str:
    return "".join(item.lower() if item.isascii() else item for item in text)


def upper_ascii(text: str) -> str:
    return "".join(item.upper() if item.isascii() else item for item in text)


def replaced(text: str, old: str, new: str, times: int = -1) -> str:
    places = text.count(old) if old else len(text) + 1
    if places * len(new) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return _bounded(text.replace(old, new, times))


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if limit < 0 or limit >= len(pieces) else [*pieces[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def trimmed(text: str) -> str:
    return text.strip(_SPACES + "\u2028\u2029\u202f\u205f\u3000")


def formatted(template: str, values: list[Any]) -> str:
    """The verbs %s, %d, %f, %e, %x, %b, %o and %%."""
    used = 0

    def place(found: re.Match[str]) -> str:
        nonlocal used
        if found[2] == "%":
            return "%"
        if used >= len(values):
            raise ValueError(f"index {used} out of range")
        used += 1
        return _verb(found[2], int((found[1] or ".6")[1:]), values[used - 1])

    if sum(len(str(value)) for value in values) * max(1, template.count("%")) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return _bounded(_VERB.sub(place, template))


def _verb(verb: str, precision: int, value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match verb:
        case "s":
            return _shown(value)
        case "d" if whole:
            return str(value)
        case "f" | "e" if isinstance(value, int | float):
            return f"{value:.{precision}{verb}}"
        case "b" | "o" | "x" | "X" if whole:
            return format(value, verb)
        case "x" | "X" if isinstance(value, str):
            text = value.encode().hex()
            return text.upper() if verb == "X" else text
        case _:
            raise ValueError(
                f"could not parse formatting clause: unrecognized formatting clause {go_quote(verb)}"
            )


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return format_number(value)
        case list():
            return "[" + ", ".join(_shown(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in sorted(value.items())) + "}"
        case _:
            return str(value)


def matches(text: str, pattern: str) -> bool:
    """Whether the RE2 pattern occurs in the text."""
    return next(_found(text, pattern), None) is not None


def find(text: str, pattern: str) -> str:
    return next(_found(text, pattern), "")


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(islice(_found(text, pattern), None if limit < 0 else limit))


def _found(text: str, pattern: str) -> Iterator[str]:
    """The matches in order. Each search consumes fuel for the rest of the text."""
    try:
        expression = patterns.compile_re2(pattern)
    except patterns.InvalidPattern as error:
        raise ValueError(f"illegal regex: {error}") from error
    searched = text.encode(errors="replace")
    burn(expression.programsize * len(searched) // _SEARCHED_PER_UNIT)
    for found in expression.finditer(searched):
        yield found[0].decode(errors="replace")
        burn(1 + expression.programsize * (len(searched) - found.end()) // _SEARCHED_PER_UNIT)


def url(text: str) -> dict[str, Any]:
    if not is_uri(text):
        raise ValueError(
            f"URL parse error during conversion from string: parse {go_quote(text)}: invalid URI for request"
        )
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    return {
        "Scheme": parts.scheme,
        "Host": host,
        "Hostname": unquote(parts.hostname or ""),
        "Port": str(parts.port) if parts.port is not None else "",
        "EscapedPath": parts.path,
        "Query": parse_qs(parts.query, keep_blank_values=True),
    }


def url_part(name: str, parts: dict[str, Any]) -> Any:
    if name not in parts:
        raise ValueError(f"no such overload: get{name} needs a URL")
    return parts[name]
