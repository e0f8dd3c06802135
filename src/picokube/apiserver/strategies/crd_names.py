"""Which names a CustomResourceDefinition gets: those it asks for, unless another one of its group has them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from picokube.apiserver.strategies.checks import Json, JsonObject
from picokube.apiserver.strategies.crd_conditions import (
    CONFORMANT,
    ESTABLISHED,
    NAMES_ACCEPTED,
    approval,
    condition,
    condition_of,
    is_true,
    with_condition,
)

_NAMES = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


@dataclass(slots=True, kw_only=True)
class Taken:
    """Names that definitions of a group have."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def by(cls, definitions: Iterable[Json]) -> "Taken":
        """What these definitions, all of one group, were given."""
        taken = cls()
        for definition in definitions:
            names = accepted_names(definition)
            taken.resources |= {names.get("plural", ""), names.get("singular", "")}
            taken.resources.update(names.get("shortNames") or ())
            taken.kinds |= {names.get("kind", ""), names.get("listKind", "")}
        return taken


def accepted_names(definition: Json) -> JsonObject:
    """The names it was given so far, without the empty ones."""
    return _stated((definition.get("status") or {}).get("acceptedNames") or {})


def has_its_names(definition: Json) -> bool:
    """Whether it was given what it asks for."""
    return accepted_names(definition) == _stated(definition["spec"]["names"])


def is_served(definition: Json) -> bool:
    """Whether its objects can be asked for."""
    return is_true(definition, NAMES_ACCEPTED) or is_true(definition, ESTABLISHED)


def settled_status(definition: Json, taken: Taken, now: str) -> Json:
    """The status that a definition should have by its names and those of others; the one it has where that is right."""
    status: Json = definition.get("status") or {}
    if not has_its_names(definition):
        status = _named(definition, taken, now)
    if is_true({"status": status}, NAMES_ACCEPTED) and not is_true({"status": status}, ESTABLISHED):
        established = condition(
            ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted"
        )
        status = with_condition(status, established, now)
    stated = approval(definition)
    if stated is not None and not _says(condition_of({"status": status}, CONFORMANT) or {}, stated):
        status = with_condition(status, stated, now)
    return status


def _named(definition: Json, taken: Taken, now: str) -> Json:
    names, problem = _given(definition["spec"]["names"], accepted_names(definition), taken)
    verdict = problem or condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    before = condition_of(definition, NAMES_ACCEPTED)
    if names == accepted_names(definition) and before is not None and _says(before, verdict):
        found: Json = definition["status"]
        return found
    status = with_condition({**(definition.get("status") or {}), "acceptedNames": names}, verdict, now)
    if problem is not None and condition_of(definition, ESTABLISHED) is None:
        refused = condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
        status = with_condition(status, refused, now)
    return status


def _given(asked: Json, given: Json, taken: Taken) -> tuple[JsonObject, JsonObject | None]:
    """The names that it gets, and the last conflict. What cannot be had is left as it was."""
    names = dict(given)
    problem: JsonObject | None = None
    for name, used in (
        ("plural", taken.resources),
        ("singular", taken.resources),
        ("shortNames", taken.resources),
        ("kind", taken.kinds),
        ("listKind", taken.kinds),
    ):
        conflicts = _conflicts(asked.get(name), given.get(name), used)
        if conflicts:
            message = conflicts[0] if len(conflicts) == 1 else f"[{', '.join(conflicts)}]"
            reason = f"{name[0].upper()}{name[1:]}Conflict"
            problem = condition(NAMES_ACCEPTED, "False", reason, message)
        else:
            _set(names, name, asked.get(name))
    _set(names, "categories", asked.get("categories"))
    return names, problem


def _stated(names: Json) -> JsonObject:
    return {name: names[name] for name in _NAMES if names.get(name)}


def _conflicts(asked: Any, given: Any, used: set[str]) -> list[str]:
    wanted = asked if isinstance(asked, list) else [asked] if asked else []
    own = given if isinstance(given, list) else [given]
    found = [item for item in dict.fromkeys(wanted) if item not in own and item in used]
    return [f'"{item}" is already in use' for item in found]


def _set(names: JsonObject, name: str, value: Any) -> None:
    if value:
        names[name] = value
    else:
        names.pop(name, None)


def _says(one: Json, other: Json) -> bool:
    return all(one.get(name) == other.get(name) for name in ("type", "status", "reason", "message"))
