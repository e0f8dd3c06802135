"""Validates the CEL rules of a schema: their fields, compilation and cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from picokube.schema.cel.costs import capped
from picokube.schema.cel.declarations import MAX_REQUEST, declared
from picokube.schema.cel.rules import CompiledRule
from picokube.schema.errors import FieldError, Path, forbidden, internal, invalid, not_supported, required
from picokube.schema.go_text import Struct
from picokube.schema.node import Node, Rule, field_path, is_readable, place

_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_MOST_NAMED: Final = 4
_FAR: Final = 100
_NEAR: Final = 1.5


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


_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def rule_shape_problems(schema: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    """The errors of message, reason and fieldPath of a rule."""
    for n, rule in enumerate(schema.get(_RULES) or ()):
        where = (*at, _RULES, n)
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
    declaration = declared(node, root=root)
    if declaration is None:
        problem = "internal error: failed to construct type information for x-kubernetes-validations rules: "
        problem += "unable to convert structural schema to CEL declarations"
        return [internal(place((*at, _RULES)), problem, path=at)], []
    times = MAX_REQUEST // (declaration.min_size + 1) if times is None else times
    problems: list[FieldError] = []
    costs: list[RuleCost] = []
    for n, rule in enumerate(node.rules):
        where = (*at, _RULES, n)
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
