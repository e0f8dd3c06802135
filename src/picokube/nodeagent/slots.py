"""How many pods the node has room for, and which wait. Follows the cache of pods; knows no API."""

from kubekit.cache.object_cache import Cached, Change

ENDED = ("Succeeded", "Failed")


class Slots:
    """Room is taken by a pod on the node until it has ended, and by one that is being made for it."""

    def __init__(self, node: str, most: int) -> None:
        self.node = node
        self.most = most
        self._taken: set[str] = set()
        self._promised = 0

    @property
    def free(self) -> int:
        return self.most - len(self._taken) - self._promised

    def promise(self) -> bool:
        """Keep room for a pod that is about to be made; `settle` afterwards, however it went."""
        if self.free <= 0:
            return False
        self._promised += 1
        return True

    def settle(self) -> None:
        self._promised -= 1

    def follow(self, change: Change) -> bool:
        """Whether room became free."""
        if change.new is not None and occupies(change.new, self.node):
            self._taken.add(change.new.uid)
            return False
        before = len(self._taken)
        self._taken.discard(change.subject.uid)
        return len(self._taken) < before


def occupies(cached: Cached, node: str) -> bool:
    pod = cached.view
    return (pod.get("spec") or {}).get("nodeName") == node and (pod.get("status") or {}).get(
        "phase"
    ) not in ENDED
