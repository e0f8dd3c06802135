"""The full validation of a value, in the order and with the choices and messages of kube-openapi's validator.

Runs only if the fast validator rejects an object, so it may be slow. It finds every error, and for anyOf reports the
branch that matches best. `name` is the field in the notation of kube-openapi ("spec.n in body should be ..."), `at` the
path to the value. Errors are converted to field errors like in apiextensions-apiserver.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kubekit.dns_names import dns_label_1035_problems
from picokube.schema.errors import (
    NO_FIELD,
    FieldError,
    Path,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from picokube.schema.formats import FORMATS
from picokube.schema.go_text import as_json, format_number, go_quote
from picokube.schema.node import Node, Routes, routes_to
from picokube.schema.patterns import matcher
from picokube.schema.validation.correlation import Correlation, same_json

_SAFE: Final = 2**53 - 1
_NEARLY: Final = 1e-9
_TYPE_META: Final = frozenset({"apiVersion", "kind"})


def _display_name(name: str) -> str:
    return name.removeprefix(".") or NO_FIELD


def wrong_type(name: str, at: Path, expected: Sequence[str], actual: str) -> FieldError:
    problem = f"{name} in body must be of type {','.join(expected)}: {go_quote(actual)}"
    return type_invalid(_display_name(name), actual, problem, path=at)


def in_body(name: str, at: Path, value: object, problem: str) -> FieldError:
    return invalid(_display_name(name), value, f"{name} in body {problem}", path=at)


def out_of_range(name: str, at: Path, value: float, relation: str, limit: float) -> FieldError:
    return in_body(name, at, value, f"should be {relation} {format_number(limit)}")


def _about_all(at: Path, sentence: str) -> FieldError:
    # In Kubernetes these errors have no field, only the message names it.
    return invalid(NO_FIELD, "", sentence, path=at)


def rules_not_run() -> FieldError:
    problem = (
        "some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )
    return invalid(NO_FIELD, None, problem)


def is_whole(value: float) -> bool:
    """Whether a number counts as an integer, including floats that are integral within rounding errors."""
    if not -_SAFE <= value <= _SAFE:
        return False
    whole = int(value)
    if whole == value:
        return True
    return whole != 0 and abs(value - whole) / (abs(value) + abs(whole)) < _NEARLY


def number_errors(value: float, node: Node, name: str, at: Path) -> list[FieldError]:
    """The errors of multipleOf, minimum and maximum, in this order."""
    errors = []
    integral = isinstance(value, int) and -(2**63) <= value < 2**63
    value = value if integral else _as_float(value)
    if node.multiple_of is not None:
        # Bounds of integers are truncated like in Go, so 0.5 becomes 0, which is an invalid factor.
        factor = int(node.multiple_of) if integral else node.multiple_of
        if factor <= 0:
            errors.append(
                invalid(
                    _display_name(name),
                    factor,
                    f"factor MultipleOf declared for {name} must be positive: {format_number(factor)}",
                    path=at,
                )
            )
        elif value % factor if integral else not _divides(factor, value):
            errors.append(in_body(name, at, value, f"should be a multiple of {format_number(factor)}"))
    if node.minimum is not None:
        low = int(node.minimum) if integral else node.minimum
        if value < low or (node.exclusive_minimum and value == low):
            relation = "greater than" if node.exclusive_minimum else "greater than or equal to"
            errors.append(out_of_range(name, at, value, relation, low))
    if node.maximum is not None:
        high = int(node.maximum) if integral else node.maximum
        if value > high or (node.exclusive_maximum and value == high):
            relation = "less than" if node.exclusive_maximum else "less than or equal to"
            errors.append(out_of_range(name, at, value, relation, high))
    return errors


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _divides(factor: float, value: float) -> bool:
    return is_whole(1 / factor * value if factor < 1 else value / factor)


@dataclass(slots=True)
class Outcome:
    """Distinct errors, and the number of passed checks, which determines the best branch of anyOf."""

    errors: list[FieldError] = field(default_factory=list)
    met: int = 0
    _reported: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, *errors: FieldError) -> None:
        for error in errors:
            reported = (error.type, error.field, error.detail)
            if reported not in self._reported:
                self._reported.add(reported)
                self.errors.append(error)

    def merge(self, other: "Outcome") -> None:
        self.add(*other.errors)
        self.met += other.met


def value_errors(value: Any, node: Node, *, old: Correlation | None = None) -> list[FieldError]:
    """All errors of `value`. Errors in unchanged values are ignored."""
    return _ratcheted(value, node, "", (), old).errors


def _ratcheted(value: Any, node: Node, name: str, at: Path, old: Correlation | None) -> Outcome:
    outcome = _outcome(value, node, name, at, old)
    if outcome.errors and old is not None and old.unchanged:
        return Outcome(met=outcome.met)
    return outcome


def _outcome(value: Any, node: Node, name: str, at: Path, old: Correlation | None) -> Outcome:
    outcome = Outcome()
    if value is None:
        if node.types and not node.nullable:
            outcome.add(wrong_type(name, at, node.types, "null"))
        else:
            outcome.met += 1
        outcome.add(*_enum_errors(value, node, name, at))
        return outcome
    format_ = node.format
    if node.types or format_:
        _check_type(value, node, format_, name, at, outcome)
    outcome.merge(_junctions(value, node, name, at))
    outcome.met += 1
    match value:
        case str():
            _check_text(value, node, format_, name, at, outcome)
        case bool():
            pass
        case int() | float():
            outcome.add(*number_errors(value, node, name, at))
            outcome.met += 2
        case list():
            outcome.merge(_items(value, node, name, at, old))
            outcome.met += 1
        case _:
            pass
    outcome.add(*_enum_errors(value, node, name, at))
    outcome.met += 1
    if isinstance(value, dict):
        outcome.merge(_fields(value, node, name, at, old))
        outcome.met += 1
    outcome.met += 1
    return outcome


def _check_text(value: str, node: Node, format_: str, name: str, at: Path, outcome: Outcome) -> None:
    outcome.add(*_text_errors(value, node, name, at))
    outcome.met += 1
    check = FORMATS.get(format_.replace("-", ""))
    if check is not None:
        outcome.met += 1
        if not check(value):
            outcome.add(
                type_invalid(
                    _display_name(name),
                    value,
                    f"{name} in body must be of type {format_}: {go_quote(value)}",
                    path=at,
                )
            )


def json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer" if -(2**63) <= value < 2**63 else "number"
        case float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def _check_type(value: Any, node: Node, format_: str, name: str, at: Path, outcome: Outcome) -> None:
    outcome.met += 1
    actual, types = json_type(value), node.types
    if actual in types:
        outcome.met += 1
        return
    whole = actual == "number" and "integer" in types and is_whole(value)
    fits = whole or (actual == "integer" and "number" in types)
    numeric = "number" in types or "integer" in types
    if format_ and actual not in {"string", "array"} and not fits:
        shown = {"integer": "int64", "number": "float64"}.get(actual, "")
        outcome.add(wrong_type(name, at, (format_,), shown))
    elif fits or (format_ and not numeric and actual in {"string", "array"}):
        outcome.met += 1
    else:
        outcome.add(wrong_type(name, at, types, actual))


def _enum_errors(value: Any, node: Node, name: str, at: Path) -> list[FieldError]:
    if not node.enum or any(item is not None and _is_choice(value, item) for item in node.enum):
        return []
    allowed = [item if isinstance(item, str) else as_json(item) for item in node.enum]
    return [not_supported(_display_name(name), value, allowed, path=at)]


def _is_choice(value: Any, choice: Any) -> bool:
    numbers = (int, float)
    if isinstance(value, numbers) and isinstance(choice, numbers) and bool not in {type(value), type(choice)}:
        return math.isfinite(value) and type(choice)(value) == choice
    return same_json(value, choice)


def _text_errors(value: str, node: Node, name: str, at: Path) -> list[FieldError]:
    if node.max_length is not None and len(value) > node.max_length:
        return [too_long(_display_name(name), node.max_length, path=at)]
    if node.min_length is not None and len(value) < node.min_length:
        return [in_body(name, at, value, f"should be at least {node.min_length} chars long")]
    if node.pattern and not matcher(node.pattern)(value):
        return [in_body(name, at, value, f"should match '{node.pattern}'")]
    return []


def _items(value: list[Any], node: Node, name: str, at: Path, old: Correlation | None) -> Outcome:
    outcome = Outcome(met=1)
    if node.items is not None:
        for n, item in enumerate(value):
            before = old.index(n) if old is not None else None
            outcome.merge(_ratcheted(item, node.items, f"{name}[{n}]", (*at, n), before))
    if node.min_items is not None and len(value) < node.min_items:
        outcome.add(in_body(name, at, len(value), f"should have at least {node.min_items} items"))
    if node.max_items is not None and len(value) > node.max_items:
        outcome.add(too_many(_display_name(name), len(value), node.max_items, path=at))
    return outcome


def _fields(value: dict[str, Any], node: Node, name: str, at: Path, old: Correlation | None) -> Outcome:
    outcome = Outcome()
    if node.min_properties is not None and len(value) < node.min_properties:
        outcome.add(in_body(name, at, len(value), f"should have at least {node.min_properties} properties"))
    if node.max_properties is not None and len(value) > node.max_properties:
        outcome.add(too_many(_display_name(name), len(value), node.max_properties, path=at))
    extra = [key for key in value if key not in node.properties] if node.has_additional else []
    if node.forbids_additional:
        outcome.add(
            *(
                invalid(
                    _display_name(name), key, f"{name}.{key} in body is a forbidden property", path=(*at, key)
                )
                for key in extra
            )
        )
    elif node.additional is not None:
        for key in extra:
            outcome.merge(_field(value, node.additional, key, f"{name}.{key}", at, old))
    for key, child in node.properties.items():
        if key in value:
            outcome.merge(_field(value, child, key, f"{name}.{key}" if name else key, at, old))
    outcome.add(
        *(
            required(_display_name(f"{name}.{key}"), path=(*at, key))
            for key in node.required
            if key not in value
        )
    )
    return outcome


def _field(
    value: dict[str, Any], node: Node, key: str, name: str, at: Path, old: Correlation | None
) -> Outcome:
    before = old.key(key) if old is not None and (at or key not in _TYPE_META) else None
    return _ratcheted(value[key], node, name, (*at, key), before)


def _junctions(value: Any, node: Node, name: str, at: Path) -> Outcome:
    # No ratcheting inside branches, only for the node that contains them.
    outcome = Outcome(met=1)
    if node.any_of:
        branches = [_outcome(value, item, name, at, None) for item in node.any_of]
        good = next((branch for branch in branches if not branch.errors), None)
        if good is None:
            outcome.add(_about_all(at, f"{go_quote(name)} must validate at least one schema (anyOf)"))
        outcome.merge(good if good is not None else max(branches, key=lambda item: item.met))
    if node.one_of:
        branches = [_outcome(value, item, name, at, None) for item in node.one_of]
        valid = [branch for branch in branches if not branch.errors]
        if len(valid) == 1:
            outcome.merge(valid[0])
        else:
            count = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
            outcome.add(
                _about_all(at, f"{go_quote(name)} must validate one and only one schema (oneOf). {count}")
            )
            if not valid:
                outcome.merge(max(branches, key=lambda item: item.met))
    if node.all_of:
        branches = [_outcome(value, item, name, at, None) for item in node.all_of]
        for branch in branches:
            outcome.merge(branch)
        valid = [branch for branch in branches if not branch.errors]
        if len(valid) != len(branches):
            suffix = "" if valid else ". None validated"
            outcome.add(_about_all(at, f"{go_quote(name)} must validate all the schemas (allOf){suffix}"))
    if node.negated is not None and not _outcome(value, node.negated, name, at, None).errors:
        outcome.add(_about_all(at, f"{go_quote(name)} must not validate the schema (not)"))
    return outcome


def embedding_routes(node: Node) -> Routes:
    """The routes to embedded resources."""
    return routes_to(node, lambda item: item.embedded)


def embedded_errors(
    value: Any, node: Node, embedding: Routes, at: Path = (), field: str = ""
) -> Iterator[FieldError]:
    """The errors of apiVersion, kind and metadata of the embedded resources."""
    if node not in embedding:
        return
    if isinstance(value, list) and node.items is not None:
        for n, item in enumerate(value):
            yield from embedded_errors(item, node.items, embedding, (*at, n), f"{field}[{n}]")
    elif isinstance(value, dict):
        if node.embedded:
            yield from _resource_errors(value, at, f"{field}." if field else "")
        for name, item in value.items():
            if (child := node.child(name)) is not None:
                yield from embedded_errors(item, child, embedding, (*at, name), node.field_name(field, name))


def _resource_errors(value: dict[str, Any], at: Path, prefix: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        path = (*at, name)
        match value.get(name):
            case None if name not in value:
                yield required(f"{prefix}{name}", path=path)
            case "":
                yield invalid(f"{prefix}{name}", "", "must not be empty", path=path)
            case str() as text if name == "kind" and (problems := dns_label_1035_problems(text.lower())):
                problem = "may have mixed case, but should otherwise match: " + ",".join(problems)
                yield invalid(f"{prefix}{name}", text, problem, path=path)
            case str() as text if name == "apiVersion" and text.count("/") > 1:
                yield invalid(f"{prefix}{name}", text, f"unexpected GroupVersion string: {text}", path=path)
            case str():
                pass
            case other:
                yield invalid(f"{prefix}{name}", other, "must be a string", path=path)
    if not isinstance(value.get("metadata", {}), dict):
        # Upstream's message names a Go type. Callers need the field and the reason.
        yield invalid(f"{prefix}metadata", value["metadata"], "must be an object", path=(*at, "metadata"))
