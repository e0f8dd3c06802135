"""Objects that no pass is begun for: one of theirs held the event loop, or never ended. Knows no kind.

An object is released when its generation changes, because somebody wrote another spec, and once when it is deleted.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from kubekit.cache.cached_object import Cached
from kubekit.controller.reconcile import Key

MAX_TIMEOUTS = 3
"""So many passes in a row that run out of time, while others do not, quarantine an object."""


class Subject(Protocol):
    """Where a controller finds the objects of its keys; None for one that is gone."""

    def __call__(self, key: Key, /) -> Cached | None: ...


@dataclass(slots=True)
class Quarantine:
    """The quarantined objects of one controller."""

    subject: Subject = field(default=lambda _: None)
    is_recorded: Callable[[Cached], bool] = field(default=lambda _: False)
    """Whether the object itself says that it is in quarantine: so it was before this process started."""
    record: Callable[[Cached, str], Awaitable[None]] | None = None
    """Writes onto the object that it is in quarantine, and why."""
    _held: dict[Key, tuple[int, bool]] = field(default_factory=dict)
    _timeouts: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _passes: int = 0

    def __len__(self) -> int:
        return len(self._held)

    def holds(self, key: Key) -> bool:
        """Whether no pass may begin for the key."""
        found = self.subject(key)
        if found is None:
            self._held.pop(key, None)
            return False
        if key not in self._held and not found.is_being_deleted and self.is_recorded(found):
            self._held[key] = _version(found)
        if self._held.get(key) == _version(found):
            return True
        self._held.pop(key, None)
        return False

    def passed(self, key: Key) -> None:
        """A pass over the key ended by itself."""
        self._passes += 1
        self._timeouts.pop(key, None)

    def timed_out(self, key: Key) -> bool:
        """Count a pass that ran out of time; whether that was one too many.

        It counts if other passes ended since the last one: with a server that does not answer, none does.
        """
        count, passes = self._timeouts.get(key, (0, -1))
        if passes != self._passes:
            count += 1
        self._timeouts[key] = count, self._passes
        return count >= MAX_TIMEOUTS

    async def add(self, key: Key, reason: str) -> None:
        """Begin no pass for the key until its generation changes."""
        found = self.subject(key)
        if found is None:
            return
        self._held[key] = _version(found)
        self._timeouts.pop(key, None)
        if self.record is not None:
            await self.record(found, reason)


def _version(seen: Cached) -> tuple[int, bool]:
    return seen.generation, seen.is_being_deleted
