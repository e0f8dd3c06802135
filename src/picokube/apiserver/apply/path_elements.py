"""One step of a field's path as FieldsV1 writes it: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`. Knows its canonical
text, how people read it in messages, and how Kubernetes orders it; knows no objects and no schemas.
"""

from functools import lru_cache
from typing import Any

import orjson

from picokube.apiserver.apply.go_text import number, quoted

_HTML = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_NUMBER, _TEXT, _BOOLEAN, _LIST, _MAP, _NULL = range(6)
_FIELD, _KEY, _VALUE, _INDEX = range(4)


class MalformedElement(Exception):
    """A text that is no path element."""


@lru_cache(maxsize=8192)
def text_key_element(name: str, value: str) -> str:
    """The element of an item of a list keyed by one string: nearly all."""
    return f"k:{{{json_text(name)}:{json_text(value)}}}"


@lru_cache(maxsize=8192)
def text_value_element(value: str) -> str:
    """The element of a string in a set."""
    return f"v:{json_text(value)}"


def key_element(names: tuple[str, ...], values: list[Any]) -> str:
    """The element of an item of a keyed list. Names are in order."""
    parts = [f"{_string(name)}:{_scalar(value)}" for name, value in zip(names, values, strict=True)]
    return f"k:{{{','.join(parts)}}}"


def _scalar(value: Any) -> str:
    if type(value) is str:
        return _string(value)
    return str(value) if type(value) is int else json_text(value)


@lru_cache(maxsize=8192)
def _string(value: str) -> str:
    return json_text(value)


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{json_text(value)}"


def json_text(value: Any) -> str:
    """JSON as Go writes it: whole floats without a point, and no bare `<`, `>` or `&`."""
    if type(value) is float:
        return number(value)
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if "&" in text or "<" in text or ">" in text or "\u2028" in text or "\u2029" in text:
        for plain, escaped in _HTML.items():
            text = text.replace(plain, escaped)
    return text


@lru_cache(maxsize=4096)
def canonical(element: str) -> str | None:
    """The element in the one spelling used here; None if it is of a kind nobody knows."""
    kind, text = element[:2], element[2:]
    if len(kind) < 2 or kind[1] != ":":  # noqa: PLR2004 - a letter and a colon
        raise MalformedElement(f"missing colon: {element}")
    try:
        match kind:
            case "f:":
                return element
            case "v:":
                return value_element(orjson.loads(text))
            case "k:":
                fields = sorted(orjson.loads(text).items())
                return key_element(tuple(name for name, _ in fields), [value for _, value in fields])
            case "i:":
                return f"i:{int(text)}"
            case _:
                return None
    except (ValueError, AttributeError) as error:
        raise MalformedElement(f"parsing key as path element: {element}") from error


@lru_cache(maxsize=4096)
def shown(element: str) -> str:
    """The element as part of a path in a message: `.name`, `[name="x"]`, `[="x"]`, `[0]`."""
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return f".{text}"
        case "k":
            fields = orjson.loads(text).items()
            return f"[{','.join(f'{name}={shown_value(value)}' for name, value in fields)}]"
        case "v":
            return f"[={shown_value(orjson.loads(text))}]"
        case _:
            return f"[{text}]"


def shown_value(value: Any) -> str:
    """A value inside a path."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case list():
            return f"[{','.join(map(shown_value, value))}]"
        case dict():
            return "".join(f"{name}={shown_value(item)}" for name, item in value.items())
        case float():
            return number(value)
        case _:
            return str(value)


@lru_cache(maxsize=4096)
def order(element: str) -> tuple[Any, ...]:
    """A sort key: fields, then keys, then values, then indexes."""
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return (_FIELD, text)
        case "k":
            return (_KEY, tuple((name, _value_order(value)) for name, value in orjson.loads(text).items()))
        case "v":
            return (_VALUE, _value_order(orjson.loads(text)))
        case "i":
            return (_INDEX, int(text))
        case _:
            return (-1,)


def _value_order(value: Any) -> tuple[Any, ...]:
    match value:
        case bool():
            return (_BOOLEAN, value)
        case int() | float():
            return (_NUMBER, value)
        case str():
            return (_TEXT, value)
        case list():
            return (_LIST, tuple(map(_value_order, value)))
        case dict():
            return (_MAP, tuple((name, _value_order(item)) for name, item in sorted(value.items())))
        case _:
            return (_NULL,)
