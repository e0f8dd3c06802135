"""Conversion errors with the texts of Go's converter for strategic merge patches."""

from typing import Any, Final

from picokube.apiserver.strategies.go_types import ListOf, MapOf, Scalar, Struct

_KINDS: Final = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_NUMBERS: Final = frozenset({"int32", "int64", "float64"})


def restoring_problem(value: Any, go_type: Scalar | Struct | ListOf | MapOf) -> str:
    """Why this value cannot become one of that type."""
    found = _KINDS[type(value)]
    match go_type:
        case MapOf():
            return f"cannot restore map from {found}"
        case ListOf() | Scalar(base="[]byte"):
            return f"cannot restore slice from {found}"
        case Struct():
            return f"cannot restore struct from: {found}"
        case Scalar(base=base, name=name):
            # Go has a conversion of these, which the converter does not allow.
            is_convertible = found in _NUMBERS if base in _NUMBERS else (found, base) == ("int64", "string")
            return f"cannot convert {found} to {name}" if is_convertible else f"unrecognized type: {base}"
