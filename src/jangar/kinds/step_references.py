"""The objects that a step names: its Agent, Tool, Orchestration, policy or signal.

Reads the typed fields and the older form inside `with` (a plain name or `{"name": ...}`), which counts if the typed
field is absent.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic.alias_generators import to_camel

from jangar.api.meta import NameRef
from jangar.api.orchestration import Step
from jangar.api.problems import Problem
from jangar.api.reasons import Reason

IMPLEMENTATION = "implementation"

_ATTRIBUTES = {to_camel(name): name for name in Step.model_fields}
_PLAIN_NAME = re.compile(r"""[^\s{}"']+""")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReferences:
    """Which objects the steps of a kind name."""

    required: tuple[tuple[str, ...], ...] = ()
    """Groups of fields; each step needs at least one field of each group."""
    target_field: str | None = None
    """The field with the object that the step's child runs."""

    def target(self, step: Step) -> str | None:
        """Name of the object that the step's child runs."""
        return reference_name(step, self.target_field) if self.target_field else None

    def problems(self, step: Step) -> Iterator[Problem]:
        """A problem for each group without a field, with paths relative to the step."""
        for fields in self.required:
            if any(_has_reference(step, field) for field in fields):
                continue
            unreadable = next((field for field in fields if field in (step.with_ or {})), None)
            if unreadable:
                yield Problem(
                    reason=Reason.MISSING_REFERENCE,
                    path=("with", unreadable),
                    message=f'with.{unreadable} is neither a name nor {{"name": ...}}',
                    fix=f"set {unreadable} on the step itself",
                )
            else:
                yield Problem(
                    reason=Reason.MISSING_REFERENCE,
                    path=(fields[0],),
                    message=f"a step of kind {step.kind} needs {' or '.join(fields)}",
                    fix=f"add {fields[0]}",
                )

    def legacy_keys(self, step: Step) -> frozenset[str]:
        """Keys of `with` that were read as references, and so are not parameters of the child."""
        fields = (field for group in self.required for field in group if field != IMPLEMENTATION)
        return frozenset(
            field
            for field in fields
            if not _typed_name(step, field) and _legacy_name(step, field) is not None
        )


NO_REFERENCES = StepReferences()


def reference_name(step: Step, field: str) -> str | None:
    """The name in one reference field, such as `policyRef`, from either form."""
    return _typed_name(step, field) or _legacy_name(step, field)


def _has_reference(step: Step, field: str) -> bool:
    if field == IMPLEMENTATION:
        given = step.implementation
        return given is not None and (given.inline is not None or bool(given.text))
    return reference_name(step, field) is not None


def _typed_name(step: Step, field: str) -> str | None:
    given = getattr(step, _ATTRIBUTES[field])
    name = given.name if isinstance(given, NameRef) else given
    return (name or "").strip() or None


def _legacy_name(step: Step, field: str) -> str | None:
    given = (step.with_ or {}).get(field, "").strip()
    if given.startswith("{"):
        return _name_in_json(given)
    return given if _PLAIN_NAME.fullmatch(given) else None


def _name_in_json(text: str) -> str | None:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = read.get("name") if isinstance(read, dict) else None
    return name.strip() or None if isinstance(name, str) else None
