"""Formats JSON values as Go prints them in Kubernetes' messages: %v, %#v, %T and JSON numbers."""

from collections.abc import Iterable
from typing import Any, Final

from picokube.schema.go_text import go_quote


def plain(value: Any) -> str:
    """%v"""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return number(value)
        case dict():
            return f"map[{' '.join(f'{name}:{plain(item)}' for name, item in sorted(value.items()))}]"
        case list():
            return f"[{' '.join(map(plain, value))}]"
        case _:
            return str(value)


def syntax(value: Any) -> str:
    """%#v"""
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return go_quote(value)
        case dict():
            inner = ", ".join(f"{go_quote(name)}:{syntax(item)}" for name, item in sorted(value.items()))
            return f"map[string]interface {{}}{{{inner}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(syntax, value))}}}"
        case _:
            return plain(value)


_TYPE_NAMES: Final = {
    type(None): "%!s(<nil>)",
    bool: "bool",
    str: "string",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def type_name(value: Any) -> str:
    """%T"""
    return _TYPE_NAMES[type(value)]


def number(value: float) -> str:
    """A float as JSON shows it: whole ones without a point."""
    if value.is_integer() and abs(value) < 1e21:  # noqa: PLR2004 - where Go starts to use exponents
        return str(int(value))
    text = repr(value)
    mantissa, found, exponent = text.partition("e")
    if not found:
        return text
    sign, digits = exponent[0] if exponent[0] in "+-" else "+", exponent.lstrip("+-").lstrip("0")
    return f"{mantissa}e{sign}{digits.zfill(1 if sign == '-' else 2)}"


def quoted_list(texts: Iterable[str]) -> str:
    """%q of a []string"""
    return f"[{' '.join(map(go_quote, texts))}]"
