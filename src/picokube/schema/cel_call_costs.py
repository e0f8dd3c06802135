"""Estimates the cost of a call and the size of its result as Kubernetes does.

`cel_cost` walks the tree. A function that is not listed here costs 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from picokube.schema.cel_sizes import ANY_SIZE, LIMIT, ONE, READING, Size, capped, scaled
from picokube.schema.cel_types import Type

_LIST_MADE: Final = 10
_PATTERN: Final = 0.25  # cost of a pattern character for each character that is read
_ADDRESS_COMPARED: Final = 4  # two addresses of at most 16 bytes
_NAMED_FORMAT: Final = 7
_NAMED_FORMAT_PATTERN: Final = 128


@dataclass(frozen=True, slots=True)
class Operand:
    """A target or argument of a call. `item` is the size of a list item."""

    type: Type
    size: Size | None
    item: Size
    number: int | None
    """The value of an integer literal."""

    @property
    def extent(self) -> Size:
        return self.size or ANY_SIZE


@dataclass(frozen=True, slots=True)
class Estimate:
    """The maximum cost of a call without its arguments, and the size of its result if known."""

    cost: int
    size: Size | None = None


Operands = tuple[Operand, ...]
_Rule = Callable[[tuple[Type, ...], Operands], Estimate]


def call_cost(function: str, takes: tuple[Type, ...], operands: Operands, *, method: bool) -> Estimate:
    """The cost of a call with the signature that takes these types. The target of a method is its first operand."""
    if function == "matches" and not method:
        return Estimate(1)
    rule = _RULES.get((function, takes[0].name if takes else "")) or _RULES.get((function, ""))
    return rule(takes, operands) if rule is not None else Estimate(1)


def _reads_target(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), size)


def _reads(_takes: tuple[Type, ...], operands: Operands, *, times: int = 1) -> Estimate:
    return Estimate(operands[0].extent.cost(times * READING))


def _reads_argument(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    return Estimate(operands[1].extent.cost(READING))


def _to_bytes(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), Size(size.min_size, size.max_size * 4 & LIMIT))


def _to_text(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), Size(size.min_size // 4, size.max_size))


def _quoted(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), Size(size.min_size + 2 & LIMIT, size.max_size * 2 + 2 & LIMIT))


def _is_in(takes: tuple[Type, ...], operands: Operands) -> Estimate:
    return Estimate(operands[1].extent.cost(1) if takes[1].name == "list" else 1)


def _matches(takes: tuple[Type, ...], operands: Operands) -> Estimate:
    found = _finds(takes, operands)
    return Estimate(found.cost)


def _finds(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    text, pattern = operands[0].extent, operands[1].extent
    cost = capped(text.plus(ONE).cost(READING) * pattern.cost(_PATTERN))
    return Estimate(cost, Size(0, text.max_size))


def _contains(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    text, part = operands[0].extent, operands[1].extent
    return Estimate(capped(text.cost(READING) * part.cost(READING)))


def _joins_texts(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent.plus(operands[1].extent)
    return Estimate(size.cost(READING), size)


def _joins_lists(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    return Estimate(1, operands[0].extent.plus(operands[1].extent))


def _compares(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    return Estimate(scaled(min(operands[0].extent.max_size, operands[1].extent.max_size), READING))


def _equals(takes: tuple[Type, ...], operands: Operands) -> Estimate:
    one, other = operands
    if one.type == other.type:
        match one.type.name:
            case "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver":
                return Estimate(1)
            case "kubernetes.NamedFormat":
                return Estimate(_NAMED_FORMAT)
            case "kubernetes.URL":
                return Estimate(scaled((other.size or ONE).max_size, READING))
            case _:
                pass
    return _compares(takes, operands)


def _looks_at_each(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    """Reads a string, or a list and its strings."""
    target = operands[0]
    if not target.type.params:
        return Estimate(target.extent.cost(READING))
    each = 1
    if target.type.params[0].name in {"string", "bytes"}:
        each += target.item.cost(READING)
    return Estimate(capped(target.extent.max_size * capped(each)))


def _replaces(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size, old, new = (operand.extent for operand in operands[:3])
    count = kept = 0
    if old.min_size == 0:
        count, kept = capped(size.max_size + 1), size.max_size
    elif new.max_size <= old.min_size:
        kept = size.max_size
    else:
        count = capped(math.ceil(float(size.max_size) / float(old.min_size)))
    fewest = left = 0
    if old.max_size == 0:
        fewest, left = capped(size.min_size + 1), size.min_size
    elif old.max_size <= new.min_size:
        left = size.min_size
    else:
        fewest = math.ceil(float(size.min_size) / float(old.max_size))
    return Estimate(size.cost(2 * READING), Size(fewest, count).times(new).plus(Size(left, kept)))


def _splits(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    size, max_size = operands[0].extent, operands[0].extent.max_size
    if len(operands) > 2 and operands[2].number is not None:  # noqa: PLR2004 - the limit
        max_size = operands[2].number & LIMIT
    return Estimate(size.cost(2 * READING), Size(0, max_size))


def _joins(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    count = operands[0].extent
    size = count.times(operands[0].item) if operands[0].type.params else Size(0, 0)
    if len(operands) > 1:
        between = Size(max(count.min_size - 1, 0), max(count.max_size - 1, 0))
        size = size.plus(operands[1].extent.times(between))
    return Estimate(size.cost(READING), size)


def _contains_address(takes: tuple[Type, ...], operands: Operands, *, base: int) -> Estimate:
    text = operands[1].extent.cost(READING) if takes[1].name == "string" else 0
    return Estimate(capped(base + text))


def _validates(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    return Estimate(scaled(operands[1].extent.cost(READING), _NAMED_FORMAT_PATTERN * _PATTERN))


def _compares_sets(_takes: tuple[Type, ...], operands: Operands, *, times: int) -> Estimate:
    size = operands[0].extent.times(operands[1].extent)
    return Estimate(capped(size.cost(times) + 1))


def _makes_list(size: Size, factor: float) -> Estimate:
    return Estimate(capped(size.cost(factor) + 1 + _LIST_MADE), size)


def _slices(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    length = _number(operands[2], operands[0].extent.max_size) - _number(operands[1], 0) & LIMIT
    return _makes_list(Size(length, length), 1)


def _ranges(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    length = _number(operands[0], LIMIT)
    return _makes_list(Size(length, length), 1)


def _number(operand: Operand, otherwise: int) -> int:
    return otherwise if operand.number is None else max(operand.number, 0)


def _reverses(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    return _makes_list(operands[0].extent, 1)


def _flattens(_takes: tuple[Type, ...], operands: Operands) -> Estimate:
    depth = 1 if len(operands) == 1 else _number(operands[1], LIMIT)
    return _makes_list(operands[0].extent, float(depth))


def _compares_items(takes: tuple[Type, ...], operands: Operands, *, sorts: int | None) -> Estimate:
    """Compares all pairs of items. `sorts` is the index of the operand that is sorted."""
    size = operands[sorts or 0].extent
    texts = sorts is not None and takes[sorts].params[0].name in {"string", "bytes"}
    return _makes_list(size.times(size), 2 + READING if texts else 2)


_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("format", ""): _reads,
    ("bytes", "string"): _to_bytes,
    ("string", "bytes"): _to_text,
    ("strings.quote", ""): _quoted,
    ("startsWith", ""): _reads_argument,
    ("endsWith", ""): _reads_argument,
    ("@in", ""): _is_in,
    ("contains", ""): _contains,
    ("matches", ""): _matches,
    ("_==_", ""): _equals,
    ("_!=_", ""): _compares,
    ("_+_", "string"): _joins_texts,
    ("_+_", "bytes"): _joins_texts,
    ("_+_", "list"): _joins_lists,
    **{(f"_{entry}_", kind): _compares for entry in ("<", "<=", ">", ">=") for kind in ("string", "bytes")},
    **{(entry, ""): _looks_at_each for entry in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")},
    **{(entry, ""): _reads_target for entry in ("url", "lowerAscii", "upperAscii", "substring", "trim")},
    **{
        (entry, ""): _reads
        for entry in ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
    },
    ("ip", "string"): _reads,
    ("ip.isCanonical", ""): partial(_reads, times=2),
    ("replace", ""): _replaces,
    ("split", ""): _splits,
    ("join", ""): _joins,
    ("find", ""): _finds,
    ("findAll", ""): _finds,
    ("containsIP", ""): partial(_contains_address, base=_ADDRESS_COMPARED),
    ("containsCIDR", ""): partial(_contains_address, base=_ADDRESS_COMPARED + 2 + 1),
    ("validate", ""): _validates,
    ("sets.contains", ""): partial(_compares_sets, times=1),
    ("sets.intersects", ""): partial(_compares_sets, times=1),
    ("sets.equivalent", ""): partial(_compares_sets, times=2),
    ("slice", ""): _slices,
    ("lists.range", ""): _ranges,
    ("reverse", ""): _reverses,
    ("flatten", ""): _flattens,
    ("distinct", ""): partial(_compares_items, sorts=None),
    ("sort", ""): partial(_compares_items, sorts=0),
    ("@sortByAssociatedKeys", ""): partial(_compares_items, sorts=1),
}
