"""Counts the pods on the node against its maximum, from changes of the pod cache."""

from kubekit.cache.object_cache import Cached, Change
from picokube.nodeagent.conditions import TERMINAL_PHASES


class Slots:
    """A slot is used by an unfinished pod on the node, or reserved for a pod that is being created."""

    def __init__(self, node: str, max_pods: int) -> None:
        self.node = node
        self.max_pods = max_pods
        self._used: set[str] = set()
        self._reserved = 0

    @property
    def free(self) -> int:
        return self.max_pods - len(self._used) - self._reserved

    def reserve(self) -> bool:
        """Reserve a slot for a pod that is about to be created. Call `release` in any case."""
        if self.free <= 0:
            return False
        self._reserved += 1
        return True

    def release(self) -> None:
        self._reserved -= 1

    def observe(self, change: Change) -> bool:
        """Update the used slots. Whether a slot became free."""
        if change.new is not None and occupies(change.new, self.node):
            self._used.add(change.new.uid)
            return False
        before = len(self._used)
        self._used.discard(change.subject.uid)
        return len(self._used) < before


def occupies(cached: Cached, node: str) -> bool:
    pod = cached.view
    return (pod.get("spec") or {}).get("nodeName") == node and (pod.get("status") or {}).get(
        "phase"
    ) not in TERMINAL_PHASES
