"""Admits and validates objects in the order of the server: prune, drop nulls, apply defaults; then validate.

The caller is responsible for the metadata of the resource itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self

import jsonschema_rs

from picokube.schema.cel.rules import RuleSet
from picokube.schema.errors import NO_FIELD, ErrorType, FieldError, UnknownField
from picokube.schema.node import Node, Routes
from picokube.schema.pruning import apply_defaults, default_routes, drop_nulls, prune
from picokube.schema.validation import value_checks
from picokube.schema.validation.correlation import Correlation, duplicates, keyed_routes
from picokube.schema.validation.fast_validator import (
    PassedObjects,
    compile_fast_validator,
    has_long_list,
    list_routes,
    without_passed_items,
)
from picokube.schema.validation.value_checks import embedded_errors, embedding_routes, value_errors


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledSchema:
    """The openAPIV3Schema of one version of a kind."""

    source: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Self:
        """Compile a schema. CEL rules are compiled at first use. Raises SchemaRejected."""
        compiled = cls(source=schema)
        _ = compiled.gate
        return compiled

    @classmethod
    def later(cls, schema: Mapping[str, Any]) -> Self:
        """For a schema that was validated before: each part is compiled at first use."""
        return cls(source=schema)

    @cached_property
    def root(self) -> Node:
        """The root node of the schema."""
        return Node.of(self.source)

    @cached_property
    def gate(self) -> jsonschema_rs.Draft202012Validator:
        """The fast validator. Objects that fail need the full validation."""
        return compile_fast_validator(self.root)

    @cached_property
    def defaulted(self) -> Routes:
        """The routes to nodes with defaults."""
        return default_routes(self.root)

    @cached_property
    def keyed(self) -> Routes:
        """The routes to lists of type set or map."""
        return keyed_routes(self.root)

    @cached_property
    def embedding(self) -> Routes:
        """The routes to embedded resources."""
        return embedding_routes(self.root)

    @cached_property
    def lists(self) -> Routes:
        """The routes to lists whose unchanged items the fast validator can skip."""
        return list_routes(self.root)

    @cached_property
    def passed(self) -> PassedObjects:
        """Objects that passed the fast validator."""
        return PassedObjects()

    @cached_property
    def rules(self) -> RuleSet | None:
        """The compiled x-kubernetes-validations, if the schema has any."""
        return RuleSet.of(self.root)


_BLOCKING: Final = frozenset(
    {
        ErrorType.NOT_SUPPORTED,
        ErrorType.REQUIRED,
        ErrorType.TOO_LONG,
        ErrorType.TOO_MANY,
        ErrorType.TYPE_INVALID,
    }
)


def admit(
    schema: CompiledSchema, obj: Mapping[str, Any], known: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], list[UnknownField]]:
    """A pruned copy of `obj` with defaults, and the dropped unknown fields.

    Shares values that are identical in the `known` resource, which this schema admitted before.
    """
    pruned = prune(obj, schema.root, known)
    admitted = pruned.kept
    if pruned.has_nulls:
        drop_nulls(admitted, schema.root)
    fill(schema, admitted, known)
    return admitted, pruned.unknown


def fill(schema: CompiledSchema, obj: dict[str, Any], known: Mapping[str, Any] | None = None) -> None:
    """Apply defaults in place. Skips values shared with `known`, which have them."""
    if schema.defaulted:
        apply_defaults(obj, schema.root, schema.defaulted, known)


def check(
    schema: CompiledSchema, obj: Mapping[str, Any], *, old: Mapping[str, Any] | None = None
) -> list[FieldError]:
    """The errors of an admitted object, in the order of the server.

    With `old` it is an update: errors in unchanged values are ignored, and rules with oldSelf run.
    """
    return _with_rules(schema, obj, old, schema_errors(schema, obj, old=old))


def check_status(
    schema: CompiledSchema, obj: Mapping[str, Any], *, old: Mapping[str, Any]
) -> list[FieldError]:
    """The errors of a status update. Outside of the status, only rules are checked."""
    errors: list[FieldError] = []
    node = schema.root.properties.get("status")
    if node is not None and "status" in obj and not _passes(schema, obj, old):
        before = Correlation(obj, old, schema.root).key("status")
        errors.extend(_inside("status", error) for error in value_errors(obj["status"], node, old=before))
    errors.extend(_duplicate_errors(schema, obj, old))
    return _with_rules(schema, obj, old, errors)


def _inside(name: str, error: FieldError) -> FieldError:
    field = name if error.field == NO_FIELD else f"{name}.{error.field}"
    return replace(error, field=field, path=(name, *error.path))


def _with_rules(
    schema: CompiledSchema, obj: Mapping[str, Any], old: Mapping[str, Any] | None, errors: list[FieldError]
) -> list[FieldError]:
    if schema.rules is None:
        return errors
    if any(error.type in _BLOCKING for error in errors):
        return [*errors, value_checks.rules_not_run()]
    return [*errors, *schema.rules.errors(obj, old)]


def schema_errors(
    schema: CompiledSchema, obj: Mapping[str, Any], *, old: Mapping[str, Any] | None = None
) -> list[FieldError]:
    """The errors of the schema without CEL rules."""
    errors: list[FieldError] = []
    if not _passes(schema, obj, old):
        before = Correlation(obj, old, schema.root) if old is not None else None
        errors.extend(value_errors(obj, schema.root, old=before))
    if schema.embedding:
        errors.extend(embedded_errors(obj, schema.root, schema.embedding))
    errors.extend(_duplicate_errors(schema, obj, old))
    return errors


def _duplicate_errors(
    schema: CompiledSchema, obj: Mapping[str, Any], old: Mapping[str, Any] | None
) -> list[FieldError]:
    repeated = duplicates(obj, schema.root, schema.keyed) if schema.keyed else []
    # A list with duplicates may keep them.
    forgiven = repeated and old is not None and duplicates(old, schema.root, schema.keyed)
    return [] if forgiven else repeated


def _passes(schema: CompiledSchema, obj: Mapping[str, Any], old: Mapping[str, Any] | None) -> bool:
    known = old is not None and old in schema.passed
    shown = without_passed_items(obj, old, schema.root, schema.lists) if known else obj
    try:
        passes = schema.gate.is_valid(shown)
    except ValueError:
        # The fast validator can't read values such as lone surrogates. The full validation can.
        return False
    if passes and schema.root in schema.lists and has_long_list(obj, schema.root, schema.lists):
        schema.passed.replace(old, obj)
    return passes
