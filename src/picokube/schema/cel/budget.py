"""Bounds the work of an expression, and the size of its values, before and while it runs.

The library limits the number of loop steps, but not the size of values, which may double with each step. This module
computes an upper bound of both from the syntax tree and the size of the inputs, and counts the work of functions.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from picokube.schema.cel.syntax_tree import Call, Const, Expr, Fold, Ident, Literal, Select, walk

OUT_OF_FUEL: Final = "out of fuel"
"""Error message by which the evaluator recognizes exhausted fuel."""
FULL: Final = 1_000_000
"""Units per evaluation. A unit is a character or item that a function reads: at most 0.2 µs."""
_CALL: Final = 10
_ITEM: Final = 8
MAX_VALUE_SIZE: Final = 16 * 2**20
"""Maximum number of characters and items of a value."""
MAX_WORK: Final = 2 * 10**8
"""Maximum number of characters and items that all steps may read: at most 0.2 s."""
MAX_TEXT_SIZE: Final = 2**20
"""Maximum size of the result of a string function."""
_STEPS: Final = 10_000  # the library's limit of loop steps
_MAX_SUMS: Final = 16
_SHORT_LIST: Final = 4_000
_COPY_COST: Final = 40  # cost of copying an item, relative to reading it
_PASS_COST: Final = 100  # cost of passing a list item to a Python function, relative to reading it
_LIST_FUNCTIONS: Final = frozenset(
    {
        "isSorted", "sum", "min", "max", "indexOf", "lastIndexOf", "distinct", "flatten", "slice", "sort", "reverse",
        "join", "format", "@sortByAssociatedKeys", "cel.@mapInsert", "sets.contains", "sets.equivalent",
        "sets.intersects",
    }
)  # fmt: skip
_PREDICATES: Final = frozenset(
    {"matches", "contains", "startsWith", "endsWith", "_==_", "_!=_", "@in", "_in_"}
)


class _Fuel(threading.local):
    left: int = 0


_fuel = _Fuel()


def refuel() -> None:
    """Reset the fuel for an evaluation in this thread."""
    _fuel.left = FULL


def burn(units: int) -> None:
    """Consume units. Raises ValueError if there are not enough."""
    _fuel.left -= units
    if _fuel.left < 0:
        raise ValueError(OUT_OF_FUEL)


def burn_for(values: tuple[Any, ...]) -> None:
    """Consume fuel for a call that reads all these values recursively."""
    burn(_CALL)
    left: list[Any] = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str | bytes):
            burn(1 + len(value))
        elif isinstance(value, list):
            burn(1 + _ITEM * len(value))
            left.extend(value)
        elif isinstance(value, dict):
            burn(1 + _ITEM * len(value))
            left.extend(value)
            left.extend(value.values())
        else:
            burn(1)


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bounds of a value's size, number of items and size of an item."""

    size: int
    count: int
    item: int


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of an expression that don't depend on its inputs."""

    grows: bool
    loops: bool
    builds: bool
    passes_lists: bool
    """Whether a list is passed to a Python function, which copies it."""
    ranges: bool
    operations: int

    @classmethod
    def of(cls, root: Expr) -> "Traits":
        nodes = list(walk(root))
        sums = sum(isinstance(item, Call) and item.function == "_+_" for item in nodes)
        user_folds = [item for item in nodes if isinstance(item, Fold)]
        # The step of a macro adds one item. Only the expression inside it can multiply.
        multiplying = sum(1 for fold in user_folds for item in walk(fold.step) if _multiplies(item, fold))
        return cls(
            grows=multiplying > 0 or sums > _MAX_SUMS,
            loops=bool(user_folds),
            builds=any(_builds(fold) for fold in user_folds),
            passes_lists=any(isinstance(item, Call) and item.function in _LIST_FUNCTIONS for item in nodes),
            ranges=any(isinstance(item, Call) and item.function == "lists.range" for item in nodes),
            operations=max(1, len(nodes)),
        )


def _multiplies(expr: Expr, fold: Fold) -> bool:
    match expr:
        case Call(function="_+_", args=(Ident(name=name), Literal())):
            return name != fold.accumulator and not name.startswith("@")
        case Call(function="_+_"):
            return True
        case Literal(elements=elements):
            return len(elements) > 1
        case _:
            return False


def _builds(fold: Fold) -> bool:
    """Whether the loop builds a list, like map and filter. The library copies the list at every step."""
    return isinstance(fold.start, Literal)


