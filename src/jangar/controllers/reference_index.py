"""Who waits for what: indexes of the names in objects, and from a changed object to those that name it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL
from jangar.api.tools import TOOL
from jangar.controllers.resources import CHILD_UID
from kubekit.cache.informer import Change, Informer
from kubekit.cache.object_cache import Cached
from kubekit.controller.reconcile import Key, versions

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


def wanted_by_toolrun(cached: Cached) -> Iterable[str]:
    obj = cached.view
    name = ((obj.get("spec") or {}).get("toolRef") or {}).get("name")
    return (f"{cached.namespace}/{TOOL.name}/{name}",) if name and _is_open(obj) else ()


def wanted_by_run(cached: Cached) -> Iterable[str]:
    obj = cached.view
    if not _is_open(obj):
        return ()
    spec = obj.get("spec") or {}
    wanted = {
        ORCHESTRATION.name: (spec.get("orchestrationRef") or {}).get("name"),
        ORCHESTRATION_RUN.name: (spec.get("retryOf") or {}).get("name"),
    }
    return [f"{cached.namespace}/{kind}/{name}" for kind, name in wanted.items() if name]


def called(cached: Cached) -> Iterable[str]:
    steps = (cached.view.get("spec") or {}).get("steps") or ()
    targets = {(step.get("orchestrationRef") or {}).get("name") for step in steps}
    return [f"{cached.namespace}/{ORCHESTRATION.name}/{name}" for name in targets if name]
