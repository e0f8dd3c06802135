"""Cache indexes by the names that objects reference, and mappings from a changed object to those that reference it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION
from jangar.api.phases import TERMINAL
from jangar.controllers.resources import CHILD_UID
from jangar.kinds.registry import STEP_KINDS
from jangar.kinds.run_kind import RunKind
from kubekit.cache.object_cache import Cache, Cached, Change, Indexer
from kubekit.controller.reconcile import Key, own_key, owner_key, versions
from kubekit.controller.reconcile import Mapping as KeyMapping

UID: Final = "uid"
"""Index by uid."""
WAITS_FOR: Final = "waits-for"
"""Index by what a definition, or an object that has not started, references: namespace/kind/name."""
NOT_STARTED: Final = "not-started"
"""Index of AgentRuns that have not started, by namespace."""

KeysOf: TypeAlias = Callable[[Cache], KeyMapping]
"""The keys that a change enqueues, given the cache of the controller's own objects."""


def by_uid(cached: Cached) -> Iterable[str]:
    return (cached.uid,)


def itself(own: Cache) -> KeyMapping:
    """Enqueue the changed object."""
    del own
    return own_key


def owner_of(kind: Kind) -> KeysOf:
    """Enqueue the owner of the changed object, if it is of this kind."""
    return lambda _: owner_key(kind.name)


def referring_to(kind: Kind) -> KeysOf:
    """Enqueue the objects that reference the changed object of this kind and wait for it."""

    def mapping(own: Cache) -> KeyMapping:
        def keys(change: Change) -> Iterable[Key]:
            names = {f"{version.namespace}/{kind.name}/{version.name}" for version in versions(change)}
            return [_key(item) for name in names for item in own.by(WAITS_FOR, name)]

        return keys

    return mapping


def child_of_pod(own: Cache) -> KeyMapping:
    """Enqueue the child that the pod's Job belongs to: a label of the pod has its uid."""
    return lambda change: [_key(item) for item in own.by(UID, change.subject.labels.get(CHILD_UID, ""))]


def not_started(own: Cache) -> KeyMapping:
    """Enqueue the AgentRuns of the changed object's namespace that have not started."""
    return lambda change: [_key(item) for item in own.by(NOT_STARTED, change.subject.namespace)]


def all_in_namespace(own: Cache) -> KeyMapping:
    """Enqueue every object in the changed object's namespace."""
    return lambda change: [_key(item) for item in own.all(change.subject.namespace)]


def _key(cached: Cached) -> Key:
    return Key(cached.namespace, cached.name)


def _is_waiting(obj: Mapping[str, Any]) -> bool:
    """Whether the object may still wait for what it references."""
    status = obj.get("status") or {}
    return not (status.get("snapshotRef") or status.get("job") or status.get("phase") in TERMINAL)


def awaited_by(run_kind: RunKind) -> Indexer:
    """Keys of WAITS_FOR: what a run of this kind references until it has started."""

    def names(cached: Cached) -> Iterable[str]:
        obj = cached.view
        wanted = run_kind.awaited(obj) if _is_waiting(obj) else ()
        return [f"{cached.namespace}/{kind}/{name}" for kind, name in wanted]

    return names


def nested_orchestrations(cached: Cached) -> Iterable[str]:
    """Keys of WAITS_FOR: the orchestrations that the steps of an Orchestration start."""
    steps = (cached.view.get("spec") or {}).get("steps") or ()
    fields = {
        kind: item.references.target_field for kind, item in STEP_KINDS.items() if item.called_orchestration
    }
    targets = {(step.get(fields.get(step.get("kind")) or "") or {}).get("name") for step in steps}
    return [f"{cached.namespace}/{ORCHESTRATION.name}/{name}" for name in targets if name]


def namespace_of_not_started(cached: Cached) -> Iterable[str]:
    """Keys of NOT_STARTED."""
    status = cached.view.get("status") or {}
    return () if status.get("job") or status.get("phase") in TERMINAL else (cached.namespace,)
