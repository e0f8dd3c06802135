"""Spec and status fields that every run and child has: cancel, suspend, TTL and their status."""

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
    """Spec fields that control a run or child. Only these may change after creation."""

    cancel: bool | None = Field(None, description="true cancels the run. A cancel cannot be withdrawn.")
    desired_state: DesiredState | None = Field(
        None, description="Cancelled has the same effect as cancel: true. A cancel cannot be withdrawn."
    )
    suspend: bool | None = Field(
        None, description="true starts no new work. Running work and timeouts continue. false resumes."
    )
    ttl_seconds_after_finished: Ttl | None = Field(
        None,
        description="Seconds to keep the object after it finishes. 0 deletes it as soon as its result is recorded, "
        "never keeps it. Unset: the controller's retention.",
        json_schema_extra=TTL_RULE,
    )


class OnJobMissingPolicy(ApiModel):
    """Spec field of kinds that create Jobs."""

    on_job_missing: OnJobMissing | None = Field(
        None,
        description="What to do if the Job disappears without a recorded result: Fail (default), or Retry, "
        "which may run the work a second time.",
    )


class LeftBehind(ApiModel):
    """An object that still ran when the deadline of a stop passed."""

    kind: str = Field(description="Kind of the object that may still be running.")
    name: str = Field(description="Name of the object.")
    uid: str | None = Field(None, description="UID of the object, if known.")
    ended_at: datetime | None = Field(None, description="When the controller observed that it ended.")


class CancelStatus(ApiModel):
    """Progress of a cancel."""

    requested_at: datetime | None = Field(
        None, description="When the cancel was accepted. Absent if a timeout stopped the work."
    )
    deadline: datetime | None = Field(
        None, description="When the controller stops waiting for the work to end."
    )
    requested_by: list[str] | None = Field(
        None,
        description="What requested the cancel: cancel, desiredState or deletion.",
        json_schema_extra=LIST_ATOMIC,
    )
    left_behind: list[LeftBehind] | None = Field(
        None,
        description="Objects that had not ended at the deadline and may still be running.",
        json_schema_extra=LIST_ATOMIC,
    )


class StopStatus(ApiModel):
    """The request to stop work, recorded before the controller stops it."""

    requested_at: datetime = Field(
        description="When the stop was requested. Work that ended before this time keeps its result."
    )
    reason: str = Field(description="Reason for the stop, such as Cancelled or StepTimedOut.")
    deadline: datetime | None = Field(
        None, description="When the controller stops waiting for the work to end."
    )
    message: str | None = Field(None, description="What the object was waiting for when it timed out.")


class RetentionStatus(ApiModel):
    """When the object and its Jobs will be deleted, and which setting applies."""

    job_ttl_seconds: Int64 | None = Field(None, description="Seconds to keep finished Jobs. Absent: forever.")
    job_expires_at: datetime | None = Field(None, description="When the finished Jobs will be deleted.")
    job_source: str | None = Field(None, description="Setting that determines jobTtlSeconds.")
    run_retention_seconds: Int64 | None = Field(
        None, description="Seconds to keep this object after it finishes. Absent: forever."
    )
    run_expires_at: datetime | None = Field(None, description="When this object will be deleted.")
    run_source: str | None = Field(None, description="Setting that determines runRetentionSeconds.")
    history: str | None = Field(
        None,
        description="On if the result is stored in the history before the object is deleted, otherwise Off.",
    )


class Outcome(ApiModel):
    """The recorded result of an attempt."""

    phase: Phase = Field(description="Succeeded, Failed or Cancelled.")
    reason: str = Field(description="Machine-readable reason, such as NonZeroExit or JobDeleted.")
    message: str | None = Field(None, description="Human-readable details.")
    exit_code: Int32 | None = Field(
        None, description="Exit code of the container that determined the result."
    )
    started_at: datetime | None = Field(
        None, description="When the container started, according to the node's clock."
    )
    finished_at: datetime | None = Field(
        None, description="When the container ended, according to the node's clock."
    )
    outputs: dict[str, str] | None = Field(None, description="Outputs of the work.")


class ExecutionStatus(ObjectStatus):
    """Status fields of every run and child."""

    phase: Phase | None = Field(
        None, description="Pending, Running, Cancelling, Succeeded, Failed or Cancelled."
    )
    reason: str | None = Field(None, description="Machine-readable reason for the phase.")
    message: str | None = Field(None, description="Human-readable details.")
    started_at: datetime | None = Field(
        None, description="When the phase first became Running. Never changes."
    )
    finished_at: datetime | None = Field(
        None, description="When the phase first became terminal. Never changes."
    )
    cancel: CancelStatus | None = Field(None, description="The accepted cancel and its progress.")
    stop: StopStatus | None = Field(None, description="Request to stop the work.")
    retention: RetentionStatus | None = Field(
        None, description="When the object and its Jobs will be deleted."
    )
    outputs: dict[str, str] | None = Field(None, description="Outputs of the run.")
