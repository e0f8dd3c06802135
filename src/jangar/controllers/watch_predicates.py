"""Which changes are looked at at once, which soon, and which before all else. Every change is looked at.

A pass depends on what it sees, never on what woke it: these rules decide only how long a change waits.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from jangar.api.phases import TERMINAL, Phase
from jangar.domain.job_execution.reading import job_facts, pod_facts
from kubekit.cache.informer import Change, Informer
from kubekit.cache.object_cache import Cached
from kubekit.controller.controller import Controller
from kubekit.controller.reconcile import Mapping as KeysOf

NO_HURRY_SECONDS: Final = 0.5
"""So long may wait what the one who is told has most likely done himself: a status written by a pass that went on from
there, a child that was just made, a finalizer taken away. Several such changes are looked at once.
"""


def watch_all(
    controller: Controller, informer: Informer, mapping: KeysOf, can_wait: Callable[[Change], bool]
) -> None:
    """Every change is looked at: some at once, some soon."""
    controller.watch(informer, mapping, after=lambda change: NO_HURRY_SECONDS if can_wait(change) else 0.0)


def asks_to_stop(change: Change) -> bool:
    """What shall stop is heard before all else: a hundred others may be ending at the same time."""
    new, old = change.new, change.old
    return new is not None and _may_stop(new) and not (old and _may_stop(old)) and not _has_ended(new)


def _may_stop(cached: Cached) -> bool:
    spec = cached.view.get("spec") or {}
    return cached.is_being_deleted or spec.get("cancel") is True or spec.get("desiredState") == "Cancelled"


def _has_ended(cached: Cached) -> bool:
    return (cached.view.get("status") or {}).get("phase") in TERMINAL


def is_status_alone(change: Change) -> bool:
    """Written by a pass, which went on from there."""
    old, new = change.old, change.new
    return old is not None and new is not None and _wanted(old) == _wanted(new)


def _wanted(run: Cached) -> dict[str, Any]:
    """All but its status and the version that came with it."""
    obj = run.view
    meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {"metadata": meta, "spec": obj.get("spec")}


def is_new(change: Change) -> bool:
    """Nothing has come of it yet that its run must act on."""
    child = change.new
    if child is None or child.is_being_deleted:
        return False
    return (child.view.get("status") or {}).get("phase") in (None, Phase.PENDING)


def is_same(telling: Callable[[Mapping[str, Any] | None], object]) -> Callable[[Change], bool]:
    """Whether nothing changed that a child waits for."""

    def same(change: Change) -> bool:
        old, new = change.old, change.new
        if new is None:
            return False
        return telling(old.view if old is not None else None) == telling(new.view)

    return same


def telling_job(job: Mapping[str, Any] | None) -> object:
    """What of a Job may end a wait; one that is not there yet tells nothing, as one that was just made."""
    facts = job_facts(job or {})
    verdict = (facts.complete, facts.failed, facts.verdict_reason)
    return (facts.deleting, facts.suspended, facts.at_rest, facts.active > 0, verdict)


def telling_pod(pod: Mapping[str, Any] | None) -> object:
    """The same of a pod: how far it and its containers are, and whether somebody ends it."""
    facts = pod_facts(pod or {})
    phase = None if facts.phase == "Pending" else facts.phase
    states = [
        (init_container.running, init_container.terminated)
        for init_container in (*facts.init_containers, *facts.containers)
    ]
    begun = [state for state in states if any(state)]
    return (phase, facts.reason, facts.deleting, facts.disrupted, begun)
