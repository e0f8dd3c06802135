"""Secret values in what is written: found, and replaced by `***`. Pure."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus

import orjson

MASK = "***"
SHORTEST = 4
"""Shorter values are words of any text: they would be replaced everywhere, and protect nothing."""
SHORTEST_LINE = 8
SHORTEST_WITHIN = 8
"""Of base64: shorter ones are found in many a word."""
_ESCAPED = re.compile(r"%[0-9A-F]{2}")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)


class Mask:
    """Knows the values; each also as it looks in JSON, URLs and base64, and each line of those that have several."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms: set[bytes] = set()
        for secret in secrets:
            value = secret.strip()
            if len(value) < SHORTEST:
                continue
            lines = value.splitlines()
            forms.update(map(_bytes, (value, *(each for each in lines if len(each) >= SHORTEST_LINE))))
            forms.update(_written(_bytes(value)))
        ordered = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None
        self.longest = len(ordered[0]) if ordered else 0
        """Bytes of the longest value."""

    def data(self, data: bytes) -> bytes:
        return self._pattern.sub(MASK.encode(), data) if self._pattern else data

    def text(self, text: str) -> str:
        """Also without what is no text: bytes of file names and arguments that nobody can read."""
        return self.data(_bytes(text)).decode("utf-8", "replace")

    def json(self, text: str) -> str:
        """JSON that stays JSON, and else as it was written."""
        return _TOKEN.sub(self._token, text) if self._pattern else text

    def _token(self, found: re.Match[str]) -> str:
        token = found.group()
        if not token.startswith('"'):
            return f'"{MASK}"' if self.text(token) != token else token
        try:
            value = str(orjson.loads(token))
        except orjson.JSONDecodeError:
            return self.text(token)
        masked = self.text(value)
        return token if masked == value else orjson.dumps(masked).decode()


def _written(value: bytes) -> Iterator[bytes]:
    """In the forms that programs write values in."""
    text = value.decode("utf-8", "replace")
    yield orjson.dumps(text)[1:-1]
    yield json.dumps(text)[1:-1].encode()
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield quoted.encode()
        yield _ESCAPED.sub(lambda found: found[0].lower(), quoted).encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(value).rstrip(b"=")
        yield from _within(value, encode)


def _within(value: bytes, encode: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """As it looks within something longer, such as `user:password`: what the bytes beside it do not change."""
    for before, first in enumerate((0, 2, 3)):
        form = encode(bytes(before) + value)[first : (before + len(value)) * 8 // 6]
        if len(form) >= SHORTEST_WITHIN:
            yield form


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
