"""Objects that are not reconciled because a pass blocked the event loop or kept timing out.

An object is released when its generation changes, that is, its spec was edited, and once when it is deleted.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from kubekit.cache.object_cache import Cached
from kubekit.controller.reconcile import Key

MAX_TIMEOUTS = 3
"""Consecutive timeouts, while other objects do not time out, after which an object is quarantined."""


class Subject(Protocol):
    """Returns the object of a key; None if it does not exist."""

    def __call__(self, key: Key, /) -> Cached | None: ...


@dataclass(slots=True)
class Quarantine:
    """The quarantined objects of one controller."""

    subject: Subject = field(default=lambda _: None)
    is_recorded: Callable[[Cached], bool] = field(default=lambda _: False)
    """Whether the object's status says that it is quarantined, as from an earlier process."""
    record: Callable[[Cached, str], Awaitable[None]] | None = None
    """Records the quarantine and its reason on the object."""
    _quarantined: dict[Key, tuple[int, bool]] = field(default_factory=dict)
    _timeouts: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _passes: int = 0

    def __len__(self) -> int:
        return len(self._quarantined)

    def holds(self, key: Key) -> bool:
        """Whether the key must not be reconciled."""
        cached = self.subject(key)
        if cached is None:
            self._quarantined.pop(key, None)
            return False
        if key not in self._quarantined and not cached.is_being_deleted and self.is_recorded(cached):
            self._quarantined[key] = _version(cached)
        if self._quarantined.get(key) == _version(cached):
            return True
        self._quarantined.pop(key, None)
        return False

    def passed(self, key: Key) -> None:
        """Record that a pass over the key completed."""
        self._passes += 1
        self._timeouts.pop(key, None)

    def timed_out(self, key: Key) -> bool:
        """Count a timeout of a pass; returns whether the maximum is reached.

        It counts only if another pass completed since the last timeout: if the server is down, none does.
        """
        count, passes = self._timeouts.get(key, (0, -1))
        if passes != self._passes:
            count += 1
        self._timeouts[key] = count, self._passes
        return count >= MAX_TIMEOUTS

    async def add(self, key: Key, reason: str) -> None:
        """Quarantine the key until its generation changes."""
        cached = self.subject(key)
        if cached is None:
            return
        self._quarantined[key] = _version(cached)
        self._timeouts.pop(key, None)
        if self.record is not None:
            await self.record(cached, reason)


def _version(cached: Cached) -> tuple[int, bool]:
    return cached.generation, cached.is_being_deleted
