"""Validates the rules of a schema: their fields, compilation and cost."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from picokube.schema.cel_compiled import CompiledRule
from picokube.schema.cel_declared import MAX_REQUEST, declared
from picokube.schema.cel_sizes import capped
from picokube.schema.errors import FieldError, Path, internal, invalid, not_supported, required
from picokube.schema.field_paths import field_path
from picokube.schema.go_text import Struct
from picokube.schema.node import Node, Rule, place
from picokube.schema.schema_costs import RuleCost
from picokube.schema.schema_reading import is_readable

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
