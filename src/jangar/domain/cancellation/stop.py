"""The announcement that something is being stopped: an attempt, a run, or the work of a child. Knows times only."""

from dataclasses import dataclass
from datetime import datetime

from jangar.domain.times import whole_second


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """As `status.stop` says it, before anything is stopped."""

    requested_at: datetime
    reason: str
    deadline: datetime

    def cut(self, ended_at: datetime | None) -> bool:
        """Whether work that ended then was stopped: in that second or later, or nobody knows when."""
        return not_before(ended_at, self.requested_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A child, Job or pod that outlived the deadline of its stop."""

    kind: str
    name: str
    uid: str | None = None
    ended_at: datetime | None = None


def not_before(ended_at: datetime | None, moment: datetime) -> bool:
    """Compared at whole seconds, because that is all a container's times have; not known counts as after."""
    return ended_at is None or whole_second(ended_at) >= whole_second(moment)
