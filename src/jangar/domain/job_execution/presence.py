"""Whether the Job of an attempt exists, was never created, or was lost, from the record and an observation.

A cache never proves that a Job is missing: absence is confirmed by a live read.
"""

from dataclasses import dataclass
from typing import assert_never

from jangar.api.phases import OnJobMissing
from jangar.api.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedJob:
    """The intent, written before the create call, and what became of it."""

    name: str
    attempt: int
    created: bool = False
    """The API server acknowledged the create."""
    observed: bool = False
    uid: str | None = None

    @property
    def was_there(self) -> bool:
        """Whether the Job existed for certain; creating it again could then run the work twice."""
        return self.created or self.observed or self.uid is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A Job of that name was read."""

    uid: str
    live: bool = False
    """Read from the API server, not from the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInCache:
    """The cache has no such Job, which proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedAbsent:
    """The API server itself says that there is no such Job."""

    existed: bool = False
    """It existed: the watch history contains it, or one of its pods still exists."""


JobPresence = Seen | NotInCache | ConfirmedAbsent


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingRecorded:
    """No Job is recorded: there is nothing to look for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmByLiveRead:
    """Read the Job from the API server before deciding anything."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAgain:
    """It was never created: create it with the same name, so a create request still in flight conflicts with it."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverStarted:
    """It was never created and must not be any more, because the work is being stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """It existed and is gone without an outcome; the `onJobMissing` policy decides what follows."""

    name: str
    then: OnJobMissing
    reason: Reason = Reason.WORKFLOW_JOB_MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneAfterOutcome:
    """Its outcome is recorded, so it may be gone; `confirmed` if the API server says so."""

    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """It is there; `uid` is to be recorded where it was not."""

    uid: str


Presence = (
    NothingRecorded | ConfirmByLiveRead | CreateAgain | NeverStarted | Lost | GoneAfterOutcome | Present
)


def presence(
    recorded: RecordedJob | None,
    observed: JobPresence,
    *,
    outcome_recorded: bool,
    policy: OnJobMissing = OnJobMissing.FAIL,
    stopping: bool = False,
) -> Presence:
    """What the observation means. `stopping`: nothing is created or retried anymore."""
    if recorded is None:
        return NothingRecorded()
    match observed:
        case Seen(uid=uid) if recorded.uid in {None, uid}:
            return Present(uid=uid)
        case Seen(live=live):
            # A different Job has the name: ours was deleted and the name reused.
            return _gone(recorded, policy, live=live, outcome_recorded=outcome_recorded, stopping=stopping)
        case NotInCache():
            return _gone(recorded, policy, live=False, outcome_recorded=outcome_recorded, stopping=stopping)
        case ConfirmedAbsent(existed=True) if not (outcome_recorded or recorded.was_there):
            return Lost(name=recorded.name, then=OnJobMissing.FAIL if stopping else policy)
        case ConfirmedAbsent():
            return _gone(recorded, policy, live=True, outcome_recorded=outcome_recorded, stopping=stopping)
        case _:
            assert_never(observed)


def _gone(
    recorded: RecordedJob, policy: OnJobMissing, *, live: bool, outcome_recorded: bool, stopping: bool
) -> Presence:
    if outcome_recorded:
        return GoneAfterOutcome(confirmed=live)
    if not live:
        return ConfirmByLiveRead(name=recorded.name)
    if recorded.was_there:
        return Lost(name=recorded.name, then=OnJobMissing.FAIL if stopping else policy)
    return NeverStarted() if stopping else CreateAgain(name=recorded.name)
