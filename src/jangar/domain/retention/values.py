"""How long something is kept: reading the setting, and which of several settings decides. Knows no object.

`0` means as soon as its end is recorded; `never` means that nothing is deleted.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from jangar.api.lifecycle import Ttl

MAX_SECONDS = 2**31 - 1
"""What a Job's `ttlSecondsAfterFinished` can hold: 68 years."""

_NEVER_WORDS = frozenset({"never", "null", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long after its end something is kept; without a duration, for ever."""

    duration: timedelta | None

    @property
    def seconds(self) -> int | None:
        """Whole seconds as a status and a Job carry them; None for ever."""
        return None if self.duration is None else int(self.duration.total_seconds())

    def until(self, ended_at: datetime | None) -> datetime | None:
        """When it may go; None while it has not ended, and for ever."""
        return None if self.duration is None or ended_at is None else ended_at + self.duration


NEVER = Keep(duration=None)
DEFAULT_JOB_TTL = Keep(duration=timedelta(seconds=600))
DEFAULT_RUN_RETENTION = Keep(duration=timedelta(seconds=2592000))


class Source(StrEnum):
    """The setting that decided."""

    OBJECT = "spec.ttlSecondsAfterFinished"
    TOOL = "tool.spec.ttlSecondsAfterFinished"
    ORCHESTRATION_RETENTION = "orchestrationController.retentionSeconds"
    AGENTRUN_RETENTION = "controller.agentRunRetentionSeconds"
    JOB_TTL = "controller.jobTtlSecondsAfterFinished"
    ROOT_RUN = "rootRun"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A value and where it comes from."""

    keep: Keep
    source: Source


WITH_ROOT = Resolved(keep=NEVER, source=Source.ROOT_RUN)
"""What a child has instead of a value of its own: it goes with its root run, not before."""


def parse_seconds(text: str | None, *, variable: str) -> Keep:
    """The value of a setting; raises ValueError with the variable and the fix for what is none.

    An empty value is what a null in the chart becomes, and keeping is the mistake that loses nothing: both mean
    never. A variable that is not set at all has its default, and is not read here.
    """
    word = (text or "").strip()
    if word.lower() in _NEVER_WORDS:
        return NEVER
    if not (word.isascii() and word.isdigit()):
        raise ValueError(
            f"{variable}={text!r} is not a number of seconds: write a whole number such as 600, "
            "0 to delete as soon as the end is recorded, or never"
        )
    if int(word) > MAX_SECONDS:
        raise ValueError(
            f"{variable}={text!r} is more than {MAX_SECONDS} seconds: write never to keep it for ever"
        )
    return keep_for(int(word))


def keep_for(ttl: Ttl) -> Keep:
    """The value of a spec field, which the schema has checked."""
    return Keep(duration=timedelta(seconds=ttl)) if isinstance(ttl, int) else NEVER


def resolve_run_retention(
    *,
    spec_ttl: Ttl | None,
    orchestration_retention: Keep | None,
    agentrun_retention: Keep | None,
    default: Keep = DEFAULT_RUN_RETENTION,
) -> Resolved:
    """How long a run or a child of its own is kept: the first that is set, in this order.

    `orchestration_retention` is for runs and ToolRuns; for an AgentRun the caller gives None.
    """
    if spec_ttl is not None:
        return Resolved(keep=keep_for(spec_ttl), source=Source.OBJECT)
    if orchestration_retention is not None:
        return Resolved(keep=orchestration_retention, source=Source.ORCHESTRATION_RETENTION)
    if agentrun_retention is not None:
        return Resolved(keep=agentrun_retention, source=Source.AGENTRUN_RETENTION)
    return Resolved(keep=default, source=Source.DEFAULT)


def resolve_job_ttl(
    *, tool_ttl: Ttl | None, configured: Keep | None, default: Keep = DEFAULT_JOB_TTL
) -> Resolved:
    """How long a finished Job is kept: the tool's wish, the controller's setting, or the default."""
    if tool_ttl is not None:
        return Resolved(keep=keep_for(tool_ttl), source=Source.TOOL)
    if configured is not None:
        return Resolved(keep=configured, source=Source.JOB_TTL)
    return Resolved(keep=default, source=Source.DEFAULT)


def job_floor(*, lease_duration: timedelta, request_timeout: timedelta) -> timedelta:
    """How long a create that was sent before the lease was lost can still arrive."""
    return lease_duration + request_timeout


def job_lifetime(ttl: Keep, *, lease_duration: timedelta, request_timeout: timedelta) -> Keep:
    """The TTL that a recorded Job really gets: never so short that a late create finds its name free."""
    if ttl.duration is None:
        return ttl
    floor = job_floor(lease_duration=lease_duration, request_timeout=request_timeout)
    return Keep(duration=max(ttl.duration, floor))
