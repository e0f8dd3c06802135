"""How two transcripts differ: a list of differences with path, expected and actual value."""

import json
from dataclasses import dataclass
from typing import Any

ABSENT = "<absent>"
_SHOWN = 400


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A difference: the number of the step (from 1), the path inside it, and both values."""

    step: int
    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"step {self.step} {self.path}\n    real:  {_shown(self.expected)}\n    found: {_shown(self.found)}"


def differences(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[Difference]:
    """Every difference between the steps. Numbers differ if their text differs: 4 is not 4.0."""
    places = [
        Difference(step=n, path=path, expected=one, found=two)
        for n, (left, right) in enumerate(zip(expected, found, strict=False), start=1)
        for path, one, two in _diff("", left, right)
    ]
    if len(expected) != len(found):
        last = min(len(expected), len(found))
        asked = [step["request"] for step in (expected if len(expected) > last else found)[last:]]
        places.append(
            Difference(
                step=last + 1, path="steps", expected=len(expected), found=f"{len(found)} (without: {asked})"
            )
        )
    return places


def _diff(path: str, one: Any, two: Any) -> list[tuple[str, Any, Any]]:
    match one, two:
        case dict(), dict():
            return [
                place
                for name in sorted({*one, *two})
                for place in _diff(_joined(path, name), one.get(name, ABSENT), two.get(name, ABSENT))
            ]
        case list(), list() if len(one) == len(two):
            return [
                place
                for n, pair in enumerate(zip(one, two, strict=True))
                for place in _diff(f"{path}[{n}]", *pair)
            ]
        case _:
            return [] if type(one) is type(two) and one == two else [(path or "step", one, two)]


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    text = value if value == ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
