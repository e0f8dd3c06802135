"""Callbacks for metrics: the controllers report each fact once, when they record it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


def _ignore(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observers:
    """The observers to notify; none by default."""

    job_missing: Callable[[], None] = _ignore
    expired: Callable[[str], None] = _ignore
    """An object of this kind was deleted because its time was over."""
    step_ended: Callable[[str, str, float], None] = _ignore
    """A step of this kind came to this phase after so many seconds."""
    run_ended: Callable[[str], None] = _ignore
    """A run came to this phase."""
    cancel_accepted: Callable[[], None] = _ignore


NO_OBSERVERS: Final = Observers()
