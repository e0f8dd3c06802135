"""The announcement of a stop: of an attempt, a run, or a child's work."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jangar.api.reasons import WAITING_CAUSES
from jangar.domain.times import whole_second


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """As `status.stop` says it, before anything is stopped."""

    requested_at: datetime
    reason: str
    deadline: datetime
    message: str = ""
    """What it was waiting for, where a time limit ends a wait."""

    def cut(self, ended_at: datetime | None) -> bool:
        """Whether work that ended then was stopped: in that second or later, or at an unknown time."""
        return not_before(ended_at, self.requested_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A child, Job or pod that outlived the deadline of its stop."""

    kind: str
    name: str
    uid: str | None = None
    ended_at: datetime | None = None


STOPPED_ON_REQUEST = "stopped on request"
IGNORED_TERM = "ignored SIGTERM"


def timeout_message(limit: timedelta | None, *, reason: str | None, message: str | None) -> str:
    """Why a time limit ended something: with the cause that it was waiting for, where there is one."""
    after = f"timed out after {limit.total_seconds():g} s" if limit else "timed out"
    return while_waiting(after, reason=reason, message=message)


def while_waiting(said: str, *, reason: str | None, message: str | None) -> str:
    """The sentence, with the cause of the wait that it ended."""
    if reason not in WAITING_CAUSES:
        return said
    return f"{said} while waiting for: " + ": ".join(item for item in (reason, message) if item)


def with_detail(message: str, child_message: str) -> str:
    """The message of a stop, and what the stopped work said beside that it was stopped on request."""
    stopped, _, detail = child_message.partition("; ")
    return "; ".join(item for item in (message, detail if stopped == STOPPED_ON_REQUEST else "") if item)


def not_before(ended_at: datetime | None, moment: datetime) -> bool:
    """Compared at whole seconds, because that is all a container's times have; not known counts as after."""
    return ended_at is None or whole_second(ended_at) >= whole_second(moment)
