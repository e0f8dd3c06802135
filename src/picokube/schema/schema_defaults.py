"""Validates the defaults in a schema."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from picokube.schema.cel_rules import RuleSet
from picokube.schema.correlation import same_json
from picokube.schema.embedded import embedded_errors, embedding_routes
from picokube.schema.errors import NO_FIELD, FieldError, invalid
from picokube.schema.node import Node, place
from picokube.schema.pruning import prune, pruned_value
from picokube.schema.value_checks import value_errors


def default_problems(node: Node) -> Iterator[FieldError]:
    """The errors of defaults with unknown fields, or that violate their schema or rules."""
    if node.default is not None:
        field = f"{place(node.at)}.default" if node.at else "default"
        # The root is a resource, so its default must be a resource, too.
        yield from _problems(node if node.at else replace(node, embedded=True), node.default, field)
    if node.items is not None:
        yield from default_problems(node.items)
    for child in node.properties.values():
        yield from default_problems(child)


def _problems(node: Node, default: Any, field: str) -> Iterator[FieldError]:
    at = (*node.at, "default")
    kept = (
        prune(default, node).kept
        if node.embedded and isinstance(default, dict)
        else pruned_value(default, node)
    )
    if not same_json(kept, default):
        yield invalid(field, default, "must not have unknown fields", path=at)
    errors = [*embedded_errors(default, node, embedding_routes(node)), *value_errors(default, node)]
    if not errors:
        rules = RuleSet.of(node, root=node.embedded)
        errors = rules.errors(default, default) or rules.errors(default, None) if rules is not None else []
    for error in errors:
        inner = "" if error.field == NO_FIELD else error.field
        # Kubernetes writes a dot before the list index here.
        name = f"{field}.{inner}" if inner else field
        yield FieldError(
            type=error.type,
            field=name,
            bad_value=error.bad_value,
            detail=error.detail,
            path=(*at, *error.path),
        )
