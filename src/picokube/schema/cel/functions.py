"""The functions that Kubernetes adds to CEL: lists, sets, strings, regular expressions, URLs, and the table of all.

They operate on plain values and don't need the library. Each call consumes fuel of the running evaluation for the
values it reads, which bounds its run time.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from picokube.schema import patterns
from picokube.schema.cel import object_functions
from picokube.schema.cel.budget import MAX_TEXT_SIZE, OUT_OF_FUEL, burn, burn_for
from picokube.schema.formats import is_uri
from picokube.schema.go_text import format_number, go_quote
from picokube.schema.validation.correlation import identity, same_json

_SPACES: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_VERB: Final = re.compile(r"%(\.[0-9]{1,3})?([a-zA-Z%])")
_SEARCHED_PER_UNIT: Final = 20
"""Pattern instructions times text bytes that RE2 processes per unit of fuel."""
URL_PARTS: Final = ("Scheme", "Host", "Hostname", "Port", "EscapedPath")
MATCHES: Final = "re.@matches"
"""Replaces `matches` in every expression, because the library's function consumes no fuel."""
_LONGEST_RANGE: Final = 10_000


def _bounded(text: str) -> str:
    if len(text) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return text


def char_at(text: str, n: int) -> str:
    if not 0 <= n <= len(text):
        raise ValueError(f"index out of range: {n}")
    return text[n : n + 1]


