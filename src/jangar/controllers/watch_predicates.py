"""Predicates for watches: which changes are urgent and which can wait. Every change is reconciled eventually.

A pass depends on what it observes, never on the event that triggered it: these rules decide only when it runs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from jangar.api.phases import TERMINAL, Phase
from jangar.domain.job_execution.facts import job_facts, pod_facts
from kubekit.cache.object_cache import Cached, Change

DEFERRED_EVENT_DELAY: Final = 0.5
"""Delay, in seconds, for events that the controller most likely caused itself: its own status write, a child that it
just created, a finalizer that it removed. Several are coalesced.
"""


def deferred_if(can_wait: Callable[[Change], bool]) -> Callable[[Change], float]:
    """The delay of a watch that handles some changes at once and others after DEFERRED_EVENT_DELAY."""
    return lambda change: DEFERRED_EVENT_DELAY if can_wait(change) else 0.0


def stop_was_requested(change: Change) -> bool:
    """Whether the change requests a stop; such keys go ahead, because a hundred others may end at the same time."""
    new, old = change.new, change.old
    return new is not None and _should_stop(new) and not (old and _should_stop(old)) and not _has_ended(new)


def _should_stop(cached: Cached) -> bool:
    spec = cached.view.get("spec") or {}
    return cached.is_being_deleted or spec.get("cancel") is True or spec.get("desiredState") == "Cancelled"


def _has_ended(cached: Cached) -> bool:
    return (cached.view.get("status") or {}).get("phase") in TERMINAL


def generation_changed(change: Change) -> bool:
    """Whether the object appeared, disappeared or changed in more than its status and metadata."""
    return change.old is None or change.new is None or change.old.generation != change.new.generation


def only_status_changed(change: Change) -> bool:
    """Whether only the status differs: the pass that wrote it has already taken it into account."""
    old, new = change.old, change.new
    return old is not None and new is not None and _without_status(old) == _without_status(new)


def _without_status(cached: Cached) -> dict[str, Any]:
    obj = cached.view
    meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {"metadata": meta, "spec": obj.get("spec")}


def is_new_child(change: Change) -> bool:
    """Whether a child has no state yet that its run must react to."""
    child = change.new
    if child is None or child.is_being_deleted:
        return False
    return (child.view.get("status") or {}).get("phase") in (None, Phase.PENDING)


def same_wait_state(wait_state: Callable[[Mapping[str, Any] | None], object]) -> Callable[[Change], bool]:
    """Whether a change leaves the state that a child waits for as it was."""

    def is_same(change: Change) -> bool:
        old, new = change.old, change.new
        if new is None:
            return False
        return wait_state(old.view if old is not None else None) == wait_state(new.view)

    return is_same


def job_wait_state(job: Mapping[str, Any] | None) -> object:
    """The parts of a Job that can end a wait; a missing Job compares equal to one that was just created."""
    facts = job_facts(job or {})
    verdict = (facts.complete, facts.failed, facts.verdict_reason)
    return (facts.deleting, facts.suspended, facts.at_rest, facts.active > 0, verdict)


def pod_wait_state(pod: Mapping[str, Any] | None) -> object:
    """The parts of a pod that can end a wait: its phase, its containers' states, and whether it is being ended."""
    facts = pod_facts(pod or {})
    phase = None if facts.phase == "Pending" else facts.phase
    containers = (*facts.init_containers, *facts.containers)
    states = [(container.running, container.terminated) for container in containers]
    return (phase, facts.reason, facts.deleting, facts.disrupted, [state for state in states if any(state)])
