"""How much work an expression may ask for, and how large its values may grow, told before it runs.

The library stops an evaluation after a fixed number of loop steps, but not one that doubles a string at each.
This bounds both from the syntax tree and the size of the values: an upper bound, so what it lets run is safe.
It knows trees and JSON; it evaluates nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from picokube.schema.cel_ast import Call, Const, Expr, Fold, Ident, Literal, Select, walk

LARGEST_VALUE: Final = 16 * 2**20
"""Characters and items a value may hold while an expression runs."""
MOST_WORK: Final = 2 * 10**8
"""Characters and items all steps together may look at: at most 0.2 s."""
LARGEST_TEXT: Final = 2**20
"""What one text function may return."""
_STEPS: Final = 10_000  # the library's own limit of loop steps
_MANY_SUMS: Final = 16
_SHORT: Final = 4_000
_COPY: Final = 40  # what copying one item costs, in items looked at
_HANDOVER: Final = 100  # what handing one item of a list to a function in Python costs, in items looked at
_TAKING_LISTS: Final = frozenset(
    {
        "isSorted", "sum", "min", "max", "indexOf", "lastIndexOf", "distinct", "flatten", "slice", "sort", "reverse",
        "join", "format", "@sortByAssociatedKeys", "cel.@mapInsert", "sets.contains", "sets.equivalent",
        "sets.intersects",
    }
)  # fmt: skip
_LOOKERS: Final = frozenset({"matches", "contains", "startsWith", "endsWith", "_==_", "_!=_", "@in", "_in_"})


@dataclass(frozen=True, slots=True)
class Bound:
    """No value here is larger than `size`, has more than `count` items, or an item larger than `item`."""

    size: int
    count: int
    item: int


@dataclass(frozen=True, slots=True)
class Traits:
    """What can be said of an expression once and for all."""

    grows: bool
    loops: bool
    builds: bool
    hands_over: bool
    """Whether a function in Python is given a list, all of which is copied for it."""
    ranges: bool
    operations: int

    @classmethod
    def of(cls, root: Expr) -> "Traits":
        everything = list(walk(root))
        sums = sum(isinstance(each, Call) and each.function == "_+_" for each in everything)
        user_folds = [each for each in everything if isinstance(each, Fold)]
        # A macro's own step adds one item at a time; only what the author wrote inside it can multiply.
        written = sum(1 for fold in user_folds for each in walk(fold.step) if _multiplies(each, fold))
        return cls(
            grows=written > 0 or sums > _MANY_SUMS,
            loops=bool(user_folds),
            builds=any(_builds(fold) for fold in user_folds),
            hands_over=any(isinstance(each, Call) and each.function in _TAKING_LISTS for each in everything),
            ranges=any(isinstance(each, Call) and each.function == "lists.range" for each in everything),
            operations=max(1, len(everything)),
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
    """Whether the loop makes a list, as map and filter do. The library copies the list at every step."""
    return isinstance(fold.start, Literal)


def is_affordable(root: Expr, traits: Traits, bindings: Mapping[str, Any], size: int) -> bool:
    """Whether the expression may run on these values, which take `size` characters of JSON."""
    steps = _STEPS if traits.loops else 1
    # Lists also come out of the expression itself, item by item or as a range.
    lengths = size + 8 * traits.operations
    heavy = traits.grows or traits.ranges or ((traits.builds or traits.hands_over) and lengths > _SHORT)
    if not heavy and steps * traits.operations * size <= MOST_WORK:
        return True
    estimate = _Estimate({name: measured(value) for name, value in bindings.items()})
    largest = estimate.bound(root, {}).size
    return max(largest, estimate.largest) <= LARGEST_VALUE and estimate.work <= MOST_WORK


def measured(value: Any) -> Bound:
    """The bound of plain JSON."""
    size, longest, item = 0, 1, 1
    left: list[Any] = [value]
    while left:
        each = left.pop()
        if isinstance(each, _Mark):
            item = max(item, size - each.start)
        elif isinstance(each, dict):
            size += sum(len(name) for name in each) + len(each) + 1
            longest = max(longest, len(each))
            left.extend(each.values())
        elif isinstance(each, list):
            size += len(each) + 1
            longest = max(longest, len(each))
            left.extend(_Measure(inner) for inner in each)
        elif isinstance(each, _Measure):
            left.append(_Mark(size))
            left.append(each.value)
        else:
            size += len(each) if isinstance(each, str | bytes) else 8
    return Bound(size=size + 1, count=longest, item=item + 1)


def nests_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for each in level
            if isinstance(each, Mapping | list)
            for inner in (each.values() if isinstance(each, Mapping) else each)
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
        found = self._bound(expr, local, times)
        self.largest = max(self.largest, found.size)
        return found

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
                inner = [self.bound(each, local, times) for each in elements]
                sizes = [each.size for each in inner]
                return Bound(sum(sizes) + 1, max(len(inner), 1), max(sizes, default=1))
            case Call(function="lists.range", args=args):
                wanted = args[0].value if args and isinstance(args[0], Const) else _STEPS
                count = min(max(wanted, 1), _STEPS) if isinstance(wanted, int) else 1
                return Bound(8 * count, count, 8)
            case Call(function=function, args=args):
                return self._call(function, [self.bound(each, local, times) for each in args], times)
            case Fold():
                return self._fold(expr, local, times)

    def _call(self, function: str, args: list[Bound], times: int) -> Bound:
        size = sum(each.size for each in args)
        count = sum(each.count for each in args)
        item = max((each.item for each in args), default=1)
        self.work += times * size
        if function in _TAKING_LISTS:
            self.work += times * count * _HANDOVER
        if function in _LOOKERS:
            return Bound(8, 1, 8)
        match function:
            case "_+_":
                return Bound(size, count, item)
            case "_?_:_":
                return Bound(max(each.size for each in args[1:]), max(each.count for each in args[1:]), item)
            case "_[_]" | "_[?_]":
                return args[0]
            case "replace" | "join" | "format" | "split" | "string" | "bytes" | "range":
                return Bound(max(size, LARGEST_TEXT) if function != "split" else size, size, size)
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
            self.work += times * steps * steps * _COPY
        grown = Bound(
            start.size + steps * max(once.size - start.size, 0),
            start.count + steps * max(once.count - start.count, 0),
            max(start.item, once.item),
        )
        accumulated = Bound(max(grown.size, once.size), max(grown.count, 1), grown.item)
        return self.bound(fold.result, {**inner, fold.accumulator: accumulated}, times)
