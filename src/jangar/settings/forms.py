"""Value types of environment variables: how each parses its text, and which texts are valid."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from jangar.domain.retention import Keep, parse_seconds
from kubekit.dns_names import MAX_SUBDOMAIN, is_dns_label

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_ON = frozenset({"1", "true", "yes", "y", "on", "enabled"})
_OFF = frozenset({"0", "false", "no", "n", "off", "disabled"})
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[T_co]):
    """A value type: `allowed` describes valid texts, `read` raises ValueError with what is wrong."""

    type: str
    allowed: str
    read: Callable[[str], T_co]
    format: Callable[[Any], str] = str
    """The text of a default, for the reference."""
    accepts_empty: bool = False
    """Whether an empty text is a value; otherwise the variable counts as unset."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Namespaces by name; None means all."""

    names: tuple[str, ...] | None

    def __str__(self) -> str:
        return "*" if self.names is None else ",".join(self.names)


def switch() -> Form[bool]:
    """A boolean."""

    def read(raw: str) -> bool:
        text = raw.lower()
        if text in _ON:
            return True
        if text in _OFF:
            return False
        raise ValueError("not a boolean")

    return Form(
        type="boolean",
        allowed="true or false (also 1, 0, yes, no, on, off)",
        read=read,
        format=lambda value: str(value).lower(),
    )


def integer(*, minimum: int, maximum: int) -> Form[int]:
    """An integer within bounds."""
    return Form(
        type="integer",
        allowed=f"an integer from {minimum} to {maximum}",
        read=lambda text: _parse_integer(text, minimum=minimum, maximum=maximum),
    )


def seconds(*, minimum: int, maximum: int = 86_400) -> Form[timedelta]:
    """A duration in whole seconds."""
    return Form(
        type="seconds",
        allowed=f"a whole number of seconds from {minimum} to {maximum}",
        read=lambda text: timedelta(seconds=_parse_integer(text, minimum=minimum, maximum=maximum)),
        format=lambda value: str(value // timedelta(seconds=1)),
    )


def milliseconds(*, minimum: int, maximum: int = 86_400_000) -> Form[timedelta]:
    """A duration in whole milliseconds."""
    return Form(
        type="milliseconds",
        allowed=f"a whole number of milliseconds from {minimum} to {maximum}",
        read=lambda text: timedelta(milliseconds=_parse_integer(text, minimum=minimum, maximum=maximum)),
        format=lambda value: str(value // timedelta(milliseconds=1)),
    )


def retention(variable: str) -> Form[Keep]:
    """A retention period; an empty text, which the chart renders for null, means forever."""
    return Form(
        type="seconds or never",
        allowed="a whole number of seconds, 0 to delete as soon as the outcome is recorded, or never",
        read=lambda text: parse_seconds(text, variable=variable),
        format=_format_retention,
        accepts_empty=True,
    )


def text() -> Form[str]:
    """Any string."""
    return Form(type="string", allowed="any string", read=str)


def one_of(*choices: str) -> Form[str]:
    """One of the choices, in any case."""

    def read(raw: str) -> str:
        if raw.lower() not in choices:
            raise ValueError("unknown value")
        return raw.lower()

    return Form(type="choice", allowed=", ".join(choices), read=read)


def path() -> Form[str]:
    """The path of a URL."""

    def read(raw: str) -> str:
        if not raw.startswith("/") or " " in raw:
            raise ValueError("the path does not start with / or contains a space")
        return raw

    return Form(type="path", allowed="a path that starts with /", read=read)


def object_name() -> Form[str]:
    """The name of a Kubernetes object: DNS labels joined by dots."""

    def read(raw: str) -> str:
        if len(raw) > MAX_SUBDOMAIN or not all(is_dns_label(part) for part in raw.split(".")):
            raise ValueError("not a valid object name")
        return raw

    return Form(
        type="name",
        allowed="lowercase letters, digits, - and ., starting and ending with a letter or digit",
        read=read,
    )


def namespaces() -> Form[Scope]:
    """A list of namespaces, or * for all."""

    def read(raw: str) -> Scope:
        names = _parse_list(raw)
        if names == ["*"]:
            return Scope(None)
        if "*" in names:
            raise ValueError("* means all namespaces and cannot be combined with names")
        for name in names:
            if not is_dns_label(name):
                raise ValueError(f"{name!r} is not a valid namespace name")
        return Scope(tuple(dict.fromkeys(names)))

    return Form(
        type="namespaces",
        allowed="names separated by commas or as a JSON array, each of at most 63 lowercase letters, "
        "digits and -; or * for all",
        read=read,
    )


def address() -> Form[str]:
    """An address to listen on, with its port."""

    def read(raw: str) -> str:
        host, _, port = raw.rpartition(":")
        if not (host and port.isascii() and port.isdigit() and int(port) <= _MAX_PORT):
            raise ValueError("not an address with a port")
        return raw

    return Form(type="address", allowed="an address and a port, such as 0.0.0.0:8080", read=read)


def list_of(items: str, read_item: Callable[[str], T]) -> Form[tuple[T, ...]]:
    """A list whose items are parsed with `read_item`; duplicates are dropped."""

    def read(raw: str) -> tuple[T, ...]:
        return tuple(dict.fromkeys(read_item(item) for item in _parse_list(raw))) if raw != "[]" else ()

    return Form(
        type=f"list of {items}",
        allowed=f"{items} separated by commas or as a JSON array",
        read=read,
        format=_format_unset,
    )


def json_object() -> Form[Mapping[str, Any]]:
    """A JSON object."""
    return Form(
        type="JSON object",
        allowed="a JSON object",
        read=lambda text: _parse_json(text, dict),
        format=_format_unset,
    )


def json_list() -> Form[Sequence[Any]]:
    """A JSON array."""
    return Form(
        type="JSON array",
        allowed="a JSON array",
        read=lambda text: tuple(_parse_json(text, list)),
        format=_format_unset,
    )


def _format_retention(keep: Keep | None) -> str:
    if keep is None:
        return ""
    return "never" if keep.seconds is None else str(keep.seconds)


def _format_unset(_: object) -> str:
    """Lists and objects are unset by default."""
    return ""


def _parse_integer(raw: str, *, minimum: int, maximum: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", raw):
        raise ValueError("not an integer")
    number = int(raw)
    if not minimum <= number <= maximum:
        raise ValueError(f"less than {minimum}" if number < minimum else f"more than {maximum}")
    return number


def _parse_list(raw: str) -> list[str]:
    if raw.startswith("["):
        items = _parse_json(raw, list)
        if not all(isinstance(item, str) for item in items):
            raise ValueError("not every item of the array is a string")
    else:
        items = raw.split(",")
    names = [item.strip() for item in items]
    if not names or not all(names):
        raise ValueError("the list has an empty item")
    return names


def _parse_json(raw: str, kind: type[Any]) -> Any:
    try:
        value = json.loads(raw)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("not valid JSON") from error
    if not isinstance(value, kind):
        raise ValueError(  # noqa: TRY004 (the value is wrong, not the type of an argument)
            f"the JSON value is {_KINDS.get(type(value), 'null')}"
        )
    return value


_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
}
