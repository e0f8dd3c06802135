"""The full validation of a value, in the order and with the choices of kube-openapi's validator.

Runs only if the fast validator rejects an object, so it may be slow. It finds every error, and for anyOf reports the
branch that matches best.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Final

from picokube.schema import messages
from picokube.schema.correlation import Correlation, same_json
from picokube.schema.errors import FieldError, Path
from picokube.schema.formats import FORMATS
from picokube.schema.node import Node
from picokube.schema.number_checks import is_whole, number_errors
from picokube.schema.patterns import matcher

_TYPE_META: Final = frozenset({"apiVersion", "kind"})


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
            outcome.add(messages.wrong_type(name, at, node.types, "null"))
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
            outcome.add(messages.wrong_format(name, at, format_, value))


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
    found, types = json_type(value), node.types
    if found in types:
        outcome.met += 1
        return
    whole = found == "number" and "integer" in types and is_whole(value)
    fits = whole or (found == "integer" and "number" in types)
    numeric = "number" in types or "integer" in types
    if format_ and found not in {"string", "array"} and not fits:
        shown = {"integer": "int64", "number": "float64"}.get(found, "")
        outcome.add(messages.wrong_type(name, at, (format_,), shown))
    elif fits or (format_ and not numeric and found in {"string", "array"}):
        outcome.met += 1
    else:
        outcome.add(messages.wrong_type(name, at, types, found))


def _enum_errors(value: Any, node: Node, name: str, at: Path) -> list[FieldError]:
    if not node.enum or any(item is not None and _is_choice(value, item) for item in node.enum):
        return []
    return [messages.not_in_enum(name, at, value, node.enum)]


def _is_choice(value: Any, choice: Any) -> bool:
    numbers = (int, float)
    if isinstance(value, numbers) and isinstance(choice, numbers) and bool not in {type(value), type(choice)}:
        return math.isfinite(value) and type(choice)(value) == choice
    return same_json(value, choice)


def _text_errors(value: str, node: Node, name: str, at: Path) -> list[FieldError]:
    if node.max_length is not None and len(value) > node.max_length:
        return [messages.longer(name, at, node.max_length)]
    if node.min_length is not None and len(value) < node.min_length:
        return [messages.shorter(name, at, node.min_length, value)]
    if node.pattern and not matcher(node.pattern)(value):
        return [messages.unmatched(name, at, node.pattern, value)]
    return []


def _items(value: list[Any], node: Node, name: str, at: Path, old: Correlation | None) -> Outcome:
    outcome = Outcome(met=1)
    if node.items is not None:
        for n, item in enumerate(value):
            before = old.index(n) if old is not None else None
            outcome.merge(_ratcheted(item, node.items, f"{name}[{n}]", (*at, n), before))
    if node.min_items is not None and len(value) < node.min_items:
        outcome.add(messages.fewer_items(name, at, len(value), node.min_items, what="items"))
    if node.max_items is not None and len(value) > node.max_items:
        outcome.add(messages.more_items(name, at, len(value), node.max_items))
    return outcome


def _fields(value: dict[str, Any], node: Node, name: str, at: Path, old: Correlation | None) -> Outcome:
    outcome = Outcome()
    if node.min_properties is not None and len(value) < node.min_properties:
        outcome.add(messages.fewer_items(name, at, len(value), node.min_properties, what="properties"))
    if node.max_properties is not None and len(value) > node.max_properties:
        outcome.add(messages.more_items(name, at, len(value), node.max_properties))
    extra = [key for key in value if key not in node.properties] if node.has_additional else []
    if node.forbids_additional:
        outcome.add(*(messages.not_allowed(name, at, key) for key in extra))
    elif node.additional is not None:
        for key in extra:
            outcome.merge(_field(value, node.additional, key, f"{name}.{key}", at, old))
    for key, child in node.properties.items():
        if key in value:
            outcome.merge(_field(value, child, key, f"{name}.{key}" if name else key, at, old))
    outcome.add(*(messages.missing(f"{name}.{key}", (*at, key)) for key in node.required if key not in value))
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
            outcome.add(messages.none_of(name, at))
        outcome.merge(good if good is not None else max(branches, key=lambda item: item.met))
    if node.one_of:
        branches = [_outcome(value, item, name, at, None) for item in node.one_of]
        valid = [branch for branch in branches if not branch.errors]
        if len(valid) == 1:
            outcome.merge(valid[0])
        else:
            outcome.add(messages.not_one_of(name, at, len(valid)))
            if not valid:
                outcome.merge(max(branches, key=lambda item: item.met))
    if node.all_of:
        branches = [_outcome(value, item, name, at, None) for item in node.all_of]
        for branch in branches:
            outcome.merge(branch)
        valid = [branch for branch in branches if not branch.errors]
        if len(valid) != len(branches):
            outcome.add(messages.not_all_of(name, at, len(valid)))
    if node.negated is not None and not _outcome(value, node.negated, name, at, None).errors:
        outcome.add(messages.forbidden_shape(name, at))
    return outcome
