"""Replaces values, in every form that `forms` knows, by `***`. Takes time in proportion to the text. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import re2

from kubekit.redaction.forms import MIN_VALUE, Form, forms_of

MASK: Final = b"***"
MAX_PATTERN_FORMS: Final = 1000
MAX_PATTERN_FORM: Final = 4096
"""Longer forms are compared one by one: an automaton of them would not fit into its memory."""
PROBE: Final = 64
MAX_PROBES: Final = 16


class Redactor:
    """Knows some values."""

    def __init__(self, values: Iterable[bytes]) -> None:
        forms = {form for value in values for form in forms_of(value)}
        ordered = sorted(forms, key=lambda form: (-len(form.data), form))
        self._long = [form for form in ordered if len(form.data) > MAX_PATTERN_FORM]
        # The longest first: a short form must not cut a longer one apart.
        short = ordered[len(self._long) :]
        self._patterns = [
            _compiled(short[start : start + MAX_PATTERN_FORMS])
            for start in range(0, len(short), MAX_PATTERN_FORMS)
        ]
        self._forms = ordered
        self.longest = len(ordered[0].data) if ordered else 0
        """Bytes of the longest form."""

    def redact(self, text: bytes) -> bytes:
        """The text without any of the values."""
        return _without(text, self._spans(text))

    def redact_cut(self, text: bytes) -> bytes:
        """The same of a text that may begin or end within a value, because it is a part of a longer one."""
        first = max((_cut_off(text, form, at_start=True) for form in self._forms), default=0)
        last = max((_cut_off(text, form, at_start=False) for form in self._forms), default=0)
        edges = [(0, first), (len(text) - last, len(text))]
        return _without(text, [*self._spans(text), *(span for span in edges if span[0] < span[1])])

    def _spans(self, text: bytes) -> list[tuple[int, int]]:
        """Where values stand; a value of one pattern may overlap that of another."""
        spans = [span for form in self._long for span in _occurrences(text, form)]
        spans += [match.span() for pattern in self._patterns for match in pattern.finditer(text)]
        return spans


def _without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    """The text with each span replaced; spans that overlap are one."""
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
    """How many bytes at that end of the text are the rest of a form that was cut; the most that can be."""
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
    """Lengths that are worth a comparison, the longest first: where the edge's outermost bytes occur in the form."""
    if len(edge) > PROBE:
        probe, place = (edge[:PROBE], 0) if at_start else (edge[-PROBE:], len(data))
        for _ in range(MAX_PROBES):
            place = data.find(probe, place) if at_start else data.rfind(probe, 0, place)
            if place < 0:
                break
            yield len(data) - place if at_start else place + PROBE
            place += 1 if at_start else PROBE - 1
    yield from range(min(len(edge), PROBE), MIN_VALUE - 1, -1)
