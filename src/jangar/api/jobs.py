"""What a status remembers of a Job: the intent to create it, that it was seen, and how it ended."""

from datetime import datetime

from pydantic import Field

from jangar.api.lifecycle import Outcome, Seconds
from jangar.api.meta import ApiModel, Int32


class JobTerms(ApiModel):
    """What the definition that is run said when the attempt started; a later change of it comes too late."""

    timeout_seconds: Seconds | None = Field(
        None, description="Its time limit; absent is unbounded. One of the run itself wins over it."
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        None, description="How long it wants a finished Job kept; absent is the controller's setting."
    )
    retries: Int32 | None = Field(
        None, description="How often a failed attempt is repeated; absent is never."
    )
    retry_backoff_seconds: Seconds | None = Field(
        None, description="Seconds between the end of an attempt and the next one; absent is none."
    )


class JobRecord(ApiModel):
    """The Job of the current attempt.

    Name and attempt are written before the Job is created, so that a restart in between finds the same Job
    instead of making a second one.
    """

    name: str = Field(description="Name of the Job, recorded before the Job is created.")
    attempt: Int32 = Field(description="Number of the attempt that the Job belongs to, from 1.", ge=1)
    step: str | None = Field(
        None, description="Step of the workflow that the Job belongs to, where the runtime is workflow."
    )
    iteration: Int32 | None = Field(
        None, description="Iteration of the step's loop that the Job belongs to, from 1."
    )
    terms: JobTerms | None = Field(None, description="Recorded with the intent, for the whole attempt.")
    intended_at: datetime | None = Field(
        None,
        description="When an attempt after the first, or one of a workflow's step, was begun; its time limit counts "
        "from then.",
    )
    started_at: datetime | None = Field(
        None, description="When such an attempt was first seen to run; that of the first is the child's own."
    )
    since: str | None = Field(
        None,
        description="Version of the API server's data before the create. What became of a create whose answer was "
        "lost is asked of the server's history since then.",
    )
    created_at: datetime | None = Field(
        None,
        description="When the API server confirmed the creation; absent while only the intent is recorded.",
    )
    observed_at: datetime | None = Field(
        None, description="When the Job was first seen; a Job that was seen and is gone counts as missing."
    )
    uid: str | None = Field(
        None, description="Uid of the Job, so that another of the same name is not taken for it."
    )
    pod_uid: str | None = Field(
        None,
        description="Uid of the first pod that was seen to run; its outcome counts, a second pod is ended.",
    )


class JobRef(ApiModel):
    """A Job as older clients read it."""

    name: str | None = Field(None, description="Name of the Job.")
    namespace: str | None = Field(None, description="Namespace of the Job.")
    uid: str | None = Field(None, description="Uid of the Job.")


class EndedAttempt(ApiModel):
    """An attempt before the current one."""

    attempt: Int32 = Field(description="Number of the attempt, from 1.", ge=1)
    job: str | None = Field(None, description="Name of the attempt's Job.")
    uid: str | None = Field(None, description="Uid of that Job, where it was seen.")
    outcome: Outcome = Field(description="How the attempt ended.")
