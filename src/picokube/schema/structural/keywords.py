"""Validates the keywords, list types and CEL rules of a schema, with the messages of Kubernetes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from picokube.schema.cel.costs import capped
from picokube.schema.cel.declarations import MAX_REQUEST, declare
from picokube.schema.cel.rules import CompiledRule
from picokube.schema.errors import FieldError, Path, forbidden, internal, invalid, not_supported, required
from picokube.schema.go_text import Struct
from picokube.schema.node import UNSUPPORTED, Node, Rule, field_path, is_readable, place

_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_MOST_NAMED: Final = 4
_FAR: Final = 100
_NEAR: Final = 1.5
_VALIDATIONS: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LIST: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_Schema = Mapping[str, Any]
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class RuleCost:
    """The maximum cost of an expression of a schema for one object."""

    at: Path
    cost: int

    def problems(self, what: str) -> Iterator[FieldError]:
        if self.cost > _LIMIT:
            yield forbidden(place(self.at), _exceeds(what, self.cost, _LIMIT), path=self.at)


def total_problems(costs: Sequence[RuleCost]) -> Iterator[FieldError]:
    """The errors if the total cost exceeds its limit: for the most expensive rules and the total."""
    total = capped(sum(cost.cost for cost in costs))
    if total <= _TOTAL_LIMIT:
        return
    expensive = [cost for cost in costs if cost.cost >= _TOTAL_LIMIT // 100]
    for item in sorted(expensive, key=lambda item: -item.cost)[:_MOST_NAMED]:
        problem = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        yield forbidden(place(item.at), problem, path=item.at)
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    yield forbidden("", _exceeds(what, total, _TOTAL_LIMIT))


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    times = f"{factor:f}x" if factor < _NEAR else f"{factor:.1f}x" if factor <= _FAR else "more than 100x"
    hint = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
    return f"{what} exceeds budget by factor of {times} ({hint}are declared)"


def rule_shape_problems(schema: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    """The errors of message, reason and fieldPath of a rule."""
    for n, rule in enumerate(schema.get(_VALIDATIONS) or ()):
        where = (*at, _VALIDATIONS, n)
        text, message = rule.get("rule") or "", rule.get("message") or ""
        if not text.strip():
            yield required(place((*where, "rule")), "rule is not specified", path=where)
        elif message and not message.strip():
            yield invalid(place((*where, "message")), message, "must be non-empty if specified", path=where)
        elif "\n" in message.strip():
            yield invalid(place((*where, "message")), message, "must not contain line breaks", path=where)
        elif "\n" in text.strip() and not message.strip():
            problem = "message must be specified if rule contains line breaks"
            yield required(place((*where, "message")), problem, path=where)
        expression = rule.get("messageExpression") or ""
        if expression and not expression.strip():
            problem = "messageExpression must be non-empty if specified"
            yield required(place((*where, "messageExpression")), problem, path=where)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield not_supported(place((*where, "reason")), reason, _REASONS, path=where)
        yield from _target_problems(schema, rule.get("fieldPath") or "", where)


def _target_problems(schema: Mapping[str, Any], target: str, where: Path) -> Iterator[FieldError]:
    if not target:
        return
    name = place((*where, "fieldPath"))
    if not target.strip():
        yield invalid(name, target, "must be non-empty if specified", path=where)
    if "\n" in target:
        yield invalid(name, target, "must not contain line breaks", path=where)
    if is_readable(schema) and field_path(target, Node.of(schema)) is None:
        yield invalid(name, target, "must be a valid path", path=where)


def rule_problems(
    node: Node, at: Path, uncorrelatable_at: Path | None, *, root: bool, times: int | None
) -> tuple[list[FieldError], list[RuleCost]]:
    """The errors of rules that don't compile, cost too much, or use oldSelf where values can't be correlated.

    Also returns the cost of each rule for the maximum number of values: `times` if the schema limits it, else the
    number of values that fit into a request.
    """
    declaration = declare(node, root=root)
    if declaration is None:
        problem = "internal error: failed to construct type information for x-kubernetes-validations rules: "
        problem += "unable to convert structural schema to CEL declarations"
        return [internal(place((*at, _VALIDATIONS)), problem, path=at)], []
    times = MAX_REQUEST // (declaration.min_size + 1) if times is None else times
    problems: list[FieldError] = []
    costs: list[RuleCost] = []
    for n, rule in enumerate(node.rules):
        where = (*at, _VALIDATIONS, n)
        compiled = CompiledRule.of(rule, node, declaration, estimated=True)
        cost = RuleCost((*where, "rule"), capped(compiled.cost * times))
        costs.append(cost)
        problems += cost.problems("estimated rule cost")
        if compiled.error:
            problems.append(invalid(place((*where, "rule")), _shown(rule), compiled.error, path=where))
        name = place((*where, "messageExpression"))
        if compiled.message_error:
            problems.append(invalid(name, _shown(rule), compiled.message_error, path=where))
        elif compiled.message is not None:
            cost = RuleCost((*where, "messageExpression"), compiled.message_cost)
            costs.append(cost)
            problems += cost.problems("estimated messageExpression cost")
        problems += _old_self_problems(compiled, where, uncorrelatable_at)
    return problems, costs


def _old_self_problems(
    compiled: CompiledRule, where: Path, uncorrelatable: Path | None
) -> Iterator[FieldError]:
    if compiled.uses_old and uncorrelatable is not None:
        # A placeholder for the path prefix, which the caller adds.
        portion = f"\0{place(uncorrelatable)}" if uncorrelatable else "\0"
        problem = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {portion}"
        yield invalid(place((*where, "rule")), compiled.rule.rule, problem, path=where)
    if not compiled.uses_old and compiled.rule.optional_old_self:
        problem = "may not be set if oldSelf is not used in rule"
        yield invalid(place((*where, "optionalOldSelf")), True, problem, path=where)


def _shown(rule: Rule) -> Struct:
    """The rule formatted like its Go struct."""
    return Struct(
        Rule=rule.rule,
        Message=rule.message,
        MessageExpression=rule.message_expression,
        Reason=rule.reason or None,
        FieldPath=rule.field_path,
        OptionalOldSelf=rule.optional_old_self or None,
    )


def list_problems(schema: _Schema, at: Path) -> Iterator[FieldError]:
    """The errors of the list type of a schema."""
    kind, list_type = schema.get("type", ""), schema.get(_LIST)
    items = schema["items"] if isinstance(schema.get("items"), dict) else None
    if list_type is not None and kind != "array":
        problem, name = f"must be array if {_LIST} is specified", place((*at, "type"))
        yield invalid(name, kind, problem, path=at) if kind else required(name, problem, path=at)
    elif list_type == "set" and items is not None:
        yield from _set_items(items, at)
    if list_type is not None and list_type not in {"atomic", "set", "map"}:
        yield not_supported(place((*at, _LIST)), list_type, ("atomic", "set", "map"), path=at)
    if schema.get(_KEYS) and list_type != "map":
        problem, name = f"must be map if {_KEYS} is non-empty", place((*at, _LIST))
        yield (
            required(name, problem, path=at)
            if list_type is None
            else invalid(name, list_type, problem, path=at)
        )
    if list_type == "map":
        yield from _map_keys(schema, items, at)
    if list_type in {"set", "map"} and items is not None:
        yield from _item_problems(schema, items, at)


def _set_items(items: _Schema, at: Path) -> Iterator[FieldError]:
    problem = f"must be atomic as item of a list with {_LIST}=set"
    inner = items.get(_LIST)
    if items.get("type") == "array" and inner not in {None, "atomic"}:
        yield invalid(place((*at, "items", _LIST)), inner, problem, path=at)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(place((*at, "items", "x-kubernetes-map-type")), inner, problem, path=at)


def _map_keys(schema: _Schema, items: _Schema | None, at: Path) -> Iterator[FieldError]:
    keys = schema.get(_KEYS) or []
    if not keys:
        yield required(place((*at, _KEYS)), f"must not be empty if {_LIST} is map", path=at)
    if schema.get("items") is None:
        yield required(place((*at, "items")), f"must have a schema if {_LIST} is map", path=at)
    if items is None:
        return
    if items.get("type") != "object":
        problem = f"must be object if parent array's {_LIST} is map"
        yield invalid(place((*at, "items", "type")), items.get("type", ""), problem, path=at)
        return
    properties = items.get("properties") or {}
    for n, key in enumerate(keys):
        if key not in properties:
            problem = "entries must all be names of item properties"
            yield invalid(place((*at, _KEYS)), keys, problem, path=at)
        elif properties[key].get("type") in {"array", "object"}:
            problem = f"must be a scalar type if parent array's {_LIST} is map"
            yield invalid(place((*at, "items", "properties", key, "type")), "object", problem, path=at)
        if key in keys[:n]:
            yield invalid(place((*at, _KEYS)), keys, "must not contain duplicate entries", path=at)


def _item_problems(schema: _Schema, items: _Schema, at: Path) -> Iterator[FieldError]:
    if items.get("nullable"):
        problem = f"cannot be nullable when {_LIST} is {schema[_LIST]}"
        yield forbidden(place((*at, "items", "nullable")), problem, path=at)
    if schema[_LIST] != "map":
        return
    properties = items.get("properties") or {}
    for key in schema.get(_KEYS) or ():
        if key not in properties:
            continue
        inside = (*at, "items", "properties", key)
        if key not in (items.get("required") or ()) and properties[key].get("default") is None:
            problem = f"this property is in {_KEYS}, so it must have a default or be a required property"
            yield required(place((*inside, "default")), problem, path=inside)
        if properties[key].get("nullable"):
            problem = f"this property is in {_KEYS}, so it cannot be nullable"
            yield forbidden(place((*inside, "nullable")), problem, path=inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """The location of a schema and what is forbidden there."""

    at: Path = ()
    no_defaults: str | None = None
    inside_metadata: bool = False
    uncorrelatable_at: Path | None = None
    times: int | None = 1
    """The maximum number of values of an object at this location. None if unbounded."""

    def below(self, *steps: str | int) -> "Location":
        return replace(self, at=(*self.at, *steps))

    def field(self, *steps: str | int) -> str:
        at = (*self.at, *steps)
        return place(at) if at else ""


def keyword_problems(schema: _Schema, *, with_rules: bool) -> list[FieldError]:
    """The errors of a schema and its nested schemas, including rules if the schema is readable."""
    errors = _problems(schema, Location(), with_rules=with_rules, root=True)
    return [*errors.schemas, *errors.rules, *total_problems(errors.costs)]


@dataclass(slots=True)
class _Errors:
    schemas: list[FieldError] = field(default_factory=list)
    rules: list[FieldError] = field(default_factory=list)
    costs: list[RuleCost] = field(default_factory=list)


def _problems(schema: _Schema, where: Location, *, with_rules: bool, root: bool = False) -> _Errors:
    errors = _Errors([*_plain(schema, where)])
    for inner, place_of_it, ruled in _inner(schema, where, root=root):
        more = _problems(inner, place_of_it, with_rules=with_rules and ruled)
        errors.schemas += more.schemas
        errors.rules += more.rules
        errors.costs += more.costs
    errors.schemas += _extensions(schema, where)
    errors.schemas += list_problems(schema, where.at)
    errors.schemas += rule_shape_problems(schema, where.at)
    if with_rules and schema.get("x-kubernetes-validations") and not errors.schemas:
        node = Node.of(schema)
        rules, costs = rule_problems(
            node, where.at, where.uncorrelatable_at, root=root or node.embedded, times=where.times
        )
        errors.rules += rules
        errors.costs += costs
    return errors


def _plain(schema: _Schema, where: Location) -> Iterator[FieldError]:
    kind, path = schema.get("type", ""), where.at
    if kind and kind not in _TYPES:
        yield not_supported(where.field("type"), kind, _TYPES, path=path)
    if schema.get("default") is not None and where.no_defaults is not None:
        detail = " ".join(item for item in ("must not be set", where.no_defaults) if item)
        yield forbidden(where.field("default"), detail, path=path)
    for keyword in UNSUPPORTED:
        if schema.get(keyword) or (
            keyword in {"dependencies", "additionalItems", "$ref"} and keyword in schema
        ):
            yield forbidden(where.field(keyword), f"{keyword} is not supported", path=path)
    if kind == "null":
        problem = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(where.field("type"), problem, path=path)
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(where.field("items"), "items must be a schema object and not an array", path=path)
    if where.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        problem = "must not be used inside of resource meta"
        yield forbidden(where.field("x-kubernetes-embedded-resource"), problem, path=path)
    if schema.get("uniqueItems"):
        problem = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(where.field("uniqueItems"), problem, path=path)
    additional = schema.get("additionalProperties")
    if schema.get("properties") and (additional is False or isinstance(additional, dict)):
        problem = "additionalProperties and properties are mutual exclusive"
        yield forbidden(where.field("additionalProperties"), problem, path=path)


def _inner(schema: _Schema, where: Location, *, root: bool) -> Iterator[tuple[_Schema, Location, bool]]:
    """The nested schemas, their locations, and whether their rules are checked."""
    additional = schema.get("additionalProperties")
    times = _times(schema, where)
    below = where if times == where.times else replace(where, times=times)
    if isinstance(additional, dict):
        inside = below.below("additionalProperties")
        if where.inside_metadata:
            inside = replace(inside, no_defaults="inside additionalProperties applying to object metadata")
        yield additional, inside, True
    resource = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, item in (schema.get("properties") or {}).items():
        inside = below.below("properties", name)
        if resource and name in _META:
            inside = replace(inside, inside_metadata=True)
            inside = replace(inside, no_defaults=f"in top-level {name}") if root else inside
        yield item, inside, True
    if schema.get("not") is not None:
        yield schema["not"], below.below("not"), False
    for keyword in ("allOf", "oneOf", "anyOf"):
        for n, item in enumerate(schema.get(keyword) or ()):
            yield item, below.below(keyword, n), False
    if isinstance(schema.get("items"), dict):
        inside = below.below("items")
        if schema.get("x-kubernetes-list-type") != "map" and inside.uncorrelatable_at is None:
            inside = replace(inside, uncorrelatable_at=where.at)
        yield schema["items"], inside, True


def _times(schema: _Schema, where: Location) -> int | None:
    """The maximum number of values of nested schemas in an object."""
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            most = schema.get("maxProperties")
        case "array":
            most = schema.get("maxItems")
        case _:
            most = 1
    return None if most is None or where.times is None else capped(where.times * max(most, 0))


def _extensions(schema: _Schema, where: Location) -> Iterator[FieldError]:
    kind, path = schema.get("type", ""), where.at
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        keyword = "x-kubernetes-preserve-unknown-fields"
        yield invalid(where.field(keyword), False, "must be true or undefined", path=path)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and kind != "object":
        problem = "must be object if x-kubernetes-map-type is specified"
        name = where.field("type")
        yield invalid(name, kind, problem, path=path) if kind else required(name, problem, path=path)
    if map_type is not None and map_type not in {"atomic", "granular"}:
        yield not_supported(where.field("x-kubernetes-map-type"), map_type, ("atomic", "granular"), path=path)
