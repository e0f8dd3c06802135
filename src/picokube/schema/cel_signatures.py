"""The signatures of all functions that Kubernetes 1.35 declares for rules."""

from dataclasses import dataclass
from functools import cache
from typing import Final

from picokube.schema.cel_types import Type, has_params, parsed_type

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
class Signature:
    takes: tuple[Type, ...]
    gives: Type
    generic: bool
    """Whether its types have parameters."""


@cache
def signatures(function: str, *, method: bool) -> tuple[Signature, ...]:
    """The signatures of a function, or of a method with its target first. Empty if there are none."""
    return tuple(_read(item) for item in _table(method=method).get(function, ()))


def is_declared(function: str) -> bool:
    return any(function in _table(method=method) for method in (False, True))


@cache
def _table(*, method: bool) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for line in (_METHODS if method else _OPERATORS + _FUNCTIONS).strip().splitlines():
        name, _, overloads = line.partition(" : ")
        table[name] = overloads.split(" | ")
    if method:
        for name, gives in (("isSorted", "bool"), ("min", ""), ("max", ""), ("sort", "list")):
            table[name] = [
                f"list({item}) -> {f'list({item})' if gives == 'list' else gives or item}"
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


def _read(text: str) -> Signature:
    takes, _, gives = text.partition("->")
    kinds = parsed_type(f"takes({takes.strip()})").params if takes.strip() else ()
    result = parsed_type(gives.strip())
    return Signature(kinds, result, any(map(has_params, (*kinds, result))))
