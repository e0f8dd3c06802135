"""Who waits for what: indexes of the names in objects, and from a changed object to those that name it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from jangar.api.orchestration import ORCHESTRATION
from jangar.api.phases import TERMINAL
from jangar.controllers.resources import CHILD_UID
from jangar.kinds.registry import STEP_KINDS
from jangar.kinds.run_kind import RunKind
from kubekit.cache.indexers import Indexer
from kubekit.cache.informer import Change, Informer
from kubekit.cache.object_cache import Cached
from kubekit.controller.reconcile import Key
from kubekit.controller.sources import versions

WAITS_FOR: Final = "waits-for"
"""Index: what an object that has not started yet, or a definition, names."""
UID: Final = "uid"


def child_of_pod(toolruns: Informer) -> Callable[[Change], Iterable[Key]]:
    """The child that a pod's Job belongs to: the pod names its uid."""

    def keys(change: Change) -> Iterable[Key]:
        uid = change.subject.labels.get(CHILD_UID, "")
        return [Key(item.namespace, item.name) for item in toolruns.cache.by(UID, uid)]

    return keys


def waiting_in(informer: Informer, kind: str) -> Callable[[Change], Iterable[Key]]:
    """Objects that name the one that changed."""

    def keys(change: Change) -> Iterable[Key]:
        names = {f"{version.namespace}/{kind}/{version.name}" for version in versions(change)}
        return [
            Key(item.namespace, item.name) for name in names for item in informer.cache.by(WAITS_FOR, name)
        ]

    return keys


def _is_open(obj: Mapping[str, Any]) -> bool:
    """Whether it may still wait for what it names."""
    status = obj.get("status") or {}
    return not (status.get("snapshotRef") or status.get("job") or status.get("phase") in TERMINAL)


def awaited_by(run_kind: RunKind) -> Indexer:
    """Index of the objects that the runs of a kind wait for."""

    def names(cached: Cached) -> Iterable[str]:
        obj = cached.view
        wanted = run_kind.awaited(obj) if _is_open(obj) else ()
        return [f"{cached.namespace}/{kind}/{name}" for kind, name in wanted]

    return names


def nested_orchestrations(cached: Cached) -> Iterable[str]:
    """Index of the Orchestrations that an Orchestration runs."""
    steps = (cached.view.get("spec") or {}).get("steps") or ()
    fields = {
        kind: item.references.target_field for kind, item in STEP_KINDS.items() if item.called_orchestration
    }
    targets = {(step.get(fields.get(step.get("kind")) or "") or {}).get("name") for step in steps}
    return [f"{cached.namespace}/{ORCHESTRATION.name}/{name}" for name in targets if name]
