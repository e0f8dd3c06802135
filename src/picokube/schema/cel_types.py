"""The types of CEL, and their assignability and unification."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name: int, list(string), optional_type(dyn). An upper-case name is a type parameter."""

    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


BOOL: Final = Type("bool")
INT: Final = Type("int")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
DYN: Final = Type("dyn")
ERROR: Final = Type("!error!")
"""The type of an invalid node. It is assignable to any type, to report an error only once."""
NULL: Final = Type("null")
_WILD: Final = frozenset({"dyn", "!error!"})
_GENERIC: Final = frozenset({"list", "map", "type", "optional_type", "net.IP", "net.CIDR"})
_PLAIN: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "null", *_WILD})
_NULLABLE: Final = frozenset({"duration", "timestamp", "optional_type", "net.IP", "net.CIDR"})
_SCALARS: Final = frozenset({"bool", "int", "uint", "double", "duration", "timestamp"})
_TOKEN: Final = re.compile(r"[^(),\s]+|[(),]")


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def unwrapped(kind: Type) -> tuple[Type, bool]:
    """The value type of an optional, and whether the type is optional."""
    return (kind.params[0], True) if kind.name == "optional_type" else (kind, False)


def is_dynamic(kind: Type) -> bool:
    return kind.name in _WILD


def is_param(kind: Type) -> bool:
    """Whether the type is a type parameter of a signature or of an empty list."""
    return kind.name[0] == "_" or (len(kind.name) == 1 and kind.name.isupper())


def has_params(kind: Type) -> bool:
    return is_param(kind) or any(map(has_params, kind.params))


def is_object(kind: Type) -> bool:
    """Whether the type has declared fields."""
    return not (kind.name in _PLAIN or kind.name in _GENERIC or kind.name in _SCALARS or is_param(kind))


def is_scalar(kind: Type) -> bool:
    """Whether all values of the type have about the same size."""
    inner, optional = unwrapped(kind)
    return is_scalar(inner) if optional else kind.name in _SCALARS


@lru_cache(maxsize=1024)
def parsed_type(text: str) -> Type:
    """Parse a type such as map(string, list(A))."""
    kind, rest = _read(_TOKEN.findall(text))
    if rest:
        raise ValueError(f"no type: {text}")
    return kind


def _read(tokens: list[str]) -> tuple[Type, list[str]]:
    name, rest = tokens[0], tokens[1:]
    if not rest or rest[0] != "(":
        return Type(name), rest
    params: list[Type] = []
    while rest[0] != ")":
        param, rest = _read(rest[1:])
        params.append(param)
    return Type(name, tuple(params)), rest[1:]


class TypeSubstitution:
    """The type parameters of an expression that are resolved so far."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._changes: list[tuple[str, Type | None]] = []
        self._fresh = 0

    def fresh(self) -> Type:
        self._fresh += 1
        return Type(f"_var{self._fresh - 1}")

    def renamed(self, kinds: Sequence[Type]) -> tuple[Type, ...]:
        """The types of a signature with fresh type parameters."""
        names: dict[str, Type] = {}

        def rename(kind: Type) -> Type:
            if not is_param(kind):
                return Type(kind.name, tuple(map(rename, kind.params))) if kind.params else kind
            if kind.name not in names:
                names[kind.name] = self.fresh()
            return names[kind.name]

        return tuple(map(rename, kinds))

    def resolved(self, kind: Type, *, finally_: bool = False) -> Type:
        """The type with resolved parameters. With `finally_`, unresolved ones become dyn."""
        found = self._known.get(kind.name)
        if found is not None:
            return self.resolved(found, finally_=finally_)
        if kind.params:
            return Type(kind.name, tuple(self.resolved(param, finally_=finally_) for param in kind.params))
        return DYN if finally_ and is_param(kind) else kind

    def fit(self, ones: Sequence[Type], others: Sequence[Type]) -> bool:
        """Whether each of `ones` is assignable to the corresponding other type. Keeps the resolved parameters if so."""
        self._changes.clear()
        if self._all_fit(ones, others):
            return True
        for name, before in reversed(self._changes):
            if before is None:
                del self._known[name]
            else:
                self._known[name] = before
        return False

    def _all_fit(self, ones: Sequence[Type], others: Sequence[Type]) -> bool:
        return len(ones) == len(others) and all(map(self._fits, ones, others))

    def _fits(self, one: Type, other: Type) -> bool:
        if is_param(other):
            fits, known = self._can_bind(one, other)
            if fits or known:
                return fits
        if is_param(one):
            return self._can_bind(other, one)[0]
        if is_dynamic(one) or is_dynamic(other):
            return True
        if NULL in (one, other):
            return _may_be_null(other if one == NULL else one)
        if one.name == "type":
            return other.name == "type"
        return one.name == other.name and self._all_fit(one.params, other.params)

    def _can_bind(self, kind: Type, param: Type) -> tuple[bool, bool]:
        """Whether `kind` can be bound to `param`, and whether it already was."""
        if kind == param:
            return True, True
        known = self._known.get(param.name)
        if known is not None:
            if kind == known:
                return True, True
            if not self._fits(kind, known):
                return False, True
            general = kind if _is_as_general(kind, known) else known
            if not self._occurs_in(general, param):
                self._bind(param, general)
            return True, True
        if self._occurs_in(kind, param):
            return False, False
        self._bind(param, kind)
        return True, False

    def _bind(self, param: Type, kind: Type) -> None:
        self._changes.append((param.name, self._known.get(param.name)))
        self._known[param.name] = kind

    def _occurs_in(self, kind: Type, param: Type) -> bool:
        if kind == param:
            return True
        if is_param(kind):
            known = self._known.get(kind.name)
            return known is not None and self._occurs_in(known, param)
        return any(self._occurs_in(item, param) for item in kind.params)


def more_general(one: Type, other: Type) -> Type:
    """The more general of two assignable types."""
    return one if _is_as_general(one, other) else other


def _is_as_general(one: Type, other: Type) -> bool:
    if one == DYN or is_param(one):
        return True
    if other == DYN or is_param(other) or one.name != other.name:
        return False
    return one.name == "type" or all(map(_is_as_general, one.params, other.params))


def _may_be_null(kind: Type) -> bool:
    return kind == NULL or kind.name in _NULLABLE or is_object(kind)
