"""How a status may change: times, phases, conditions and generations, for runs and for definitions (ST-5).

Times are truncated to milliseconds: a status that is read back equals the one that was written, and two writes within a
second differ. Conditions have whole seconds, as everywhere in Kubernetes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import TERMINAL, DefinitionPhase, Phase
from jangar.api.problems import Problem
from jangar.domain.conditions import (
    PHASE_BOUND,
    Claim,
    Condition,
    ConditionStatus,
    merge,
    truncate,
)
from kubekit.times import parse_rfc3339, rfc3339, whole_millisecond

LIFECYCLE_FIELDS = frozenset(
    {"phase", "reason", "message", "observedGeneration", "startedAt", "finishedAt", "updatedAt", "conditions"}
)
"""The status fields that this module knows: what a caller adds to its own for `keep_unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """The part of a status that every run and child has; empty for an object that was never looked at."""

    phase: Phase | None = None
    reason: str | None = None
    message: str | None = None
    observed_generation: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    updated_at: datetime | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def is_terminal(self) -> bool:
        return self.phase in TERMINAL


def advance(  # noqa: PLR0913 - each argument is one field of the status or one fact that a field needs
    old: Lifecycle,
    *,
    phase: Phase,
    reason: str | None,
    message: str | None,
    generation: int,
    claims: Iterable[Claim],
    now: datetime,
    children_finished_at: datetime | None = None,
    ran: bool = False,
) -> Lifecycle:
    """The status after a pass that found this; `old` itself when nothing but the time would change.

    `ran` says that the work was running at some moment, for a pass that sees its start and its end at once.
    """
    moment = whole_millisecond(now)
    if old.is_terminal:
        updated = replace(old, finished_at=_finished_at(old, old.started_at, moment, children_finished_at))
        claims = _without_contradiction(old, claims, phase)
    else:
        started_at = _started_at(old, phase, moment, ran=ran)
        updated = replace(
            old,
            phase=phase,
            reason=reason,
            message=truncate(message) if message else None,
            started_at=started_at,
            finished_at=_finished_at(old, started_at, moment, children_finished_at)
            if phase in TERMINAL
            else old.finished_at,
        )
    found = replace(
        updated,
        observed_generation=max(generation, old.observed_generation or 0),
        conditions=merge(old.conditions, claims, generation=generation, now=moment),
    )
    return old if found == old else replace(found, updated_at=moment)


def _started_at(old: Lifecycle, phase: Phase, moment: datetime, *, ran: bool) -> datetime | None:
    """Set on the first sight of Running, or of a later phase of work that ran; never after the end."""
    if old.started_at or not (phase is Phase.RUNNING or (ran and phase is not Phase.PENDING)):
        return old.started_at
    return min(moment, old.finished_at or moment)


def _finished_at(
    old: Lifecycle, started_at: datetime | None, moment: datetime, children_finished_at: datetime | None
) -> datetime:
    """Set once; not before the start, nor before any child's end, whatever the clock says."""
    if old.finished_at:
        return old.finished_at
    ends = [item for item in (started_at, children_finished_at) if item]
    return max([moment, *ends])


def _without_contradiction(old: Lifecycle, claims: Iterable[Claim], phase: Phase) -> list[Claim]:
    """Claims that a terminal object takes: what follows from its phase is final with the phase.

    Such conditions are repeated unchanged, to update their observedGeneration.
    """
    known = {condition.type: condition for condition in old.conditions}
    taken: list[Claim] = []
    for claim in claims:
        if claim.type not in PHASE_BOUND or (claim.type not in known and phase is old.phase):
            taken.append(claim)
        elif claim.type in known:
            kept = known[claim.type]
            taken.append(replace(claim, status=kept.status, reason=kept.reason, message=kept.message))
    return taken


def needs_write(old_doc: Mapping[str, Any], new_doc: Mapping[str, Any]) -> bool:
    """Whether the documents differ in anything but `updatedAt`. A null is the same as a field left out."""
    return not _is_equivalent(*({**doc, "updatedAt": None} for doc in (old_doc, new_doc)))


def _is_equivalent(old: Any, new: Any) -> bool:
    """Looks only into what is not equal: most of a large status is."""
    if old == new:
        return True
    match old, new:
        case Mapping(), Mapping():
            names = dict.fromkeys((*old, *new))
            return all(_is_equivalent(old.get(name), new.get(name)) for name in names)
        case list() | tuple(), list() | tuple():
            return len(old) == len(new) and all(map(_is_equivalent, old, new))
        case _:
            return False


def lifecycle_from(doc: Mapping[str, Any]) -> Lifecycle:
    """Read from a status; raises ValueError for a phase or time that is none."""
    return Lifecycle(
        phase=Phase(doc["phase"]) if doc.get("phase") else None,
        reason=doc.get("reason") or None,
        message=doc.get("message") or None,
        observed_generation=doc.get("observedGeneration"),
        started_at=time_from(doc, "startedAt"),
        finished_at=time_from(doc, "finishedAt"),
        updated_at=time_from(doc, "updatedAt"),
        conditions=conditions_from(doc.get("conditions") or ()),
    )


def conditions_from(docs: Iterable[Mapping[str, Any]]) -> tuple[Condition, ...]:
    """Read from `status.conditions`, other writers' included."""
    return tuple(
        Condition(
            type=doc["type"],
            status=ConditionStatus(doc["status"]),
            reason=doc.get("reason") or "",
            message=doc.get("message") or "",
            last_transition_time=time_from(doc, "lastTransitionTime"),
            observed_generation=doc.get("observedGeneration"),
        )
        for doc in docs
    )


def time_from(doc: Mapping[str, Any], field: str) -> datetime | None:
    """A time of a document, or None; raises ValueError that names the field."""
    text = doc.get(field)
    try:
        return parse_rfc3339(text) if text else None
    except ValueError as error:
        raise ValueError(f"{field}: {error}") from error


def lifecycle_to(lifecycle: Lifecycle) -> JsonObject:
    """Written into a status; what is not set is left out."""
    doc = {
        "phase": lifecycle.phase and str(lifecycle.phase),
        "reason": lifecycle.reason and str(lifecycle.reason),
        "message": lifecycle.message,
        "observedGeneration": lifecycle.observed_generation,
        "startedAt": time_to(lifecycle.started_at),
        "finishedAt": time_to(lifecycle.finished_at),
        "updatedAt": time_to(lifecycle.updated_at),
        "conditions": conditions_to(lifecycle.conditions) or None,
    }
    return {name: value for name, value in doc.items() if value is not None}


def conditions_to(conditions: Iterable[Condition]) -> list[JsonObject]:
    """Written as `status.conditions`."""
    return [_condition_to(condition) for condition in conditions]


def _condition_to(condition: Condition) -> JsonObject:
    doc = {
        "type": str(condition.type),
        "status": str(condition.status),
        "reason": str(condition.reason) or None,
        "message": condition.message,
        "lastTransitionTime": time_to(condition.last_transition_time),
        "observedGeneration": condition.observed_generation,
    }
    return {name: value for name, value in doc.items() if value is not None}


def time_to(moment: datetime | None) -> str | None:
    """The moment as a document carries it."""
    return rfc3339(moment) if moment else None


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
