"""Whether labels match a selector, read as an API server reads it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import re2

Matches = Callable[[Mapping[str, str]], bool]

MAX_SELECTOR: Final = 16_384
REQUIREMENT: Final = re2.compile(
    r"\s*(?:(?P<key>[^\s,!=()]+)\s+(?P<set>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<left>[^\s,!=()]+)\s*(?P<sign>==|!=|=)\s*(?P<right>[^\s,!=()]*)"
    r"|(?P<not>!?)\s*(?P<there>[^\s,!=()]+))\s*(?:,|$)"
)


def label_selector(text: str) -> Matches:
    """Of `a=b,c!=d,e in (f,g),h notin (i),j,!k`; the empty text selects everything. ValueError names a bad part."""
    if len(text) > MAX_SELECTOR:
        raise ValueError(f"a label selector has at most {MAX_SELECTOR:,} characters")
    requirements: list[Matches] = []
    at = 0
    while at < len(text):
        found = REQUIREMENT.match(text, at)
        if found is None or found.end() == at:
            raise ValueError(f"{text!r} is no label selector: at {text[at:]!r}")
        requirements.append(_requirement(found))
        at = found.end()
    return lambda labels: all(matches(labels) for matches in requirements)


def _requirement(found: Any) -> Matches:
    if (key := found["key"]) is not None:
        values = frozenset(value.strip() for value in found["values"].split(","))
        wanted = found["set"] == "in"
        return (lambda labels: labels.get(key) in values) if wanted else _absent_or_not(key, values)
    if (left := found["left"]) is not None:
        right = found["right"]
        if found["sign"] == "!=":
            return _absent_or_not(left, frozenset({right}))
        return lambda labels: labels.get(left) == right
    there, is_absent = found["there"], bool(found["not"])
    return lambda labels: (there in labels) != is_absent


def _absent_or_not(key: str, values: frozenset[str]) -> Matches:
    return lambda labels: labels.get(key) not in values
