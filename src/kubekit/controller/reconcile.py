"""The contract of a reconciler: a key in; done, look again, or an error out. Knows nothing of queues.

It is told which object to look at and never what happened to it, so that one pass after many changes, after a restart
or after a missed event does the right thing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Key(NamedTuple):
    """Which object; the namespace of a cluster-scoped one is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Come back after that many seconds even if nothing changes."""

    after: float


Result: TypeAlias = Done | LookAgain
Reconciler: TypeAlias = Callable[[Key], Awaitable[Result]]

DONE = Done()


class TerminalError(Exception):
    """A failure that trying again cannot mend: it is logged and the key waits for a change."""
