"""The forms that a variable's text can have, and the value that each gives. Knows no variable."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from jangar.domain.retention.values import Keep, parse_seconds

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_ON = frozenset({"1", "true", "yes", "y", "on", "enabled"})
_OFF = frozenset({"0", "false", "no", "n", "off", "disabled"})
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_NAME = 253
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[T_co]):
    """How a text is read; `allowed` says what may be written, `read` raises ValueError with what is wrong."""

    type: str
    allowed: str
    read: Callable[[str], T_co]
    takes_empty: bool = False
    """Whether an empty text is a value; else it counts as not set."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Namespaces by name, or with None all of them."""

    names: tuple[str, ...] | None

    def __str__(self) -> str:
        return "*" if self.names is None else ",".join(self.names)


def switch() -> Form[bool]:
    """On or off."""

    def read(text: str) -> bool:
        word = text.lower()
        if word in _ON:
            return True
        if word in _OFF:
            return False
        raise ValueError("it is neither on nor off")

    return Form(type="switch", allowed="true or false (also 1, 0, yes, no, on, off)", read=read)


def whole_number(*, least: int, most: int) -> Form[int]:
    """A number without a fraction, within bounds."""
    return Form(
        type="whole number",
        allowed=f"a whole number from {least} to {most}",
        read=lambda text: _number(text, least=least, most=most),
    )


def seconds(*, least: int, most: int = 86_400) -> Form[timedelta]:
    """A duration."""
    return Form(
        type="seconds",
        allowed=f"a whole number of seconds from {least} to {most}",
        read=lambda text: timedelta(seconds=_number(text, least=least, most=most)),
    )


def milliseconds(*, least: int, most: int = 86_400_000) -> Form[timedelta]:
    """A duration."""
    return Form(
        type="milliseconds",
        allowed=f"a whole number of milliseconds from {least} to {most}",
        read=lambda text: timedelta(milliseconds=_number(text, least=least, most=most)),
    )


def retention(variable: str) -> Form[Keep]:
    """How long something is kept; an empty text, a null of the chart, means for ever."""
    return Form(
        type="seconds or never",
        allowed="a whole number of seconds, 0 to delete as soon as the end is recorded, or never",
        read=lambda text: parse_seconds(text, variable=variable),
        takes_empty=True,
    )


def text() -> Form[str]:
    """Any text."""
    return Form(type="text", allowed="any text", read=str)


def one_of(*words: str) -> Form[str]:
    """One of a few words."""

    def read(written: str) -> str:
        if written.lower() not in words:
            raise ValueError("it is none of the words")
        return written.lower()

    return Form(type="word", allowed=", ".join(words), read=read)


def path() -> Form[str]:
    """The path of a URL."""

    def read(written: str) -> str:
        if not written.startswith("/") or " " in written:
            raise ValueError("it does not begin with / or has a space")
        return written

    return Form(type="path", allowed="a path that begins with /", read=read)


def object_name() -> Form[str]:
    """The name of an object: labels joined by dots."""

    def read(written: str) -> str:
        if len(written) > _LONGEST_NAME or not all(_LABEL.fullmatch(part) for part in written.split(".")):
            raise ValueError("it is no name of an object")
        return written

    return Form(
        type="name",
        allowed="lower case letters, digits, - and ., with a letter or digit at both ends",
        read=read,
    )


def namespaces() -> Form[Scope]:
    """A list of namespaces, or all."""

    def read(written: str) -> Scope:
        names = _items(written)
        if names == ["*"]:
            return Scope(None)
        if "*" in names:
            raise ValueError("* means all namespaces and stands alone")
        for name in names:
            if not _LABEL.fullmatch(name):
                raise ValueError(f"{name!r} is no namespace")
        return Scope(tuple(dict.fromkeys(names)))

    return Form(
        type="namespaces",
        allowed="names separated by commas (or a JSON list), each of at most 63 lower case letters, "
        "digits and -; or * for all",
        read=read,
    )


def address() -> Form[str]:
    """Where to listen."""

    def read(written: str) -> str:
        host, _, port = written.rpartition(":")
        if not (host and port.isascii() and port.isdigit() and int(port) <= _LARGEST_PORT):
            raise ValueError("it is no address with a port")
        return written

    return Form(type="address", allowed="an address and a port, such as 0.0.0.0:8080", read=read)


def texts(what: str, read_one: Callable[[str], T]) -> Form[tuple[T, ...]]:
    """A list, each item read by itself."""

    def read(written: str) -> tuple[T, ...]:
        return tuple(dict.fromkeys(read_one(item) for item in _items(written))) if written != "[]" else ()

    return Form(type=f"list of {what}", allowed=f"{what} separated by commas, or as a JSON list", read=read)


def json_object() -> Form[Mapping[str, Any]]:
    """A JSON object."""
    return Form(type="JSON object", allowed="a JSON object", read=lambda text: _json(text, dict))


def json_list() -> Form[Sequence[Any]]:
    """A JSON list."""
    return Form(type="JSON list", allowed="a JSON list", read=lambda text: tuple(_json(text, list)))


def _number(written: str, *, least: int, most: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", written):
        raise ValueError("it is not a whole number")
    number = int(written)
    if not least <= number <= most:
        raise ValueError(f"it is less than {least}" if number < least else f"it is more than {most}")
    return number


def _items(written: str) -> list[str]:
    if written.startswith("["):
        items = _json(written, list)
        if not all(isinstance(item, str) for item in items):
            raise ValueError("not every item of the list is a text")
    else:
        items = written.split(",")
    names = [item.strip() for item in items]
    if not names or not all(names):
        raise ValueError("it has an empty name")
    return names


def _json(written: str, kind: type[Any]) -> Any:
    try:
        value = json.loads(written)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(value, kind):
        raise ValueError(  # noqa: TRY004 (a wrong text, not a wrong argument)
            f"it is JSON, but {_KINDS.get(type(value), 'null')}"
        )
    return value


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "a switch",
}
