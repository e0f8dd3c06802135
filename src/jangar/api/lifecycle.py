"""What every run and child shares: the switches users turn (cancel, suspend, TTL) and the status that answers them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from jangar.api.meta import LIST_ATOMIC, ApiModel, Int32, Int64, ObjectStatus, rule, validations
from jangar.api.phases import DesiredState, OnJobMissing, Phase

Seconds = Annotated[Int32, Field(ge=0)]

Ttl = int | Literal["never"]
TTL_RULE = validations(
    rule(
        "type(self) == int ? self >= 0 : self == 'never'",
        "must be a number of seconds, 0 or more, or 'never'",
    )
)

CANCEL_IS_FINAL = [
    rule(
        "!(has(oldSelf.cancel) && oldSelf.cancel) || (has(self.cancel) && self.cancel)",
        "a cancel cannot be withdrawn: start a new run instead",
    ),
    rule(
        "!(has(oldSelf.desiredState) && oldSelf.desiredState == 'Cancelled') "
        "|| (has(self.desiredState) && self.desiredState == 'Cancelled')",
        "a cancel cannot be withdrawn: start a new run instead",
    ),
]


class Steerable(ApiModel):
    """Spec fields by which a user steers a run or child; the only ones that may change after creation."""

    cancel: bool | None = Field(
        None, description="true asks for the run to stop. A request cannot be withdrawn."
    )
    desired_state: DesiredState | None = Field(
        None, description="Cancelled means the same as cancel: true. A request cannot be withdrawn."
    )
    suspend: bool | None = Field(
        None, description="true starts nothing new; what runs goes on, and so do timeouts. false resumes."
    )
    ttl_seconds_after_finished: Ttl | None = Field(
        None,
        description="Seconds after its end until the object is deleted; 0 as soon as its end is recorded, never "
        "to keep it. Unset: the controller's retention.",
        json_schema_extra=TTL_RULE,
    )


class OnJobMissingPolicy(ApiModel):
    """Spec field of everything that starts a Job."""

    on_job_missing: OnJobMissing | None = Field(
        None,
        description="What to do when the Job was seen and is gone without an outcome: Fail (default), or Retry, "
        "which may run the work a second time.",
    )


class LeftBehind(ApiModel):
    """A piece of work that outlived the bound of a stop."""

    kind: str = Field(description="Kind of the object that may still run.")
    name: str = Field(description="Its name.")
    uid: str | None = Field(None, description="Its uid, where known.")
    ended_at: datetime | None = Field(None, description="When it was seen to have ended after all.")


class CancelStatus(ApiModel):
    """How a cancel is going."""

    requested_at: datetime | None = Field(
        None, description="When the request was accepted; absent if only a timeout left work behind."
    )
    deadline: datetime | None = Field(None, description="When waiting for the work to end stops.")
    requested_by: list[str] | None = Field(
        None,
        description="Which fields asked: cancel, desiredState, deletion.",
        json_schema_extra=LIST_ATOMIC,
    )
    left_behind: list[LeftBehind] | None = Field(
        None,
        description="What had not ended at the deadline and may still run.",
        json_schema_extra=LIST_ATOMIC,
    )


class StopStatus(ApiModel):
    """The announcement that work is being stopped, written before it is."""

    requested_at: datetime = Field(description="Work that ended before this time keeps its own result.")
    reason: str = Field(description="Why it is stopped, such as Cancelled or StepTimedOut.")
    deadline: datetime | None = Field(None, description="When waiting for its end stops.")
    message: str | None = Field(None, description="What it was waiting for, where a time limit ends a wait.")


class RetentionStatus(ApiModel):
    """What will be deleted when, and which value decides."""

    job_ttl_seconds: Int64 | None = Field(
        None, description="Seconds a finished Job is kept; absent means always."
    )
    job_expires_at: datetime | None = Field(None, description="When the finished Jobs are deleted.")
    job_source: str | None = Field(None, description="Which value decided about the Jobs.")
    run_retention_seconds: Int64 | None = Field(
        None, description="Seconds this object is kept after its end; absent means always."
    )
    run_expires_at: datetime | None = Field(None, description="When this object is deleted.")
    run_source: str | None = Field(None, description="Which value decided about this object.")
    history: str | None = Field(
        None,
        description="On where its end is stored in the history before it is deleted; Off where no history is kept.",
    )


class Outcome(ApiModel):
    """The recorded end of a piece of work."""

    phase: Phase = Field(description="Succeeded, Failed or Cancelled.")
    reason: str = Field(description="Why, such as NonZeroExit or JobDeleted.")
    message: str | None = Field(None, description="The same for people.")
    exit_code: Int32 | None = Field(None, description="Exit code of the container that decided.")
    started_at: datetime | None = Field(None, description="When the container started, by the node's clock.")
    finished_at: datetime | None = Field(None, description="When the container ended, by the node's clock.")
    outputs: dict[str, str] | None = Field(None, description="What the work wrote as its result.")


class ExecutionStatus(ObjectStatus):
    """What the status of every run and child has beyond conditions."""

    phase: Phase | None = Field(
        None, description="Pending, Running, Cancelling, Succeeded, Failed or Cancelled."
    )
    reason: str | None = Field(None, description="Why it is in this phase, in one word.")
    message: str | None = Field(None, description="The same for people.")
    started_at: datetime | None = Field(None, description="First transition into Running; never moves.")
    finished_at: datetime | None = Field(
        None, description="First transition into a terminal phase; never moves."
    )
    cancel: CancelStatus | None = Field(None, description="The accepted cancel and what became of it.")
    stop: StopStatus | None = Field(None, description="Why and since when the work is being stopped.")
    retention: RetentionStatus | None = Field(None, description="What will be deleted when.")
    outputs: dict[str, str] | None = Field(None, description="What the run or its work returned.")
