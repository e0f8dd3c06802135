"""Actions of a plan. Each is idempotent and follows from the recorded status, so a controller that crashes between
recording and acting repeats it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PinDefinition:
    """Store the definition as it is now, immutable and owned by the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChild:
    """Create the child of an attempt; a child with that name that the run owns is the same one."""

    step: str
    kind: str
    attempt: int
    child: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmChild:
    """Read a child uncached: it was seen once and the cache lacks it."""

    step: str
    child: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChild:
    """Ask a child to stop by the deadline; not there, or already ended, is success."""

    child: str
    reason: str
    deadline: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendChild:
    """Pass suspend, or its end, to a nested run."""

    child: str
    suspend: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChildren:
    """Look for children of this run by owner, uncached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRunFinalizer:
    """Remove our finalizer from a deleted run; `left` may still be running and is named in a warning."""

    left: tuple[str, ...] = ()


Action = (
    PinDefinition | StartChild | ConfirmChild | StopChild | SuspendChild | ReadChildren | RemoveRunFinalizer
)
