"""The contract of a reconciler: it takes a key and returns Done or LookAgain, or raises an error.

It is level-triggered: it gets the key but not the event. One pass after many changes, after a restart or after a missed
event does the right thing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Key(NamedTuple):
    """Namespace and name of an object; the namespace is empty for a cluster-scoped one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Reconcile again after that many seconds even if nothing changes."""

    after: float


Result: TypeAlias = Done | RequeueAfter
Reconciler: TypeAlias = Callable[[Key], Awaitable[Result]]

DONE = Done()


class TerminalError(Exception):
    """A failure that retries cannot fix: it is logged, and the key waits for a change."""
