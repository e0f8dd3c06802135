"""How the status of an object that only declares something may change: no times of a run, Ready or Invalid.

The twin of `status_contract` for definitions; Orchestrations, Agents, Tools and their like all go through it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import DefinitionPhase
from jangar.api.problems import Problem
from jangar.domain.conditions import Claim, Condition, merge
from jangar.domain.status_contract import conditions_from, conditions_to, time_from, time_to
from jangar.domain.times import whole_millisecond

DEFINITION_FIELDS = frozenset({"phase", "observedGeneration", "updatedAt", "conditions"})
"""The status fields that this module knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionStatus:
    """The part of a status that every definition has."""

    phase: DefinitionPhase | None = None
    observed_generation: int | None = None
    updated_at: datetime | None = None
    conditions: tuple[Condition, ...] = ()


def definition_phase(problems: Sequence[Problem]) -> DefinitionPhase:
    """Invalid with the first problem; an object that is named and does not exist yet is none."""
    return DefinitionPhase.INVALID if problems else DefinitionPhase.READY


def advance_definition(
    old: DefinitionStatus, *, phase: DefinitionPhase, generation: int, claims: Iterable[Claim], now: datetime
) -> DefinitionStatus:
    """The status after a pass that found this; `old` itself when nothing but the time would change."""
    found = replace(
        old,
        phase=phase,
        observed_generation=max(generation, old.observed_generation or 0),
        conditions=merge(old.conditions, claims, generation=generation, now=now),
    )
    return old if found == old else replace(found, updated_at=whole_millisecond(now))


def definition_status_from(doc: Mapping[str, Any]) -> DefinitionStatus:
    """Read from a status; raises ValueError for a phase or time that is none."""
    return DefinitionStatus(
        phase=DefinitionPhase(doc["phase"]) if doc.get("phase") else None,
        observed_generation=doc.get("observedGeneration"),
        updated_at=time_from(doc, "updatedAt"),
        conditions=conditions_from(doc.get("conditions") or ()),
    )


def definition_status_to(status: DefinitionStatus) -> JsonObject:
    """Written into a status; what is not set is left out."""
    doc = {
        "phase": status.phase and str(status.phase),
        "observedGeneration": status.observed_generation,
        "updatedAt": time_to(status.updated_at),
        "conditions": conditions_to(status.conditions) or None,
    }
    return {name: value for name, value in doc.items() if value is not None}
