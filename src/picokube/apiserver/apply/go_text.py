"""Values as Go prints them, which Kubernetes' messages show. Knows JSON values only."""

from typing import Any


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
            return quoted(value)
        case dict():
            inner = ", ".join(f"{quoted(name)}:{syntax(item)}" for name, item in sorted(value.items()))
            return f"map[string]interface {{}}{{{inner}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(syntax, value))}}}"
        case _:
            return plain(value)


def type_name(value: Any) -> str:
    """%T"""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case dict():
            return "map[string]interface {}"
        case _:
            return "[]interface {}"


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


_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    """%q"""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:  # noqa: PLR2004 - ASCII
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the basic plane
