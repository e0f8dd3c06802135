"""Redacts Secret values from text, in every form that programs write them in, in time proportional to the text.

A value is found as it is, and in JSON, URL, hexadecimal and base64 form, as is each of its lines. Pure.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_plus

import re2

MIN_VALUE: Final = 4
"""Shorter values are not redacted, because they occur in every text."""
MIN_WITHIN: Final = 8
"""Minimum length of base64 inside a longer value: shorter forms occur in ordinary words."""
MAX_ENCODED_LINES: Final = 256
"""The lines of a longer value are redacted only plain and in JSON; the whole value in every form."""
WRAP_COLUMNS: Final = (64, 76)
"""Columns at which `openssl` and `base64` wrap lines."""
MASK: Final = b"***"
MAX_PATTERN_FORMS: Final = 1000
MAX_PATTERN_FORM: Final = 4096
"""Longer forms are searched one by one, because their automaton would exceed its memory limit."""
PROBE: Final = 64
MAX_PROBES: Final = 16


class Form(NamedTuple):
    """Bytes to search for; with `any_case` in upper and lower case."""

    data: bytes
    any_case: bool = True


def forms_of(value: bytes) -> Iterator[Form]:
    """All forms of a value. None for a value that is too short."""
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
    """JSON, JSON inside JSON, and the other case of letters outside ASCII."""
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
    """Base64 inside a longer value, such as `user:password`: the characters that adjacent bytes don't change."""
    for before, first in enumerate((0, 2, 3)):
        data = encode(bytes(before) + value)[first : (before + len(value)) * 8 // 6]
        if len(data) >= MIN_WITHIN:
            yield Form(data, any_case=False)


class Redactor:
    """Replaces some values with `***`."""

    def __init__(self, values: Iterable[bytes]) -> None:
        forms = {form for value in values for form in forms_of(value)}
        ordered = sorted(forms, key=lambda form: (-len(form.data), form))
        self._long = [form for form in ordered if len(form.data) > MAX_PATTERN_FORM]
        # Longest first: a short form must not split a longer one.
        short = ordered[len(self._long) :]
        self._patterns = [
            _compiled(short[start : start + MAX_PATTERN_FORMS])
            for start in range(0, len(short), MAX_PATTERN_FORMS)
        ]
        self._forms = ordered
        self.longest = len(ordered[0].data) if ordered else 0
        """Length of the longest form in bytes."""

    def redact(self, text: bytes) -> bytes:
        """The text without the values."""
        return _without(text, self._spans(text))

    def redact_cut(self, text: bytes) -> bytes:
        """Redact an excerpt, which may begin or end within a value."""
        first = max((_cut_off(text, form, at_start=True) for form in self._forms), default=0)
        last = max((_cut_off(text, form, at_start=False) for form in self._forms), default=0)
        edges = [(0, first), (len(text) - last, len(text))]
        return _without(text, [*self._spans(text), *(span for span in edges if span[0] < span[1])])

    def _spans(self, text: bytes) -> list[tuple[int, int]]:
        """The positions of values. Matches of different patterns may overlap."""
        spans = [span for form in self._long for span in _occurrences(text, form)]
        spans += [match.span() for pattern in self._patterns for match in pattern.finditer(text)]
        return spans


def _without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    """The text with each span replaced; overlapping spans are merged."""
    if not spans:
        return text
    parts: list[bytes] = []
    shown = 0
    for start, end in sorted(spans):
        if start >= shown:
            parts += [text[shown:start], MASK]
        shown = max(shown, end)
    return b"".join([*parts, text[shown:]])


def _compiled(forms: Sequence[Form]) -> Any:
    options = re2.Options()
    options.max_mem = 256 << 20
    options.log_errors = False
    literals = (
        b"(?i:%s)" % re2.escape(form.data) if form.any_case else re2.escape(form.data) for form in forms
    )
    return re2.compile(b"|".join(literals), options)


def _occurrences(text: bytes, form: Form) -> Iterator[tuple[int, int]]:
    found, data = (text.lower(), form.data.lower()) if form.any_case else (text, form.data)
    start = found.find(data)
    while start >= 0:
        yield start, start + len(data)
        start = found.find(data, start + len(data))


def _cut_off(text: bytes, form: Form, *, at_start: bool) -> int:
    """The maximum number of bytes at this end of the text that may belong to a truncated form."""
    size = min(len(form.data) - 1, len(text))
    if size < MIN_VALUE:
        return 0
    edge, data = (text[:size], form.data[-size:]) if at_start else (text[-size:], form.data[:size])
    if form.any_case:
        edge, data = edge.lower(), data.lower()
    for length in _candidates(edge, data, at_start=at_start):
        if at_start and edge.startswith(data[-length:]):
            return length
        if not at_start and edge.endswith(data[:length]):
            return length
    return 0


def _candidates(edge: bytes, data: bytes, *, at_start: bool) -> Iterator[int]:
    """Candidate lengths, longest first: where the outermost bytes of the edge occur in the form."""
    if len(edge) > PROBE:
        probe, place = (edge[:PROBE], 0) if at_start else (edge[-PROBE:], len(data))
        for _ in range(MAX_PROBES):
            place = data.find(probe, place) if at_start else data.rfind(probe, 0, place)
            if place < 0:
                break
            yield len(data) - place if at_start else place + PROBE
            place += 1 if at_start else PROBE - 1
    yield from range(min(len(edge), PROBE), MIN_VALUE - 1, -1)
