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
    actual: Any

    def __str__(self) -> str:
        return f"step {self.step} {self.path}\n    expected: {_shown(self.expected)}\n    actual: {_shown(self.actual)}"


def differences(expected: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[Difference]:
    """Every difference between the steps. Numbers differ if their text differs: 4 is not 4.0."""
    differing = [
        Difference(step=n, path=path, expected=one, actual=two)
        for n, (left, right) in enumerate(zip(expected, actual, strict=False), start=1)
        for path, one, two in _diff("", left, right)
    ]
    if len(expected) != len(actual):
        last = min(len(expected), len(actual))
        unmatched = [step["request"] for step in (expected if len(expected) > last else actual)[last:]]
        differing.append(
            Difference(
                step=last + 1,
                path="steps",
                expected=len(expected),
                actual=f"{len(actual)} (without: {unmatched})",
            )
        )
    return differing


def _diff(path: str, one: Any, two: Any) -> list[tuple[str, Any, Any]]:
    match one, two:
        case dict(), dict():
            return [
                difference
                for name in sorted({*one, *two})
                for difference in _diff(_joined(path, name), one.get(name, ABSENT), two.get(name, ABSENT))
            ]
        case list(), list() if len(one) == len(two):
            return [
                difference
                for n, pair in enumerate(zip(one, two, strict=True))
                for difference in _diff(f"{path}[{n}]", *pair)
            ]
        case _:
            return [] if type(one) is type(two) and one == two else [(path or "step", one, two)]


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    text = value if value == ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
