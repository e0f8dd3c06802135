"""What the controllers tell whoever counts: each thing once, when it is recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


def _nobody(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observers:
    """Whom to tell; by default nobody."""

    job_missing: Callable[[], None] = _nobody
    expired: Callable[[str], None] = _nobody
    """An object of this kind was deleted because its time was over."""
    step_ended: Callable[[str, str, float], None] = _nobody
    """A step of this kind came to this phase after so many seconds."""
    run_ended: Callable[[str], None] = _nobody
    """A run came to this phase."""
    cancel_accepted: Callable[[], None] = _nobody


NOBODY: Final = Observers()