def is_affordable(root: Expr, traits: Traits, bindings: Mapping[str, Any], size: int) -> bool:
    """Whether the expression may run with these values, whose JSON has `size` characters."""
    steps = _STEPS if traits.loops else 1
    # The expression itself can create lists, too, from literals or as a range.
    lengths = size + 8 * traits.operations
    heavy = (
        traits.grows or traits.ranges or ((traits.builds or traits.passes_lists) and lengths > _SHORT_LIST)
    )
    if not heavy and steps * traits.operations * size <= MAX_WORK:
        return True
    estimate = _Estimate({name: measure(value) for name, value in bindings.items()})
    largest = estimate.bound(root, {}).size
    return max(largest, estimate.largest) <= MAX_VALUE_SIZE and estimate.work <= MAX_WORK


def measure(value: Any) -> Bound:
    """The bound of a JSON value."""
    size, longest, item = 0, 1, 1
    left: list[Any] = [value]
    while left:
        current = left.pop()
        if isinstance(current, _Mark):
            item = max(item, size - current.start)
        elif isinstance(current, dict):
            size += sum(len(name) for name in current) + len(current) + 1
            longest = max(longest, len(current))
            left.extend(current.values())
        elif isinstance(current, list):
            size += len(current) + 1
            longest = max(longest, len(current))
            left.extend(_Measure(inner) for inner in current)
        elif isinstance(current, _Measure):
            left.append(_Mark(size))
            left.append(current.value)
        else:
            size += len(current) if isinstance(current, str | bytes) else 8
    return Bound(size=size + 1, count=longest, item=item + 1)


def nests_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for item in level
            if isinstance(item, Mapping | list)
            for inner in (item.values() if isinstance(item, Mapping) else item)
        ]
        if not level:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Measure:
    value: Any


@dataclass(frozen=True, slots=True)
class _Mark:
    start: int


class _Estimate:
    def __init__(self, known: Mapping[str, Bound]) -> None:
        self.known = known
        self.largest = 0
        self.work = 0

    def bound(self, expr: Expr, local: Mapping[str, Bound], times: int = 1) -> Bound:
        bound = self._bound(expr, local, times)
        self.largest = max(self.largest, bound.size)
        return bound

    def _bound(self, expr: Expr, local: Mapping[str, Bound], times: int) -> Bound:
        self.work += times
        match expr:
            case Const(value=value):
                size = len(value) if isinstance(value, str | bytes) else 8
                return Bound(size, size, 8)
            case Ident(name=name):
                return local.get(name) or self.known.get(name) or Bound(8, 1, 8)
            case Select(operand=operand):
                return self.bound(operand, local, times)
            case Literal(elements=elements):
                inner = [self.bound(element, local, times) for element in elements]
                sizes = [item.size for item in inner]
                return Bound(sum(sizes) + 1, max(len(inner), 1), max(sizes, default=1))
            case Call(function="lists.range", args=args):
                argument = args[0].value if args and isinstance(args[0], Const) else _STEPS
                count = min(max(argument, 1), _STEPS) if isinstance(argument, int) else 1
                return Bound(8 * count, count, 8)
            case Call(function=function, args=args):
                return self._call(function, [self.bound(arg, local, times) for arg in args], times)
            case Fold():
                return self._fold(expr, local, times)

    def _call(self, function: str, args: list[Bound], times: int) -> Bound:
        size = sum(arg.size for arg in args)
        count = sum(arg.count for arg in args)
        item = max((arg.item for arg in args), default=1)
        self.work += times * size
        if function in _LIST_FUNCTIONS:
            self.work += times * count * _PASS_COST
        if function in _PREDICATES:
            return Bound(8, 1, 8)
        match function:
            case "_+_":
                return Bound(size, count, item)
            case "_?_:_":
                return Bound(max(arg.size for arg in args[1:]), max(arg.count for arg in args[1:]), item)
            case "_[_]" | "_[?_]":
                return args[0]
            case "replace" | "join" | "format" | "split" | "string" | "bytes" | "range":
                return Bound(max(size, MAX_TEXT_SIZE) if function != "split" else size, size, size)
            case _:
                return Bound(max(size, 8), max(count, 1), item)

    def _fold(self, fold: Fold, local: Mapping[str, Bound], times: int) -> Bound:
        over = self.bound(fold.over, local, times)
        start = self.bound(fold.start, local, times)
        steps = min(over.count, _STEPS)
        item = Bound(over.item, over.item, over.item)
        inner = {**local, **dict.fromkeys(fold.variables, item), fold.accumulator: start}
        self.bound(fold.condition, inner, times * steps)
        once = self.bound(fold.step, inner, times * steps)
        if _builds(fold):
            self.work += times * steps * steps * _COPY_COST
        grown = Bound(
            start.size + steps * max(once.size - start.size, 0),
            start.count + steps * max(once.count - start.count, 0),
            max(start.item, once.item),
        )
        accumulated = Bound(max(grown.size, once.size), max(grown.count, 1), grown.item)
        return self.bound(fold.result, {**inner, fold.accumulator: accumulated}, times)
