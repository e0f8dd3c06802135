"""Whether labels match a selector, read as an API server reads it."""

import re
from collections.abc import Callable, Mapping
from typing import Final

Matches = Callable[[Mapping[str, str]], bool]

REQUIREMENT: Final = re.compile(
    r"\s*(?:(?P<key>[^\s,!=()]+)\s+(?P<set>in|notin)\s*\((?P<values>[^)]*)\)"
    r"|(?P<left>[^\s,!=()]+)\s*(?P<sign>==|!=|=)\s*(?P<right>[^\s,!=()]*)"
    r"|(?P<not>!?)\s*(?P<there>[^\s,!=()]+))\s*(?:,|$)"
)


def label_selector(text: str) -> Matches:
    """Of `a=b,c!=d,e in (f,g),h notin (i),j,!k`; the empty text selects everything. ValueError names a bad part."""
    requirements: list[Matches] = []
    at = 0
    while at < len(text):
        found = REQUIREMENT.match(text, at)
        if found is None or found.end() == at:
            raise ValueError(f"{text!r} is no label selector: at {text[at:]!r}")
        requirements.append(_requirement(found))
        at = found.end()
    return lambda labels: all(matches(labels) for matches in requirements)


def _requirement(found: re.Match[str]) -> Matches:
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
