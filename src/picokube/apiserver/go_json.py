"""JSON errors with the texts of Go's decoder, which Kubernetes users know."""

import json

_WORDS = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
}


def json_problem(body: bytes) -> str:
    """The first thing wrong with a body that is no JSON."""
    try:
        # Numbers stay texts: Python refuses very long ones in its own words.
        json.loads(body, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        return _problem(error)
    except (UnicodeDecodeError, RecursionError):
        return "invalid character looking for beginning of value"
    return "unexpected end of JSON input"


def _problem(error: json.JSONDecodeError) -> str:
    at = error.pos + (1 if error.msg.startswith("Illegal trailing comma") else 0)
    while at < len(error.doc) and error.doc[at].isspace():
        at += 1
    if at >= len(error.doc) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    where = _WORDS.get(error.msg) or _after(error)
    return f"invalid character {_quoted(error.doc[at])} {where}"


def _after(error: json.JSONDecodeError) -> str:
    if error.msg == "Expecting ',' delimiter":
        before = error.doc[: error.pos]
        within_object = before.rfind("{") > before.rfind("[")
        return "after object key:value pair" if within_object else "after array element"
    return "in string escape code" if "escape" in error.msg else "looking for beginning of value"


def _quoted(character: str) -> str:
    if character == "'":
        return "'\\''"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\u{ord(character):04x}'"


def json_kind(document: object) -> str:
    """What Go calls the kind of a JSON value."""
    match document:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
