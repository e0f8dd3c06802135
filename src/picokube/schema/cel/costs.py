"""Estimates the maximum cost of an expression from its types and the sizes that the schema allows.

Kubernetes rejects rules by this number, so the order of operations and the rounding follow upstream exactly.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from picokube.schema.cel.checker import Checked
from picokube.schema.cel.declarations import Declared
from picokube.schema.cel.syntax_tree import Call, Const, Expr, Fold, Ident, Literal, Select
from picokube.schema.cel.type_system import Type, is_object, is_scalar

LIMIT: Final = 2**64 - 1
READING: Final = 0.1
"""The cost of reading a character."""
_LIST_MADE: Final = 10
_PATTERN: Final = 0.25  # cost of a pattern character for each character that is read
_ADDRESS_COMPARED: Final = 4  # two addresses of at most 16 bytes
_NAMED_FORMAT: Final = 7
_NAMED_FORMAT_PATTERN: Final = 128
_MAP_MADE: Final = 30
_MACRO_ACCUMULATORS: Final = frozenset({"@result", "__result__"})


@dataclass(frozen=True, slots=True)
class Size:
    """The minimum and maximum size() of a value."""

    min_size: int
    max_size: int

    def plus(self, other: "Size") -> "Size":
        return Size(capped(self.min_size + other.min_size), capped(self.max_size + other.max_size))

    def times(self, other: "Size") -> "Size":
        return Size(capped(self.min_size * other.min_size), capped(self.max_size * other.max_size))

    def or_(self, other: "Size") -> "Size":
        return Size(min(self.min_size, other.min_size), max(self.max_size, other.max_size))

    def cost(self, each: float) -> int:
        """The cost of the largest value if each of its parts costs `each`."""
        return scaled(self.max_size, each)


ANY_SIZE: Final = Size(0, LIMIT)
ONE: Final = Size(1, 1)


def capped(number: int) -> int:
    return min(number, LIMIT)


def scaled(number: int, factor: float) -> int:
    """The floating point product, rounded up."""
    product = math.ceil(float(number) * factor)
    return min(LIMIT, product)


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


def call_cost(function: str, parameters: tuple[Type, ...], operands: Operands, *, method: bool) -> Estimate:
    """The cost of a call with a signature of these parameters. The target of a method is its first operand."""
    if function == "matches" and not method:
        return Estimate(1)
    rule = _RULES.get((function, parameters[0].name if parameters else "")) or _RULES.get((function, ""))
    return rule(parameters, operands) if rule is not None else Estimate(1)


def _to_bytes(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), Size(size.min_size, size.max_size * 4 & LIMIT))


def _to_text(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), Size(size.min_size // 4, size.max_size))


def _quoted(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent
    return Estimate(size.cost(READING), Size(size.min_size + 2 & LIMIT, size.max_size * 2 + 2 & LIMIT))


def _finds(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    text, pattern = operands[0].extent, operands[1].extent
    cost = capped(text.plus(ONE).cost(READING) * pattern.cost(_PATTERN))
    return Estimate(cost, Size(0, text.max_size))


def _joins_texts(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    size = operands[0].extent.plus(operands[1].extent)
    return Estimate(size.cost(READING), size)


def _compares(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    return Estimate(scaled(min(operands[0].extent.max_size, operands[1].extent.max_size), READING))


def _equals(parameters: tuple[Type, ...], operands: Operands) -> Estimate:
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
    return _compares(parameters, operands)


def _looks_at_each(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    """Reads a string, or a list and its strings."""
    target = operands[0]
    if not target.type.params:
        return Estimate(target.extent.cost(READING))
    each = 1
    if target.type.params[0].name in {"string", "bytes"}:
        each += target.item.cost(READING)
    return Estimate(capped(target.extent.max_size * capped(each)))


def _replaces(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
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


def _splits(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    size, max_size = operands[0].extent, operands[0].extent.max_size
    if len(operands) > 2 and operands[2].number is not None:  # noqa: PLR2004 - the limit
        max_size = operands[2].number & LIMIT
    return Estimate(size.cost(2 * READING), Size(0, max_size))


def _joins(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    count = operands[0].extent
    size = count.times(operands[0].item) if operands[0].type.params else Size(0, 0)
    if len(operands) > 1:
        between = Size(max(count.min_size - 1, 0), max(count.max_size - 1, 0))
        size = size.plus(operands[1].extent.times(between))
    return Estimate(size.cost(READING), size)


def _makes_list(size: Size, factor: float) -> Estimate:
    return Estimate(capped(size.cost(factor) + 1 + _LIST_MADE), size)


def _slices(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    length = _number(operands[2], operands[0].extent.max_size) - _number(operands[1], 0) & LIMIT
    return _makes_list(Size(length, length), 1)


def _number(operand: Operand, otherwise: int) -> int:
    return otherwise if operand.number is None else max(operand.number, 0)


def _flattens(_parameters: tuple[Type, ...], operands: Operands) -> Estimate:
    depth = 1 if len(operands) == 1 else _number(operands[1], LIMIT)
    return _makes_list(operands[0].extent, float(depth))


def _compares_items(parameters: tuple[Type, ...], operands: Operands, *, sorts: int | None) -> Estimate:
    """Compares all pairs of items. `sorts` is the index of the operand that is sorted."""
    size = operands[sorts or 0].extent
    texts = sorts is not None and parameters[sorts].params[0].name in {"string", "bytes"}
    return _makes_list(size.times(size), 2 + READING if texts else 2)


def _reading(position: int, factor: float = READING) -> _Rule:
    """The cost of a function that reads one operand."""
    return lambda _parameters, operands: Estimate(operands[position].extent.cost(factor))


def _containing_address(base: int) -> _Rule:
    """The cost of comparing with an address or network, which may need to be parsed."""
    return lambda parameters, operands: Estimate(
        capped(base + (operands[1].extent.cost(READING) if parameters[1].name == "string" else 0))
    )


def _comparing_sets(times: int) -> _Rule:
    return lambda _parameters, operands: Estimate(
        capped(operands[0].extent.times(operands[1].extent).cost(times) + 1)
    )


_RULES: Final[dict[tuple[str, str], _Rule]] = {
    ("format", ""): _reading(0),
    ("bytes", "string"): _to_bytes,
    ("string", "bytes"): _to_text,
    ("strings.quote", ""): _quoted,
    ("startsWith", ""): _reading(1),
    ("endsWith", ""): _reading(1),
    ("@in", ""): lambda parameters, operands: Estimate(
        operands[1].extent.cost(1) if parameters[1].name == "list" else 1
    ),
    ("contains", ""): lambda _parameters, operands: Estimate(
        capped(operands[0].extent.cost(READING) * operands[1].extent.cost(READING))
    ),
    ("matches", ""): lambda parameters, operands: Estimate(_finds(parameters, operands).cost),
    ("_==_", ""): _equals,
    ("_!=_", ""): _compares,
    ("_+_", "string"): _joins_texts,
    ("_+_", "bytes"): _joins_texts,
    ("_+_", "list"): lambda _parameters, operands: Estimate(1, operands[0].extent.plus(operands[1].extent)),
    **{(f"_{entry}_", kind): _compares for entry in ("<", "<=", ">", ">=") for kind in ("string", "bytes")},
    **{(entry, ""): _looks_at_each for entry in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")},
    **{
        (entry, ""): lambda _parameters, operands: Estimate(
            operands[0].extent.cost(READING), operands[0].extent
        )
        for entry in ("url", "lowerAscii", "upperAscii", "substring", "trim")
    },
    **{
        (entry, ""): _reading(0)
        for entry in ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
    },
    ("ip", "string"): _reading(0),
    ("ip.isCanonical", ""): _reading(0, 2 * READING),
    ("replace", ""): _replaces,
    ("split", ""): _splits,
    ("join", ""): _joins,
    ("find", ""): _finds,
    ("findAll", ""): _finds,
    ("containsIP", ""): _containing_address(_ADDRESS_COMPARED),
    ("containsCIDR", ""): _containing_address(_ADDRESS_COMPARED + 2 + 1),
    ("validate", ""): lambda _parameters, operands: Estimate(
        scaled(operands[1].extent.cost(READING), _NAMED_FORMAT_PATTERN * _PATTERN)
    ),
    ("sets.contains", ""): _comparing_sets(1),
    ("sets.intersects", ""): _comparing_sets(1),
    ("sets.equivalent", ""): _comparing_sets(2),
    ("slice", ""): _slices,
    ("lists.range", ""): lambda _parameters, operands: _makes_list(
        Size(_number(operands[0], LIMIT), _number(operands[0], LIMIT)), 1
    ),
    ("reverse", ""): lambda _parameters, operands: _makes_list(operands[0].extent, 1),
    ("flatten", ""): _flattens,
    ("distinct", ""): partial(_compares_items, sorts=None),
    ("sort", ""): partial(_compares_items, sorts=0),
    ("@sortByAssociatedKeys", ""): partial(_compares_items, sorts=1),
}


class _Path:
    """The path from a variable into its declaration: self, items, @items, name.

    Paths share memory like slices in Go: of two paths that extend a third one, the later can overwrite the earlier.
    The numbers of upstream depend on it.
    """

    __slots__ = ("_cells", "_length")

    def __init__(self, *steps: str) -> None:
        self._cells: list[str] = list(steps)
        self._length = len(steps)

    def __bool__(self) -> bool:
        return self._length > 0

    def steps(self) -> list[str]:
        return self._cells[: self._length]

    def extended(self, step: str) -> "_Path":
        longer = _Path()
        longer._cells, longer._length = self._cells, self._length + 1
        if self._length == len(self._cells):
            longer._cells = self._cells + [""] * max(self._length, 1)
        longer._cells[self._length] = step
        return longer


_NOWHERE: Final = _Path()


@dataclass(frozen=True, slots=True)
class _Entry:
    """The sizes of keys and values of a list or map that a literal or macro creates."""

    of: str
    key: Size
    value: Size

    def or_(self, other: "_Entry | None") -> "_Entry | None":
        return (
            None if other is None else _Entry(self.of, self.key.or_(other.key), self.value.or_(other.value))
        )


@dataclass(frozen=True, slots=True)
class _Local:
    path: _Path
    size: Size | None
    entry: _Entry | None = None


def max_cost(checked: Checked, declaration: Declared) -> int:
    """The maximum cost of an evaluation. `declaration` are the declarations of the variables."""
    return _Estimator(checked, declaration).cost(checked.root)


@dataclass(slots=True)
class _Estimator:
    checked: Checked
    declaration: Declared
    sizes: dict[int, Size] = field(default_factory=dict)
    entries: dict[int, _Entry] = field(default_factory=dict)
    paths: dict[int, _Path] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, expr: Expr) -> int:
        match expr:
            case Const():
                return 0
            case Ident(name=name):
                local = self._local(name)
                self.paths[id(expr)] = _Path(name) if local is None else local.path
                return 1
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case Literal():
                return self._literal(expr)
            case Fold() if _is_binding(expr):
                return self._binding(expr)
            case Fold():
                return self._fold(expr)

    def _local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _select(self, expr: Select) -> int:
        if id(expr) in self.checked.names:
            self.paths[id(expr)] = _Path(self.checked.names[id(expr)])
            return 1
        cost = self.cost(expr.operand)
        if expr.test:
            return cost
        owner = self.checked.type_of(expr.operand)
        self.paths[id(expr)] = self._path(expr.operand).extended(expr.field)
        return capped(cost + 1) if owner.name == "map" or is_object(owner) else cost

    def _call(self, call: Call) -> int:
        function = self.checked.functions.get(id(call), call.function)
        if function == "dyn":
            cost = self.cost(call.args[0])
            self._copy(call, call.args[0])
            return capped(cost + 1)
        method = call.method and id(call) not in self.checked.functions
        args = call.args[1:] if call.method else call.args
        costs = [self.cost(arg) for arg in args]
        if method:
            costs.append(self.cost(call.args[0]))
            args = call.args
        if function == "_?_:_":
            return self._choice(call, costs)
        if function == "_?._":
            self._set_size(call, None)
            return capped(1 + sum(costs))
        operands = tuple(map(self._operand, args))
        max_call_cost = 0
        size: Size | None = None
        for parameters in self.checked.parameter_types.get(id(call), ()):
            estimate = Estimate(0) if function in {"_&&_", "_||_"} else None
            estimate = estimate or call_cost(function, parameters, operands, method=method)
            max_call_cost = max(max_call_cost, estimate.cost)
            if estimate.size is not None:
                size = estimate.size if size is None else size.or_(estimate.size)
            if function == "_+_" and parameters[0].name in {"string", "bytes", "list"}:
                self._set_joined_entry(call)
            if function == "_[_]" and parameters[0].name in {"list", "map"}:
                entry = self._entry(args[0])
                size = entry.value if entry is not None else None
                step = "@items" if parameters[0].name == "list" else "@values"
                self.paths[id(call)] = self._path(args[0]).extended(step)
            if size is None:
                size = self._size(call)
        self._set_size(call, size)
        return capped(max_call_cost + sum(costs))

    def _choice(self, call: Call, costs: list[int]) -> int:
        _, one, other = call.args
        size = (self._size(one) or ANY_SIZE).or_(self._size(other) or ANY_SIZE)
        entry = self._entry(one)
        self._set_entry(call, entry.or_(self._entry(other)) if entry is not None else None)
        self._set_size(call, size)
        return capped(costs[0] + max(costs[1], costs[2]))

    def _set_joined_entry(self, call: Call) -> None:
        entry = self._entry(call.args[0])
        self._set_entry(call, entry.or_(self._entry(call.args[1])) if entry is not None else None)

    def _literal(self, expr: Literal) -> int:
        cost = sum(self.cost(element) for element in expr.elements)
        sizes = [self._size(element) or ANY_SIZE for element in expr.elements]
        if expr.is_map:
            entry = _Entry("map", _union(sizes[::2]), _union(sizes[1::2]))
        else:
            entry = _Entry("list", ONE, _union(sizes))
        self.entries[id(expr)] = entry
        return capped(cost + (_MAP_MADE if expr.is_map else _LIST_MADE))

    def _fold(self, fold: Fold) -> int:
        cost = self.cost(fold.over) + self.cost(fold.start)
        self._push(
            fold.accumulator, _Local(self._path(fold.start), self._size(fold.start), self._entry(fold.start))
        )
        for n, name in enumerate(fold.variables):
            self._push(name, self._loop_variable(fold, n))
        each = self.cost(fold.condition) + self.cost(fold.step)
        for name in fold.variables:
            self.locals[name].pop()
        cost += self.cost(fold.result)
        self.locals[fold.accumulator].pop()
        count = self._size(fold.over) or ANY_SIZE
        cost += capped(count.max_size * capped(each))
        if isinstance(fold.start, Const):
            self._set_size(fold, self._size(fold.start))
        elif isinstance(fold.start, Literal):
            self._set_size(fold, count)
            self._set_entry(fold, self._entry(fold.step))
        return capped(cost)

    def _loop_variable(self, fold: Fold, n: int) -> _Local:
        """The declaration of a loop variable: item or key; with two variables, index or key, and value."""
        entry = self._entry(fold.over)
        is_list = (entry.of if entry is not None else self.checked.type_of(fold.over).name) == "list"
        two = len(fold.variables) > 1
        if two and n == 0:
            step, size = "@indices" if is_list else "@keys", entry.key if entry is not None else None
        elif two or is_list:
            step, size = "@items" if is_list else "@values", entry.value if entry is not None else None
        else:
            step, size = "@keys", entry.key if entry is not None else None
        return _Local(self._path(fold.over).extended(step), size)

    def _binding(self, fold: Fold) -> int:
        cost = self.cost(fold.over) + self.cost(fold.start)
        self._push(
            fold.accumulator, _Local(self._path(fold.start), self._size(fold.start), self._entry(fold.start))
        )
        cost += self.cost(fold.result)
        self.locals[fold.accumulator].pop()
        self._copy(fold, fold.result)
        return capped(cost)

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _copy(self, expr: Expr, source: Expr) -> None:
        self._set_size(expr, self._size(source))
        self._set_entry(expr, self._entry(source))

    def _set_size(self, expr: Expr, size: Size | None) -> None:
        if size is not None:
            self.sizes[id(expr)] = size

    def _set_entry(self, expr: Expr, entry: _Entry | None) -> None:
        if entry is not None:
            self.entries[id(expr)] = entry

    def _path(self, expr: Expr) -> _Path:
        if isinstance(expr, Ident) and (local := self._local(expr.name)) is not None:
            return local.path
        return self.paths.get(id(expr), _NOWHERE)

    def _entry(self, expr: Expr) -> _Entry | None:
        entry = self.entries.get(id(expr))
        if entry is None and isinstance(expr, Ident) and (local := self._local(expr.name)) is not None:
            return local.entry
        return entry

    def _size(self, expr: Expr) -> Size | None:
        size = self.sizes.get(id(expr)) or _written_size(expr)
        if size is not None:
            return size
        size = self._declared_size(self._path(expr).steps())
        if size is not None:
            self.sizes[id(expr)] = size
            return size
        if is_scalar(self.checked.type_of(expr)):
            return ONE
        local = self._local(expr.name) if isinstance(expr, Ident) else None
        return local.size if local is not None else None

    def _declared_size(self, path: list[str]) -> Size | None:
        if not path:
            return None
        current: Declared | None = self.declaration
        for step in path[1:]:
            if current is None:
                return None
            match step:
                case "@items" | "@values":
                    current = current.item
                case "@keys":
                    current = current.key
                case _:
                    current = current.fields.get(step)
        return Size(0, current.max_size) if current is not None else None

    def _operand(self, expr: Expr) -> Operand:
        path = self._path(expr).steps()
        if path and path[0] in _MACRO_ACCUMULATORS:
            path = []
        item = self._declared_size([*path, "@items"]) if path else None
        number = expr.value if isinstance(expr, Const) and expr.type == "int" else None
        return Operand(self.checked.type_of(expr), self._size(expr), item or ANY_SIZE, number)


def _written_size(expr: Expr) -> Size | None:
    match expr:
        case Const(value=str() | bytes() as text):
            return Size(len(text), len(text))
        case Const():
            return ONE
        case Literal(elements=elements, is_map=is_map):
            count = len(elements) // 2 if is_map else len(elements)
            return Size(count, count)
        case _:
            return None


def _union(sizes: list[Size]) -> Size:
    if not sizes:
        return Size(0, 0)
    return Size(min(size.min_size for size in sizes), max(size.max_size for size in sizes))


def _is_binding(fold: Fold) -> bool:
    return (
        isinstance(fold.over, Literal)
        and not fold.over.elements
        and isinstance(fold.condition, Const)
        and fold.condition.value is False
        and fold.accumulator != "__result__"
    )
