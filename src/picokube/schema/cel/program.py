"""Compiles and runs CEL expressions and conditions. The only module that uses cel_expr_python.

Converts the library's results to plain values and its errors to this package's errors. The library is loaded with the
first expression.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import orjson

from picokube.schema.cel.budget import (
    OUT_OF_FUEL,
    Traits,
    is_affordable,
    measure,
    nests_deeper,
    refuel,
)
from picokube.schema.cel.functions import MATCHES, OVERLOADS
from picokube.schema.cel.syntax_tree import (
    Call,
    Expr,
    decode_tree,
    mentions,
    mentions_whole,
    selected_names,
    serialize,
    walk,
    with_calls_renamed,
)
from picokube.schema.errors import CelEvaluationError, CelSyntaxError

MAX_SOURCE: Final = 10_000
_MAX_DEPTH: Final = 250
_MAX_REPORT: Final = 50_000
"""The library repeats the expression in each of its error messages."""
OVER_BUDGET: Final = "the expression exceeds its cost budget"
_ANY: Final = ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null")
_LOCATION: Final = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_STATUS: Final = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_FORBIDDEN: Final = re.compile(r"[\x00\ud800-\udfff]")
# Messages of cel-go for messages of the C++ library.
_MESSAGES: Final = (
    (re.compile(r'^Key not found in map : "?(.*?)"?$', re.DOTALL), r"no such key: \1"),
    (re.compile(r"^Index error: index=(-?\d+) size=\d+$"), r"index out of bounds: \1"),
    (re.compile(r"^divide by zero$"), "division by zero"),
    (re.compile(r"^No matching overloads found.*", re.DOTALL), "no such overload"),
    (re.compile(r"^Applying SELECT to non-message type$|^Invalid container type:.*"), "no such overload"),
    (re.compile(r"^cannot convert string to int$"), "type conversion error from 'string' to 'int'"),
)

_SYNTAX_MESSAGES: Final = (
    (re.compile(r"\nERROR: <input>:\d+:\d+: <<nil>> parsetree[^\n]*(?:\n \|[^\n]*)*"), ""),
    (re.compile(r"'\\u003F'"), "'?'"),
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
    (
        re.compile(r"(?:map|filter)\(\) variable name must be a simple identifier"),
        "argument is not an identifier",
    ),
    (
        re.compile(r"(?<!\w)\w+\(\) variable name must be a simple identifier"),
        "argument must be a simple name",
    ),
)


class Bindings:
    """Variable values for one or more programs. Converted for the library only once."""

    __slots__ = ("_activations", "size", "values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.size = _measure_size(values)
        """Length as JSON. -1 if the values are nested too deeply for the library, which recurses."""
        self._activations: dict[int, Any] = {}

    def activation(self, environment: Any) -> Any:
        activation = self._activations.get(id(environment))
        if activation is None:
            activation = self._activations[id(environment)] = environment.Activation(self.values)
        return activation


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled expression. `result_type` is the CEL type of its result, or DYN."""

    source: str
    result_type: str
    tree: Expr
    traits: Traits
    compiled: Any
    environment: Any

    def run(self, bindings: "Bindings") -> Any:
        """Evaluate to a plain Python value. Raises CelEvaluationError."""
        if bindings.size < 0:
            raise CelEvaluationError(self.source, "the values are nested too deeply", over_budget=True)
        traits = self.traits
        if (traits.loops or traits.grows or traits.passes_lists) and not is_affordable(
            self.tree, traits, bindings.values, bindings.size
        ):
            raise CelEvaluationError(self.source, OVER_BUDGET, over_budget=True)
        refuel()
        try:
            value = self.compiled.eval(bindings.activation(self.environment))
            kind = value.type().name()
            plain = _plain(value.plain_value())
        except (RuntimeError, TypeError, ValueError, MemoryError, RecursionError) as error:
            raise self._failure(str(error)) from error
        if kind in {"ERROR", "UNKNOWN"}:
            raise self._failure(str(plain))
        return plain

    def cost(self, bindings: "Bindings") -> int:
        """The cost of a run against a shared budget: a rough but deterministic estimate."""
        return self.traits.operations * (1 + bindings.size // 16 if self.traits.loops else 1)

    def _failure(self, text: str) -> CelEvaluationError:
        problem = _STATUS.sub("", text.strip())
        if OUT_OF_FUEL in problem or "Iteration budget exceeded" in problem or "bad_alloc" in problem:
            return CelEvaluationError(self.source, OVER_BUDGET, over_budget=True)
        for pattern, message in _MESSAGES:
            problem = pattern.sub(message, problem)
        return CelEvaluationError(self.source, problem)


@lru_cache(maxsize=256)
def parse(source: str) -> Expr:
    """The unchecked syntax tree of `source`. Raises CelSyntaxError."""
    _validate_source(source)
    try:
        return decode_tree(_parser().compile(source, disable_check=True).serialize())
    except (RuntimeError, TypeError, MemoryError) as error:
        raise _syntax_error(source, str(error)) from error


@lru_cache(maxsize=1024)
def compile_expression(source: str, variables: tuple[tuple[str, str], ...]) -> Program:
    """Compile `source` with variables of these CEL types. Raises CelSyntaxError."""
    _validate_source(source)
    environment = _environment(variables)
    try:
        expression = environment.compile(source)
        tree = decode_tree(expression.serialize())
    except (RuntimeError, TypeError, MemoryError) as error:
        raise _syntax_error(source, str(error)) from error
    result_type = expression.return_type().name()
    if any(isinstance(item, Call) and item.function == "matches" for item in walk(tree)):
        return replace(compile_tree(source, tree, variables), result_type=result_type)
    return Program(
        source=source,
        result_type=result_type,
        tree=tree,
        traits=Traits.of(tree),
        compiled=expression,
        environment=environment,
    )


def compile_tree(source: str, tree: Expr, variables: tuple[tuple[str, str], ...]) -> Program:
    """Compile a tree that was derived from `source`, without type checks."""
    environment = _environment(variables)
    try:
        expression = environment.deserialize(serialize(with_calls_renamed(tree, "matches", MATCHES)))
    except (RuntimeError, TypeError, MemoryError) as error:
        raise _syntax_error(source, str(error)) from error
    return Program(
        source=source,
        result_type="DYN",
        tree=tree,
        traits=Traits.of(tree),
        compiled=expression,
        environment=environment,
    )


def _validate_source(source: str) -> None:
    if len(source) > MAX_SOURCE:
        raise CelSyntaxError(
            source[:80], f"the expression has {len(source)} characters; the maximum is {MAX_SOURCE}"
        )
    if forbidden := _FORBIDDEN.search(source):
        line, column = (
            source.count("\n", 0, forbidden.start()) + 1,
            forbidden.start() - source.rfind("\n", 0, forbidden.start()),
        )
        raise CelSyntaxError(
            source, f"character U+{ord(forbidden[0]):04X} is not allowed", line=line, column=column
        )


def _syntax_error(source: str, text: str) -> CelSyntaxError:
    text = text[:_MAX_REPORT]
    if (match := _LOCATION.search(text)) is None:
        too_deep = "recursion limit exceeded" in text
        return CelSyntaxError(
            source, "the expression is nested too deeply" if too_deep else _STATUS.sub("", text)
        )
    line, column, problem = max(int(match[1]), 0), max(int(match[2]), 0), match[3]
    problem = _STATUS.sub("", problem).removesuffix(" (in container '')")
    if problem.startswith("Exceeded max recursion depth"):
        problem = "the expression is nested too deeply"
    where = f" at line {line}, column {column}" if line else ""
    report = _STATUS.sub("", text)
    for pattern, message in _SYNTAX_MESSAGES:
        report = pattern.sub(message, report)
    return CelSyntaxError(source, f"{problem}{where}", line=line, column=column, report=report)


@cache
def _types() -> dict[str, Any]:
    from cel_expr_python import cel  # noqa: PLC0415 - slow to import, and most processes compile no expression

    kinds = cel.Type
    return {
        "dyn": kinds.DYN, "bool": kinds.BOOL, "int": kinds.INT, "uint": kinds.UINT, "double": kinds.DOUBLE,
        "string": kinds.STRING, "bytes": kinds.BYTES, "null": kinds.NULL,
        "list": kinds.List(kinds.DYN), "map": kinds.Map(kinds.STRING, kinds.DYN),
        "entries": kinds.Map(kinds.DYN, kinds.DYN),
    }  # fmt: skip


@cache
def _parser() -> Any:
    """An environment with only the macros of Kubernetes."""
    from cel_expr_python import cel  # noqa: PLC0415
    from cel_expr_python.ext import ext_optional  # noqa: PLC0415

    return cel.NewEnv(extensions=[ext_optional.ExtOptional()])


@lru_cache(maxsize=128)
def _environment(variables: tuple[tuple[str, str], ...]) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415
    from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional  # noqa: PLC0415

    types = _types()
    extensions = [
        ext_bindings.ExtBindings(),
        ext_encoders.ExtEncoders(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
    ]
    return cel.NewEnv(
        variables={name: types[kind] for name, kind in variables},
        extensions=extensions,
        functions=_functions(cel),
    )


def _functions(cel: Any) -> list[Any]:
    types = _types()
    declared: dict[str, list[Any]] = {}
    for item in OVERLOADS:
        for variant in _ANY if "any" in item.parameters else ("",):
            parameters = tuple(variant if kind == "any" else kind for kind in item.parameters)
            overload = cel.Overload(
                f"kubernetes_{item.name}_{'_'.join(parameters)}",
                return_type=types[item.result_type],
                parameters=[types[kind] for kind in parameters],
                is_member=item.method,
                impl=item.body,
            )
            declared.setdefault(item.name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in declared.items()]


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case bytearray() | bytes():
            return bytes(value)
        case _ if type(value).__module__ == "datetime":
            return value
        case _:
            return str(value)


def _measure_size(values: Mapping[str, Any]) -> int:
    try:
        return len(orjson.dumps(values, default=repr))
    except (TypeError, ValueError):
        # Not representable as JSON: a large integer, a lone surrogate or too deep nesting.
        return (
            -1 if nests_deeper(values, _MAX_DEPTH) else sum(measure(value).size for value in values.values())
        )


class CelType(StrEnum):
    """The type of a variable. Maps have string keys. Items and values are checked at run time."""

    DYN = "dyn"
    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    MAP = "map"


Variables: TypeAlias = Mapping[str, CelType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A compiled condition. Equal if source and variables are equal."""

    source: str
    variables: tuple[tuple[str, CelType], ...]
    program: Program = field(compare=False, repr=False)

    def references(self, variable: str) -> frozenset[str]:
        """Names selected directly from `variable`: steps.build, steps["my-step"], has(steps.build)."""
        return frozenset(selected_names(self.program.tree, variable))

    def uses(self, variable: str) -> bool:
        """Whether the condition uses `variable`."""
        return mentions(self.program.tree, variable)

    def uses_whole(self, variable: str) -> bool:
        """Whether the condition uses `variable` other than to select literal names."""
        return mentions_whole(self.program.tree, variable)

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        """Evaluate the condition. Raises CelEvaluationError."""
        unbound = [name for name, _ in self.variables if name not in bindings and self.uses(name)]
        if unbound:
            raise CelEvaluationError(self.source, f"no value for {', '.join(unbound)}")
        value = self.program.run(Bindings(bindings))
        if not isinstance(value, bool):
            raise CelEvaluationError(self.source, f"must evaluate to a bool, got {type(value).__name__}")
        return value


def compile_condition(source: str, variables: Variables) -> Condition:
    """Compile a condition. Raises CelSyntaxError, also if the expression is not boolean."""
    declared = tuple(sorted((name, CelType(kind)) for name, kind in variables.items()))
    program = compile_expression(source, declared)
    if program.result_type not in {"BOOL", "DYN"}:
        raise CelSyntaxError(source, f"must evaluate to a bool, not {program.result_type.lower()}")
    return Condition(source=source, variables=declared, program=program)