def index_of(text: str, wanted: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text.find(wanted, start)


def last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(wanted)
    if not 0 <= start <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text.rfind(wanted, 0, start + len(wanted))


def join(values: list[Any], separator: str = "") -> str:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("no such overload: only text can be joined")
    if len(separator) * len(values) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return _bounded(separator.join(values))


def lower_ascii(text: str) -> str:
    return "".join(item.lower() if item.isascii() else item for item in text)


def upper_ascii(text: str) -> str:
    return "".join(item.upper() if item.isascii() else item for item in text)


def replace_text(text: str, old: str, new: str, times: int = -1) -> str:
    places = text.count(old) if old else len(text) + 1
    if places * len(new) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return _bounded(text.replace(old, new, times))


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if limit < 0 or limit >= len(pieces) else [*pieces[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def trim(text: str) -> str:
    return text.strip(_SPACES + "\u2028\u2029\u202f\u205f\u3000")


def format_text(template: str, values: list[Any]) -> str:
    """The verbs %s, %d, %f, %e, %x, %b, %o and %%."""
    used = 0

    def place(match: re.Match[str]) -> str:
        nonlocal used
        if match[2] == "%":
            return "%"
        if used >= len(values):
            raise ValueError(f"index {used} out of range")
        used += 1
        return _verb(match[2], int((match[1] or ".6")[1:]), values[used - 1])

    if sum(len(str(value)) for value in values) * max(1, template.count("%")) > MAX_TEXT_SIZE:
        raise ValueError("out of fuel")
    return _bounded(_VERB.sub(place, template))


def _verb(verb: str, precision: int, value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match verb:
        case "s":
            return _format_value(value)
        case "d" if whole:
            return str(value)
        case "f" | "e" if isinstance(value, int | float):
            return f"{value:.{precision}{verb}}"
        case "b" | "o" | "x" | "X" if whole:
            return format(value, verb)
        case "x" | "X" if isinstance(value, str):
            text = value.encode().hex()
            return text.upper() if verb == "X" else text
        case _:
            raise ValueError(
                f"could not parse formatting clause: unrecognized formatting clause {go_quote(verb)}"
            )


def _format_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return format_number(value)
        case list():
            return "[" + ", ".join(_format_value(item) for item in value) + "]"
        case dict():
            return (
                "{" + ", ".join(f"{key}: {_format_value(item)}" for key, item in sorted(value.items())) + "}"
            )
        case _:
            return str(value)


def matches(text: str, pattern: str) -> bool:
    """Whether the RE2 pattern occurs in the text."""
    return next(_iterate_matches(text, pattern), None) is not None


def find(text: str, pattern: str) -> str:
    return next(_iterate_matches(text, pattern), "")


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return list(islice(_iterate_matches(text, pattern), None if limit < 0 else limit))


def _iterate_matches(text: str, pattern: str) -> Iterator[str]:
    """The matches in order. Each search consumes fuel for the rest of the text."""
    try:
        expression = patterns.compile_re2(pattern)
    except patterns.InvalidPattern as error:
        raise ValueError(f"illegal regex: {error}") from error
    searched = text.encode(errors="replace")
    burn(expression.programsize * len(searched) // _SEARCHED_PER_UNIT)
    for match in expression.finditer(searched):
        yield match[0].decode(errors="replace")
        burn(1 + expression.programsize * (len(searched) - match.end()) // _SEARCHED_PER_UNIT)


def url(text: str) -> dict[str, Any]:
    if not is_uri(text):
        raise ValueError(
            f"URL parse error during conversion from string: parse {go_quote(text)}: invalid URI for request"
        )
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    return {
        "Scheme": parts.scheme,
        "Host": host,
        "Hostname": unquote(parts.hostname or ""),
        "Port": str(parts.port) if parts.port is not None else "",
        "EscapedPath": parts.path,
        "Query": parse_qs(parts.query, keep_blank_values=True),
    }


def url_part(name: str, parts: dict[str, Any]) -> Any:
    if name not in parts:
        raise ValueError(f"no such overload: get{name} needs a URL")
    return parts[name]


@dataclass(frozen=True, slots=True)
class Overload:
    """A signature with CEL type names; `any` stands for each type. The target of a method comes first."""

    name: str
    parameters: tuple[str, ...]
    result_type: str
    body: Callable[..., Any]
    method: bool = True


def _charged(body: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        burn_for(args)
        result = body(*args)
        if isinstance(result, list):
            burn_for((result,))
        return result

    return run


def _ordered(values: Sequence[Any]) -> list[Any]:
    kinds = {int if isinstance(value, bool) else type(value) for value in values}
    if len(kinds) > 1 and not kinds <= {int, float}:
        raise ValueError("no such overload: items of several types have no order")
    return list(values)


def is_sorted(values: list[Any]) -> bool:
    ordered = _ordered(values)
    return all(a <= b for a, b in pairwise(ordered))


def total(values: list[Any]) -> Any:
    if any(isinstance(value, bool | str | list | dict) for value in values):
        raise ValueError("no such overload: only numbers have a sum")
    return sum(values)


def extreme(choose: Callable[[list[Any]], Any], name: str, values: list[Any]) -> Any:
    if not values:
        raise ValueError(f"{name} called on empty list")
    return choose(_ordered(values))


def position(values: list[Any], searched: Any) -> int:
    return next((n for n, item in enumerate(values) if _equal(item, searched)), -1)


def last_position(values: list[Any], searched: Any) -> int:
    return next((n for n in range(len(values) - 1, -1, -1) if _equal(values[n], searched)), -1)


def _equal(one: Any, other: Any) -> bool:
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers) and bool not in {type(one), type(other)}:
        return one == other
    return same_json(one, other)


def _key(value: Any) -> Any:
    """A hashable key that is equal for values that are equal in CEL: 1 and 1.0, but not 1 and true."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else identity(value)


def distinct(values: list[Any]) -> list[Any]:
    return list({_key(value): value for value in reversed(values)}.values())[::-1]


def flatten(values: list[Any]) -> list[Any]:
    return [inner for value in values for inner in (value if isinstance(value, list) else [value])]


def part(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def numbers_below(count: int) -> list[int]:
    if count > _LONGEST_RANGE:
        raise ValueError(OUT_OF_FUEL)
    return list(range(count))


def has_all(values: list[Any], searched: list[Any]) -> bool:
    return {_key(item) for item in searched} <= {_key(value) for value in values}


def are_equivalent(one: list[Any], other: list[Any]) -> bool:
    return {_key(item) for item in one} == {_key(item) for item in other}


def intersect(one: list[Any], other: list[Any]) -> bool:
    return not {_key(item) for item in one}.isdisjoint({_key(item) for item in other})


def sort_by(values: list[Any], keys: list[Any]) -> list[Any]:
    """The values sorted by their keys, which the sortBy macro computes."""
    ordered = _ordered(keys)
    return [values[n] for n in sorted(range(len(values)), key=lambda n: ordered[n])]


def insert_entries(values: dict[Any, Any], *more: Any) -> dict[Any, Any]:
    """The map with additional entries. Raises ValueError if a key already exists."""
    added = dict([more]) if len(more) > 1 else more[0]
    for key in added:
        if key in values:
            raise ValueError(f"insert failed: key {key} already exists")
    return {**values, **added}


def compare(one: dict[str, Any], other: dict[str, Any]) -> int:
    """Compare quantities or semantic versions."""
    return (
        object_functions.compare_semvers(one, other)
        if object_functions.is_packed(one)
        else object_functions.compare_quantities(one, other)
    )


_LISTS: Final = (
    Overload("isSorted", ("list",), "bool", is_sorted),
    Overload("sum", ("list",), "dyn", total),
    Overload("min", ("list",), "dyn", partial(extreme, min, "min")),
    Overload("max", ("list",), "dyn", partial(extreme, max, "max")),
    Overload("indexOf", ("list", "any"), "int", position),
    Overload("lastIndexOf", ("list", "any"), "int", last_position),
    Overload("distinct", ("list",), "list", distinct),
    Overload("flatten", ("list",), "list", flatten),
    Overload("slice", ("list", "int", "int"), "list", part),
    Overload("sort", ("list",), "list", lambda values: sorted(_ordered(values))),
    Overload("reverse", ("list",), "list", lambda values: values[::-1]),
    Overload("@sortByAssociatedKeys", ("list", "list"), "list", sort_by),
    Overload("cel.@mapInsert", ("entries", "entries"), "entries", insert_entries, method=False),
    *(
        Overload("cel.@mapInsert", ("entries", key, "any"), "entries", insert_entries, method=False)
        for key in ("string", "int")
    ),
    Overload("lists.range", ("int",), "list", numbers_below, method=False),
    Overload("sets.contains", ("list", "list"), "bool", has_all, method=False),
    Overload("sets.equivalent", ("list", "list"), "bool", are_equivalent, method=False),
    Overload("sets.intersects", ("list", "list"), "bool", intersect, method=False),
)
_TEXT: Final = (
    Overload("charAt", ("string", "int"), "string", char_at),
    Overload("indexOf", ("string", "string"), "int", index_of),
    Overload("indexOf", ("string", "string", "int"), "int", index_of),
    Overload("lastIndexOf", ("string", "string"), "int", last_index_of),
    Overload("lastIndexOf", ("string", "string", "int"), "int", last_index_of),
    Overload("join", ("list",), "string", join),
    Overload("join", ("list", "string"), "string", join),
    Overload("lowerAscii", ("string",), "string", lower_ascii),
    Overload("upperAscii", ("string",), "string", upper_ascii),
    Overload("replace", ("string", "string", "string"), "string", replace_text),
    Overload("replace", ("string", "string", "string", "int"), "string", replace_text),
    Overload("split", ("string", "string"), "list", split),
    Overload("split", ("string", "string", "int"), "list", split),
    Overload("substring", ("string", "int"), "string", substring),
    Overload("substring", ("string", "int", "int"), "string", substring),
    Overload("trim", ("string",), "string", trim),
    Overload("reverse", ("string",), "string", lambda text: text[::-1]),
    Overload("strings.quote", ("string",), "string", go_quote, method=False),
    Overload("format", ("string", "list"), "string", format_text),
    Overload(MATCHES, ("string", "string"), "bool", matches, method=False),
    Overload("find", ("string", "string"), "string", find),
    Overload("findAll", ("string", "string"), "list", find_all),
    Overload("findAll", ("string", "string", "int"), "list", find_all),
    Overload("isURL", ("string",), "bool", is_uri, method=False),
    Overload("url", ("string",), "map", url, method=False),
    *(Overload(f"get{name}", ("map",), "string", partial(url_part, name)) for name in URL_PARTS),
    Overload("getQuery", ("map",), "map", partial(url_part, "Query")),
)
_QUANTITIES: Final = (
    Overload("isQuantity", ("string",), "bool", object_functions.is_quantity, method=False),
    Overload("quantity", ("string",), "map", object_functions.quantity, method=False),
    Overload("asApproximateFloat", ("map",), "double", object_functions.as_float),
    Overload("asInteger", ("map",), "int", object_functions.as_integer),
    Overload("isInteger", ("map",), "bool", object_functions.is_integer),
    Overload("sign", ("map",), "int", object_functions.sign, method=False),
    Overload("compareTo", ("map", "map"), "int", compare),
    Overload("isGreaterThan", ("map", "map"), "bool", lambda a, b: compare(a, b) > 0),
    Overload("isLessThan", ("map", "map"), "bool", lambda a, b: compare(a, b) < 0),
    *(
        Overload(f"{prefix}emver", parameters, result_type, body, method=False)
        for prefix, result_type, body in (
            ("s", "map", object_functions.semver),
            ("isS", "bool", object_functions.is_semver),
        )
        for parameters in (("string",), ("string", "bool"))
    ),
    *(
        Overload(name, ("map",), "int", partial(object_functions.part, n))
        for n, name in enumerate(("major", "minor", "patch"), start=1)
    ),
    *(
        Overload(name, ("map", other), "map", partial(object_functions.shift, direction))
        for name, direction in (("add", 1), ("sub", -1))
        for other in ("map", "int")
    ),
)
_ADDRESSES: Final = (
    *(
        Overload(name, ("string",), "bool", partial(object_functions.is_valid, parse), method=False)
        for name, parse in (
            ("isIP", object_functions.parse_address),
            ("isCIDR", object_functions.parse_network),
        )
    ),
    Overload("ip", ("string",), "map", object_functions.ip, method=False),
    Overload("ip", ("map",), "map", object_functions.ip_of),
    Overload("ip.isCanonical", ("string",), "bool", object_functions.is_canonical, method=False),
    Overload("family", ("map",), "int", partial(object_functions.address_attribute, "version")),
    *(
        Overload(name, ("map",), "bool", partial(object_functions.address_attribute, attribute))
        for name, attribute in (
            ("isUnspecified", "is_unspecified"),
            ("isLoopback", "is_loopback"),
            ("isLinkLocalUnicast", "is_link_local"),
        )
    ),
    Overload("isLinkLocalMulticast", ("map",), "bool", object_functions.is_link_local_multicast),
    Overload("isGlobalUnicast", ("map",), "bool", object_functions.is_global_unicast),
    Overload("cidr", ("string",), "map", object_functions.cidr, method=False),
    Overload("masked", ("map",), "map", object_functions.mask),
    Overload("prefixLength", ("map",), "int", object_functions.prefix_length),
    *(
        Overload("containsIP", ("map", other), "bool", object_functions.contains_ip)
        for other in ("map", "string")
    ),
    *(
        Overload("containsCIDR", ("map", other), "bool", object_functions.contains_cidr)
        for other in ("map", "string")
    ),
    Overload("net.@text", ("map",), "string", object_functions.address_text, method=False),
)

OVERLOADS: Final = tuple(
    Overload(item.name, item.parameters, item.result_type, _charged(item.body), item.method)
    for item in (*_LISTS, *_TEXT, *_QUANTITIES, *_ADDRESSES)
)
