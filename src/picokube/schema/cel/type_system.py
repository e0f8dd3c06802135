"""The types of CEL, their assignability and unification, and the signatures of all functions of Kubernetes 1.35."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

_WILD: Final = frozenset({"dyn", "!error!"})
_GENERIC: Final = frozenset({"list", "map", "type", "optional_type", "net.IP", "net.CIDR"})
_PLAIN: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "null", *_WILD})
_NULLABLE: Final = frozenset({"duration", "timestamp", "optional_type", "net.IP", "net.CIDR"})
_SCALARS: Final = frozenset({"bool", "int", "uint", "double", "duration", "timestamp"})
_TOKEN: Final = re.compile(r"[^(),\s]+|[(),]")
TYPE_NAMES: Final = {
    "bool": "bool", "bytes": "bytes", "double": "double", "int": "int", "uint": "uint", "string": "string",
    "list": "list(A)", "map": "map(A, B)", "null_type": "null", "type": "type",
    "google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp",
}  # fmt: skip
"""Type names that are also values, as in type(self.x) == int."""
_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS: Final = ("int", "uint", "double")
_OPERATORS: Final = """
!_ : bool -> bool
-_ : double -> double | int -> int
@in : A, list(A) -> bool | A, map(A, B) -> bool
@not_strictly_false : bool -> bool
_==_ : A, A -> bool
_!=_ : A, A -> bool
_&&_ : bool, bool -> bool
_||_ : bool, bool -> bool
_%_ : int, int -> int | uint, uint -> uint
_*_ : double, double -> double | int, int -> int | uint, uint -> uint
_/_ : double, double -> double | int, int -> int | uint, uint -> uint
_+_ : bytes, bytes -> bytes | double, double -> double | duration, duration -> duration | duration, timestamp -> timestamp | timestamp, duration -> timestamp | int, int -> int | list(A), list(A) -> list(A) | string, string -> string | uint, uint -> uint
_-_ : double, double -> double | duration, duration -> duration | int, int -> int | timestamp, duration -> timestamp | timestamp, timestamp -> duration | uint, uint -> uint
_?_:_ : bool, A, A -> A
_[_] : list(A), int -> A | map(A, B), A -> B | optional_type(list(V)), int -> optional_type(V) | optional_type(map(K, V)), K -> optional_type(V)
_[?_] : list(V), int -> optional_type(V) | optional_type(list(V)), int -> optional_type(V) | map(K, V), K -> optional_type(V) | optional_type(map(K, V)), K -> optional_type(V)
"""  # noqa: E501 - a table
_FUNCTIONS: Final = """
bool : bool -> bool | string -> bool
bytes : bytes -> bytes | string -> bytes
cel.@mapInsert : map(K, V), K, V -> map(K, V) | map(K, V), map(K, V) -> map(K, V)
cidr : string -> net.CIDR
double : double -> double | int -> double | string -> double | uint -> double
duration : duration -> duration | int -> duration | string -> duration
dyn : A -> dyn
format.named : string -> optional_type(kubernetes.NamedFormat)
int : int -> int | double -> int | duration -> int | string -> int | timestamp -> int | uint -> int
ip : string -> net.IP
ip.isCanonical : string -> bool
isCIDR : string -> bool
isIP : string -> bool
isQuantity : string -> bool
isSemver : string -> bool | string, bool -> bool
isURL : string -> bool
lists.range : int -> list(int)
matches : string, string -> bool
optional.none : -> optional_type(V)
optional.of : V -> optional_type(V)
optional.ofNonZeroValue : V -> optional_type(V)
optional.unwrap : list(optional_type(V)) -> list(V)
quantity : string -> kubernetes.Quantity
semver : string -> kubernetes.Semver | string, bool -> kubernetes.Semver
sets.contains : list(T), list(T) -> bool
sets.equivalent : list(T), list(T) -> bool
sets.intersects : list(T), list(T) -> bool
sign : kubernetes.Quantity -> int
size : bytes -> int | list(A) -> int | map(A, B) -> int | string -> int
string : string -> string | bool -> string | bytes -> string | double -> string | duration -> string | int -> string | timestamp -> string | uint -> string | net.IP -> string | net.CIDR -> string
strings.quote : string -> string
timestamp : timestamp -> timestamp | int -> timestamp | string -> timestamp
type : A -> type(A)
uint : uint -> uint | double -> uint | int -> uint | string -> uint
url : string -> kubernetes.URL
"""  # noqa: E501 - a table
_NAMED_FORMATS: Final = (
    "byte", "date", "datetime", "dns1035Label", "dns1035LabelPrefix", "dns1123Label", "dns1123LabelPrefix",
    "dns1123Subdomain", "dns1123SubdomainPrefix", "labelValue", "qualifiedName", "uri", "uuid",
)  # fmt: skip
_METHODS: Final = """
add : kubernetes.Quantity, kubernetes.Quantity -> kubernetes.Quantity | kubernetes.Quantity, int -> kubernetes.Quantity
asApproximateFloat : kubernetes.Quantity -> double
asInteger : kubernetes.Quantity -> int
charAt : string, int -> string
compareTo : kubernetes.Quantity, kubernetes.Quantity -> int | kubernetes.Semver, kubernetes.Semver -> int
contains : string, string -> bool
containsCIDR : net.CIDR, string -> bool | net.CIDR, net.CIDR -> bool
containsIP : net.CIDR, string -> bool | net.CIDR, net.IP -> bool
distinct : list(T) -> list(T)
endsWith : string, string -> bool
family : net.IP -> int
find : string, string -> string
findAll : string, string -> list(string) | string, string, int -> list(string)
first : list(V) -> optional_type(V)
flatten : list(list(T)) -> list(T) | list(dyn), int -> list(dyn)
format : string, list(dyn) -> string
getEscapedPath : kubernetes.URL -> string
getHost : kubernetes.URL -> string
getHostname : kubernetes.URL -> string
getPort : kubernetes.URL -> string
getQuery : kubernetes.URL -> map(string, list(string))
getScheme : kubernetes.URL -> string
hasValue : optional_type(V) -> bool
indexOf : list(A), A -> int | string, string -> int | string, string, int -> int
ip : net.CIDR -> net.IP
isGlobalUnicast : net.IP -> bool
isGreaterThan : kubernetes.Quantity, kubernetes.Quantity -> bool | kubernetes.Semver, kubernetes.Semver -> bool
isInteger : kubernetes.Quantity -> bool
isLessThan : kubernetes.Quantity, kubernetes.Quantity -> bool | kubernetes.Semver, kubernetes.Semver -> bool
isLinkLocalMulticast : net.IP -> bool
isLinkLocalUnicast : net.IP -> bool
isLoopback : net.IP -> bool
isUnspecified : net.IP -> bool
join : list(string) -> string | list(string), string -> string
last : list(V) -> optional_type(V)
lastIndexOf : list(A), A -> int | string, string -> int | string, string, int -> int
lowerAscii : string -> string
major : kubernetes.Semver -> int
masked : net.CIDR -> net.CIDR
matches : string, string -> bool
minor : kubernetes.Semver -> int
or : optional_type(V), optional_type(V) -> optional_type(V)
orValue : optional_type(V), V -> V
patch : kubernetes.Semver -> int
prefixLength : net.CIDR -> int
replace : string, string, string -> string | string, string, string, int -> string
reverse : list(T) -> list(T)
size : bytes -> int | list(A) -> int | map(A, B) -> int | string -> int
slice : list(T), int, int -> list(T)
split : string, string -> list(string) | string, string, int -> list(string)
startsWith : string, string -> bool
sub : kubernetes.Quantity, kubernetes.Quantity -> kubernetes.Quantity | kubernetes.Quantity, int -> kubernetes.Quantity
substring : string, int -> string | string, int, int -> string
sum : list(int) -> int | list(uint) -> uint | list(double) -> double | list(duration) -> duration
trim : string -> string
unwrapOpt : list(optional_type(V)) -> list(V)
upperAscii : string -> string
validate : kubernetes.NamedFormat, string -> optional_type(list(string))
value : optional_type(V) -> V
"""
_CLOCK: Final = {
    "getDate": "timestamp", "getDayOfMonth": "timestamp", "getDayOfWeek": "timestamp", "getDayOfYear": "timestamp",
    "getFullYear": "timestamp", "getMonth": "timestamp", "getHours": "both", "getMilliseconds": "both",
    "getMinutes": "both", "getSeconds": "both",
}  # fmt: skip


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
def parse_type(text: str) -> Type:
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
        known = self._known.get(kind.name)
        if known is not None:
            return self.resolved(known, finally_=finally_)
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


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Type, ...]
    result_type: Type
    generic: bool
    """Whether its types have parameters."""


@cache
def signatures(function: str, *, method: bool) -> tuple[Signature, ...]:
    """The signatures of a function, or of a method with its target first. Empty if there are none."""
    return tuple(_parse_signature(item) for item in _table(method=method).get(function, ()))


def is_declared(function: str) -> bool:
    return any(function in _table(method=method) for method in (False, True))


@cache
def _table(*, method: bool) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for line in (_METHODS if method else _OPERATORS + _FUNCTIONS).strip().splitlines():
        name, _, overloads = line.partition(" : ")
        table[name] = overloads.split(" | ")
    if method:
        for name, result_type in (("isSorted", "bool"), ("min", ""), ("max", ""), ("sort", "list")):
            table[name] = [
                f"list({item}) -> {f'list({item})' if result_type == 'list' else result_type or item}"
                for item in _ORDERED
            ]
        table["@sortByAssociatedKeys"] = [f"list(T), list({item}) -> list(T)" for item in _ORDERED]
        for name, of in _CLOCK.items():
            durations = ["duration -> int"] if of == "both" else []
            table[name] = ["timestamp -> int", "timestamp, string -> int", *durations]
    else:
        for name in ("_<_", "_<=_", "_>_", "_>=_"):
            numbers = [f"{one}, {other} -> bool" for one in _NUMBERS for other in _NUMBERS]
            table[name] = numbers + [f"{item}, {item} -> bool" for item in _ORDERED if item not in _NUMBERS]
        table.update(
            {f"format.{named_format}": ["-> kubernetes.NamedFormat"] for named_format in _NAMED_FORMATS}
        )
    return table


def _parse_signature(text: str) -> Signature:
    parameters, _, result_type = text.partition("->")
    kinds = parse_type(f"parameters({parameters.strip()})").params if parameters.strip() else ()
    result = parse_type(result_type.strip())
    return Signature(kinds, result, any(map(has_params, (*kinds, result))))
