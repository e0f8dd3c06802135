"""What the server does with an object, in its order: prune, drop nulls, default; then validate.

Knows the steps; each has its own module. Metadata of the resource itself belongs to the caller.
"""

from collections.abc import Mapping
from typing import Any, Final

from jangar.schema import messages
from jangar.schema.compiled import CompiledSchema
from jangar.schema.correlation import Correlation
from jangar.schema.defaulting import apply_defaults, drop_nulls
from jangar.schema.embedded import embedded_errors
from jangar.schema.errors import ErrorType, FieldError
from jangar.schema.listtypes import duplicates
from jangar.schema.pruning import UnknownField, pruned
from jangar.schema.value_checks import value_errors

_BLOCKING: Final = frozenset(
    {
        ErrorType.NOT_SUPPORTED,
        ErrorType.REQUIRED,
        ErrorType.TOO_LONG,
        ErrorType.TOO_MANY,
        ErrorType.TYPE_INVALID,
    }
)


def admit(schema: CompiledSchema, obj: Mapping[str, Any]) -> tuple[dict[str, Any], list[UnknownField]]:
    """A pruned and defaulted copy of `obj`, and the fields that were dropped because no schema names them."""
    found = pruned(obj, schema.root)
    admitted = found.kept
    if found.has_nulls:
        drop_nulls(admitted, schema.root)
    if schema.defaulted:
        apply_defaults(admitted, schema.root, schema.defaulted)
    return admitted, found.unknown


def check(
    schema: CompiledSchema, obj: Mapping[str, Any], *, old: Mapping[str, Any] | None = None
) -> list[FieldError]:
    """All that is wrong with an admitted object, in the server's order.

    With `old` it is an update: what the update leaves alone is forgiven, and rules about oldSelf run.
    """
    errors = schema_errors(schema, obj, old=old)
    if schema.rules is not None:
        if any(error.type in _BLOCKING for error in errors):
            errors.append(messages.rules_not_run())
        else:
            errors.extend(schema.rules.errors(obj, old))
    return errors


def schema_errors(
    schema: CompiledSchema, obj: Mapping[str, Any], *, old: Mapping[str, Any] | None = None
) -> list[FieldError]:
    """What is wrong before any CEL rule is asked."""
    errors: list[FieldError] = []
    if not _passes(schema, obj):
        before = Correlation(obj, old, schema.root) if old is not None else None
        errors.extend(value_errors(obj, schema.root, old=before))
    if schema.embedding:
        errors.extend(embedded_errors(obj, schema.root, schema.embedding))
    if schema.keyed:
        repeated = duplicates(obj, schema.root, schema.keyed)
        # A list that held duplicates before may keep them.
        if repeated and (old is None or not duplicates(old, schema.root, schema.keyed)):
            errors.extend(repeated)
    return errors


def _passes(schema: CompiledSchema, obj: Mapping[str, Any]) -> bool:
    try:
        return schema.gate.is_valid(obj)
    except ValueError:
        # Values the gate cannot read, such as a lone surrogate: the slower checks can.
        return False
