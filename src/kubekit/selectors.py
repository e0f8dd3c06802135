"""Label selectors, parsed as an API server parses them."""

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
    """Parse a selector such as `a=b,c!=d,e in (f,g),h notin (i),j,!k`; empty matches all. Raises ValueError."""
    if len(text) > MAX_SELECTOR:
        raise ValueError(f"a label selector has at most {MAX_SELECTOR:,} characters")
    requirements: list[Matches] = []
    at = 0
    while at < len(text):
        match = REQUIREMENT.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(f"{text!r} is not a label selector: error at {text[at:]!r}")
        requirements.append(_requirement(match))
        at = match.end()
    return lambda labels: all(matches(labels) for matches in requirements)


def _requirement(match: Any) -> Matches:
    if (key := match["key"]) is not None:
        values = frozenset(value.strip() for value in match["values"].split(","))
        is_in = match["set"] == "in"
        return (lambda labels: labels.get(key) in values) if is_in else _absent_or_not(key, values)
    if (left := match["left"]) is not None:
        right = match["right"]
        if match["sign"] == "!=":
            return _absent_or_not(left, frozenset({right}))
        return lambda labels: labels.get(left) == right
    there, is_absent = match["there"], bool(match["not"])
    return lambda labels: (there in labels) != is_absent


def _absent_or_not(key: str, values: frozenset[str]) -> Matches:
    return lambda labels: labels.get(key) not in values
