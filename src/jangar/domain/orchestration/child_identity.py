"""The hash by which a run recognizes the child of an attempt.

A name and an owner reference prove nothing: anybody who may create the kind can write both. The run records the hash
before it creates the child, and the child's uid once it exists; an object that has neither is not the run's.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from pydantic import ValidationError

from jangar.kinds.step_adapter import StepAdapter

STEERING_FIELDS: Final = ("cancel", "desiredState", "suspend", "ttlSecondsAfterFinished")
"""Fields that may change while a child runs; they are not part of its identity."""


def child_hash(
    adapter: StepAdapter, spec: Mapping[str, Any], *, run_uid: str, step: str, attempt: str, lineage: str
) -> str | None:
    """sha256 of a child's identity; None for a spec that no step of the kind creates.

    The spec is read through its model, so defaults that an API server adds do not change the hash.
    """
    if adapter.child is None:
        return None
    try:
        model = adapter.child.spec.model_validate(spec)
    except ValidationError:
        return None
    fields = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    identity = {
        "kind": str(adapter.name),
        "runUid": run_uid,
        "step": step,
        "attempt": attempt,
        "lineage": lineage if adapter.called_orchestration is not None else "",
        "spec": _canonical({name: value for name, value in fields.items() if name not in STEERING_FIELDS}),
    }
    return sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """The value with whole floats as integers: an API server stores 1.0 as 1."""
    match value:
        case Mapping():
            return {name: _canonical(item) for name, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
