"""The semantic version functions of CEL. A version is represented as a one-entry map, without build metadata."""

import re
from typing import Any, Final, TypeAlias

Packed: TypeAlias = dict[str, Any]

_NUMBER: Final = "0|[1-9][0-9]*"
_FORM: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)
_KEY: Final = "semver"


def _parsed(text: str, *, loosely: bool) -> re.Match[str] | None:
    found = _FORM.fullmatch(_completed(text) if loosely else text)
    if found is None:
        return None
    before = (found[4] or "0").split(".")
    well_formed = all(part and not (part.isdigit() and len(part) > 1 and part[0] == "0") for part in before)
    return found if well_formed and all((found[5] or "0").split(".")) else None


def _completed(text: str) -> str:
    """Normalize v1.02 to 1.2.0."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) for part in parts]
    if len(parts) < 3 and re.search("[+-]", parts[-1]):  # noqa: PLR2004 - major, minor and patch
        return ""
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part) < 2:  # noqa: PLR2004 - one digit may be zero
        return part
    rest = part.lstrip("0")
    return rest if rest[:1].isdigit() else f"0{rest}"


def is_semver(text: str, loosely: bool = False) -> bool:
    return _parsed(text, loosely=loosely) is not None


def semver(text: str, loosely: bool = False) -> Packed:
    found = _parsed(text, loosely=loosely)
    if found is None:
        raise ValueError("No Major.Minor.Patch elements found" if text.count(".") < 2 else "Invalid version")  # noqa: PLR2004
    return {_KEY: found[0].partition("+")[0]}


def is_packed(packed: Packed) -> bool:
    return set(packed) == {_KEY}


def _match(packed: Packed) -> re.Match[str]:
    found = _FORM.fullmatch(str(packed.get(_KEY, "")))
    if found is None:
        raise ValueError("no such overload")
    return found


def part(number: int, packed: Packed) -> int:
    """Major (1), minor (2) or patch (3)."""
    return int(_match(packed)[number])


def compared(one: Packed, other: Packed) -> int:
    a, b = _order(_match(one)), _order(_match(other))
    return (a > b) - (a < b)


def _order(found: re.Match[str]) -> tuple[Any, ...]:
    # A release is greater than its pre-releases. Numeric identifiers are less than alphanumeric ones.
    before = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in (found[4] or "").split(".")]
    return (*(int(found[n]) for n in (1, 2, 3)), 0 if found[4] else 1, before if found[4] else [])
