"""The forms that a program may write a value in: plain, JSON, URL, hex, base64, each line of it. Pure."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

MIN_VALUE: Final = 4
"""Shorter values occur in every text: they would be replaced everywhere, and protect nothing."""
MIN_WITHIN: Final = 8
"""Of base64 inside something longer: shorter forms occur in ordinary words."""
MAX_ENCODED_LINES: Final = 256
"""Of a value with more lines, single lines are known plain and in JSON only; the whole is known in every form."""
WRAP_COLUMNS: Final = (64, 76)
"""Where `openssl` and `base64` break lines."""


class Form(NamedTuple):
    """Bytes to look for; `any_case` where upper and lower case mean the same."""

    data: bytes
    any_case: bool = True


def forms_of(value: bytes) -> Iterator[Form]:
    """Every form of one value; none for a value that is too short."""
    whole = value.strip()
    lines = {line.strip() for line in whole.splitlines()} - {whole}
    is_long = len(lines) > MAX_ENCODED_LINES
    for part in (whole, *lines):
        if len(part) < MIN_VALUE:
            continue
        yield Form(part)
        yield from _as_text(part)
        if part is whole or not is_long:
            yield from _as_url(part)
            yield Form(part.hex().encode())
            yield from _as_base64(part)


def _as_text(value: bytes) -> Iterator[Form]:
    """In JSON, in JSON inside JSON, and in the other case of letters outside ASCII."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode("utf-8", "replace")
    else:
        yield Form(text.upper().encode())
        yield Form(text.lower().encode())
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield Form(once.encode())
        yield Form(json.dumps(once, ensure_ascii=ascii_only)[1:-1].encode())


def _as_url(value: bytes) -> Iterator[Form]:
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield Form(quoted.encode())
    yield Form("".join(f"%{item:02x}" for item in value).encode())


def _as_base64(value: bytes) -> Iterator[Form]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(value).rstrip(b"=")
        yield Form(encoded, any_case=False)
        yield from _within(value, encode)
        for columns in WRAP_COLUMNS:
            for start in range(0, len(encoded) if len(encoded) > columns else 0, columns):
                piece = encoded[start : start + columns]
                if len(piece) >= MIN_WITHIN:
                    yield Form(piece, any_case=False)


def _within(value: bytes, encode: Callable[[bytes], bytes]) -> Iterator[Form]:
    """Inside something longer, such as `user:password`: the characters that the bytes beside it do not change."""
    for before, first in enumerate((0, 2, 3)):
        data = encode(bytes(before) + value)[first : (before + len(value)) * 8 // 6]
        if len(data) >= MIN_WITHIN:
            yield Form(data, any_case=False)
