"""The functions that Kubernetes adds to CEL: lists, strings, sets, regular expressions, URLs, quantities.

They operate on plain values and don't need the library. Each call consumes fuel of the running evaluation for the
values it reads, which bounds its run time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

from picokube.schema.cel import object_functions, text_functions
from picokube.schema.cel.budget import OUT_OF_FUEL, burn_for
from picokube.schema.formats import is_uri
from picokube.schema.go_text import go_quote
from picokube.schema.validation.correlation import same_json
from picokube.schema.validation.list_types import identity

MATCHES: Final = "re.@matches"
"""Replaces `matches` in every expression, because the library's function consumes no fuel."""
_LONGEST_RANGE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Overload:
    """A signature with CEL type names; `any` stands for each type. The target of a method comes first."""

    name: str
    takes: tuple[str, ...]
    gives: str
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


def sorted_by(values: list[Any], keys: list[Any]) -> list[Any]:
    """The values sorted by their keys, which the sortBy macro computes."""
    ordered = _ordered(keys)
    return [values[n] for n in sorted(range(len(values)), key=lambda n: ordered[n])]


def inserted(values: dict[Any, Any], *more: Any) -> dict[Any, Any]:
    """The map with additional entries. Raises ValueError if a key already exists."""
    added = dict([more]) if len(more) > 1 else more[0]
    for key in added:
        if key in values:
            raise ValueError(f"insert failed: key {key} already exists")
    return {**values, **added}


def compared(one: dict[str, Any], other: dict[str, Any]) -> int:
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
    Overload("@sortByAssociatedKeys", ("list", "list"), "list", sorted_by),
    Overload("cel.@mapInsert", ("entries", "entries"), "entries", inserted, method=False),
    *(
        Overload("cel.@mapInsert", ("entries", key, "any"), "entries", inserted, method=False)
        for key in ("string", "int")
    ),
    Overload("lists.range", ("int",), "list", numbers_below, method=False),
    Overload("sets.contains", ("list", "list"), "bool", has_all, method=False),
    Overload("sets.equivalent", ("list", "list"), "bool", are_equivalent, method=False),
    Overload("sets.intersects", ("list", "list"), "bool", intersect, method=False),
)
_TEXT: Final = (
    Overload("charAt", ("string", "int"), "string", text_functions.char_at),
    Overload("indexOf", ("string", "string"), "int", text_functions.index_of),
    Overload("indexOf", ("string", "string", "int"), "int", text_functions.index_of),
    Overload("lastIndexOf", ("string", "string"), "int", text_functions.last_index_of),
    Overload("lastIndexOf", ("string", "string", "int"), "int", text_functions.last_index_of),
    Overload("join", ("list",), "string", text_functions.joined),
    Overload("join", ("list", "string"), "string", text_functions.joined),
    Overload("lowerAscii", ("string",), "string", text_functions.lower_ascii),
    Overload("upperAscii", ("string",), "string", text_functions.upper_ascii),
    Overload("replace", ("string", "string", "string"), "string", text_functions.replaced),
    Overload("replace", ("string", "string", "string", "int"), "string", text_functions.replaced),
    Overload("split", ("string", "string"), "list", text_functions.split),
    Overload("split", ("string", "string", "int"), "list", text_functions.split),
    Overload("substring", ("string", "int"), "string", text_functions.substring),
    Overload("substring", ("string", "int", "int"), "string", text_functions.substring),
    Overload("trim", ("string",), "string", text_functions.trimmed),
    Overload("reverse", ("string",), "string", lambda text: text[::-1]),
    Overload("strings.quote", ("string",), "string", go_quote, method=False),
    Overload("format", ("string", "list"), "string", text_functions.formatted),
    Overload(MATCHES, ("string", "string"), "bool", text_functions.matches, method=False),
    Overload("find", ("string", "string"), "string", text_functions.find),
    Overload("findAll", ("string", "string"), "list", text_functions.find_all),
    Overload("findAll", ("string", "string", "int"), "list", text_functions.find_all),
    Overload("isURL", ("string",), "bool", is_uri, method=False),
    Overload("url", ("string",), "map", text_functions.url, method=False),
    *(
        Overload(f"get{url_part}", ("map",), "string", partial(text_functions.url_part, url_part))
        for url_part in text_functions.URL_PARTS
    ),
    Overload("getQuery", ("map",), "map", partial(text_functions.url_part, "Query")),
)
_QUANTITIES: Final = (
    Overload("isQuantity", ("string",), "bool", object_functions.is_quantity, method=False),
    Overload("quantity", ("string",), "map", object_functions.quantity, method=False),
    Overload("asApproximateFloat", ("map",), "double", object_functions.as_float),
    Overload("asInteger", ("map",), "int", object_functions.as_integer),
    Overload("isInteger", ("map",), "bool", object_functions.is_integer),
    Overload("sign", ("map",), "int", object_functions.sign, method=False),
    Overload("compareTo", ("map", "map"), "int", compared),
    Overload("isGreaterThan", ("map", "map"), "bool", lambda a, b: compared(a, b) > 0),
    Overload("isLessThan", ("map", "map"), "bool", lambda a, b: compared(a, b) < 0),
    *(
        Overload(f"{prefix}emver", takes, gives, body, method=False)
        for prefix, gives, body in (
            ("s", "map", object_functions.semver),
            ("isS", "bool", object_functions.is_semver),
        )
        for takes in (("string",), ("string", "bool"))
    ),
    *(
        Overload(name, ("map",), "int", partial(object_functions.part, n))
        for n, name in enumerate(("major", "minor", "patch"), start=1)
    ),
    *(
        Overload(name, ("map", other), "map", partial(object_functions.shifted, direction))
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
    Overload("masked", ("map",), "map", object_functions.masked),
    Overload("prefixLength", ("map",), "int", object_functions.prefix_length),
    *(
        Overload("containsIP", ("map", other), "bool", object_functions.contains_ip)
        for other in ("map", "string")
    ),
    *(
        Overload("containsCIDR", ("map", other), "bool", object_functions.contains_cidr)
        for other in ("map", "string")
    ),
    Overload("net.@text", ("map",), "string", object_functions.written, method=False),
)

OVERLOADS: Final = tuple(
    Overload(item.name, item.takes, item.gives, _charged(item.body), item.method)
    for item in (*_LISTS, *_TEXT, *_QUANTITIES, *_ADDRESSES)
)
