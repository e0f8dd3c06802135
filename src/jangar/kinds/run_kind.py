"""What a run kind is: an object that is started, steered, watched, kept in history and deleted after its retention."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jangar.api.kind import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """One run kind."""

    kind: Kind
    definition_field: str
    """Field of the spec that names what the run executes."""
    waits_for: Mapping[str, str] = field(default_factory=dict)
    """Fields of the spec that name objects which a run waits for, with the kinds of these objects."""
    plural_noun: str
    """Name of the kind in the reports of `jangar doctor`."""
    creates_jobs: bool = False
    """A run's work is a Job of its own."""
    owns_runs: bool = False
    """A run can be the owner of other runs."""

    @property
    def name(self) -> str:
        return self.kind.name

    def definition_name(self, spec: Mapping[str, Any]) -> str | None:
        """Name of the object that a run executes; None for a run with a definition of its own."""
        return (spec.get(self.definition_field) or {}).get("name")

    def awaited(self, obj: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Kind and name of each object that a run waits for."""
        spec = obj.get("spec") or {}
        return [
            (kind, name)
            for reference, kind in self.waits_for.items()
            if (name := (spec.get(reference) or {}).get("name"))
        ]
