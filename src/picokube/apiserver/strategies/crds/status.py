"""The status of a CustomResourceDefinition: its conditions, and the names that it gets. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.schema.go_text import go_quote

CRDS: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a definition whose objects still exist."""
NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
CONFORMANT: Final = "KubernetesAPIApprovalPolicyConformant"
APPROVED: Final = "api-approved.kubernetes.io"
"""The annotation that approves a definition in a group of the Kubernetes project."""


def is_true(definition: Json, kind: str) -> bool:
    """Whether the definition has this condition, and it holds."""
    found = condition_of(definition, kind)
    return found is not None and found["status"] == "True"


def condition_of(definition: Json, kind: str) -> Json | None:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] == kind), None)


def condition(kind: str, status: str, reason: str, message: str) -> JsonObject:
    """A condition, but for its time."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def with_condition(status: Json, new: Json, now: str) -> JsonObject:
    """The status with a condition in its place. Its time is that of the last change of its status."""
    conditions: list[Json] = list(status.get("conditions") or ())
    for n, item in enumerate(conditions):
        if item["type"] == new["type"]:
            kept = item["status"] == new["status"] and item.get("lastTransitionTime")
            conditions[n] = {**new, "lastTransitionTime": item["lastTransitionTime"] if kept else now}
            break
    else:
        conditions.append({**new, "lastTransitionTime": now})
    return {**status, "conditions": conditions}


def approval(definition: Json) -> JsonObject | None:
    """The approval condition of a definition in a group of the Kubernetes project."""
    if not is_protected(definition["spec"].get("group", "")):
        return None
    stated = ((definition.get("metadata") or {}).get("annotations") or {}).get(APPROVED, "")
    if stated.startswith("unapproved"):
        return condition(CONFORMANT, "False", "UnapprovedAnnotation", f"not approved: {go_quote(stated)}")
    return condition(CONFORMANT, "True", "ApprovedAnnotation", f"approved in {stated}") if stated else None


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes project."""
    return group.endswith((".k8s.io", ".kubernetes.io")) or group in ("k8s.io", "kubernetes.io")


def mark_deleted(definition: JsonObject, now: str) -> None:
    """Mark a definition as deleted, in place; a finalizer keeps it until its objects are deleted."""
    meta = definition["metadata"]
    meta["deletionTimestamp"] = now
    if CLEANUP not in (meta.get("finalizers") or ()):
        meta["finalizers"] = [*(meta.get("finalizers") or ()), CLEANUP]
    pending = condition(
        TERMINATING,
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    definition["status"] = with_condition(definition.get("status") or {}, pending, now)


def emptying(definition: Json, now: str) -> JsonObject:
    """The status while objects are deleted."""
    progress = condition(
        TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
    )
    return with_condition(definition.get("status") or {}, progress, now)


def emptied(definition: Json, now: str) -> JsonObject:
    """The definition without the finalizer that waited for its objects."""
    if is_true(definition, ESTABLISHED):
        done = condition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
    else:
        done = condition(TERMINATING, "False", "NeverEstablished", "resource was never established")
    meta = definition["metadata"]
    finalizers = [finalizer for finalizer in meta.get("finalizers") or () if finalizer != CLEANUP]
    return {
        **definition,
        "metadata": {**meta, "finalizers": finalizers},
        "status": with_condition(definition.get("status") or {}, done, now),
    }


_NAMES = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


@dataclass(slots=True, kw_only=True)
class TakenNames:
    """Names that definitions of a group have."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def by(cls, definitions: Iterable[Json]) -> "TakenNames":
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


def has_requested_names(definition: Json) -> bool:
    """Whether a definition has the names that it requests."""
    return accepted_names(definition) == _stated(definition["spec"]["names"])


def is_served(definition: Json) -> bool:
    """Whether the kind of a definition is served."""
    return is_true(definition, NAMES_ACCEPTED) or is_true(definition, ESTABLISHED)


def expected_status(definition: Json, taken: TakenNames, now: str) -> Json:
    """The status that a definition should have by its names and those of others; the one it has where that is right."""
    status: Json = definition.get("status") or {}
    if not has_requested_names(definition):
        status = _named(definition, taken, now)
    if is_true({"status": status}, NAMES_ACCEPTED) and not is_true({"status": status}, ESTABLISHED):
        established = condition(
            ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted"
        )
        status = with_condition(status, established, now)
    stated = approval(definition)
    if stated is not None and not _same_condition(condition_of({"status": status}, CONFORMANT) or {}, stated):
        status = with_condition(status, stated, now)
    return status


def _named(definition: Json, taken: TakenNames, now: str) -> Json:
    names, problem = _assign_names(definition["spec"]["names"], accepted_names(definition), taken)
    verdict = problem or condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    before = condition_of(definition, NAMES_ACCEPTED)
    if names == accepted_names(definition) and before is not None and _same_condition(before, verdict):
        found: Json = definition["status"]
        return found
    status = with_condition({**(definition.get("status") or {}), "acceptedNames": names}, verdict, now)
    if problem is not None and condition_of(definition, ESTABLISHED) is None:
        refused = condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
        status = with_condition(status, refused, now)
    return status


def _assign_names(requested: Json, given: Json, taken: TakenNames) -> tuple[JsonObject, JsonObject | None]:
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
        conflicts = _conflicts(requested.get(name), given.get(name), used)
        if conflicts:
            message = conflicts[0] if len(conflicts) == 1 else f"[{', '.join(conflicts)}]"
            reason = f"{name[0].upper()}{name[1:]}Conflict"
            problem = condition(NAMES_ACCEPTED, "False", reason, message)
        else:
            _set_name(names, name, requested.get(name))
    _set_name(names, "categories", requested.get("categories"))
    return names, problem


def _stated(names: Json) -> JsonObject:
    return {name: names[name] for name in _NAMES if names.get(name)}


def _conflicts(requested: Any, given: Any, used: set[str]) -> list[str]:
    wanted = requested if isinstance(requested, list) else [requested] if requested else []
    own = given if isinstance(given, list) else [given]
    found = [item for item in dict.fromkeys(wanted) if item not in own and item in used]
    return [f'"{item}" is already in use' for item in found]


def _set_name(names: JsonObject, name: str, value: Any) -> None:
    if value:
        names[name] = value
    else:
        names.pop(name, None)


def _same_condition(one: Json, other: Json) -> bool:
    return all(one.get(name) == other.get(name) for name in ("type", "status", "reason", "message"))
