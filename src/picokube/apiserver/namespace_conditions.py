"""Conditions of a namespace that is being deleted: which objects are left in it, which finalizers hold them. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

JsonObject = dict[str, Any]
Json = Mapping[str, Any]

_DONE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reason and message of each condition when nothing holds the namespace."""


class RemainingContent:
    """What a pass over a namespace could not delete."""

    def __init__(self) -> None:
        self._resources: Counter[tuple[str, str]] = Counter()
        self._finalizers: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._resources)

    def add(self, plural: str, group: str, finalizers: Iterable[str]) -> None:
        """Count an object and the finalizers that hold it."""
        self._resources[plural, group] += 1
        self._finalizers.update(finalizers)

    def held(self) -> dict[str, tuple[str, str]]:
        """Reason and message of the conditions that are true."""
        found: dict[str, tuple[str, str]] = {}
        if self._resources:
            counts = [
                f"{plural}.{group} has {count} resource instances"
                for (plural, group), count in self._resources.items()
            ]
            message = f"Some resources are remaining: {', '.join(sorted(counts))}"
            found["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
        if self._finalizers:
            counts = [f"{name} in {count} resource instances" for name, count in self._finalizers.items()]
            message = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(counts))}"
            found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return found


def deletion_conditions(before: Iterable[Json], remaining: RemainingContent, now: str) -> list[JsonObject]:
    """The conditions after a pass. A condition keeps its time while its status is the same; others stay."""
    known = {item["type"]: item for item in before}
    held = remaining.held()
    found = dict(known)
    for kind, done in _DONE.items():
        status = "True" if kind in held else "False"
        reason, message = held.get(kind, done)
        old = known.get(kind) or {}
        since = old["lastTransitionTime"] if old.get("status") == status else now
        found[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
    return [dict(item) for item in found.values()]
