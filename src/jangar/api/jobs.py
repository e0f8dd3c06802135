"""Records of Jobs in a status: the intent to create one, its observation and its outcome."""

from datetime import datetime

from pydantic import Field

from jangar.api.lifecycle import Outcome, Seconds
from jangar.api.meta import ApiModel, Int32


class JobTerms(ApiModel):
    """Limits of an attempt, copied from the definition when the attempt started. Later changes do not apply."""

    timeout_seconds: Seconds | None = Field(
        None, description="Time limit in seconds. Absent: no limit. The run's own limit overrides it."
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        None, description="Seconds to keep a finished Job. Absent: the controller's setting."
    )
    retries: Int32 | None = Field(
        None, description="Maximum number of retries after a failed attempt. Absent: no retries."
    )
    retry_backoff_seconds: Seconds | None = Field(
        None, description="Delay in seconds between a failed attempt and the next one. Absent: no delay."
    )


class JobRecord(ApiModel):
    """The Job of the current attempt.

    Name and attempt are written before the Job is created: after a restart in between, the controller finds that
    Job instead of creating a second one.
    """

    name: str = Field(description="Name of the Job, recorded before the Job is created.")
    attempt: Int32 = Field(description="Number of the attempt that the Job belongs to, starting at 1.", ge=1)
    step: str | None = Field(None, description="Workflow step that the Job belongs to, for runtime workflow.")
    iteration: Int32 | None = Field(
        None, description="Iteration of the step's loop that the Job belongs to, starting at 1."
    )
    terms: JobTerms | None = Field(
        None, description="Limits of the attempt, recorded before the Job is created."
    )
    intended_at: datetime | None = Field(
        None,
        description="When a retry, or an attempt of a workflow step, began. Its time limit counts from this time.",
    )
    started_at: datetime | None = Field(
        None,
        description="When the retry was first observed running. For the first attempt, see status.startedAt.",
    )
    since: str | None = Field(
        None,
        description="resourceVersion before the Job was created. If the response to the create is lost, the controller "
        "watches from this version to learn whether the Job was created.",
    )
    created_at: datetime | None = Field(
        None,
        description="When the API server confirmed the creation. Absent until then.",
    )
    observed_at: datetime | None = Field(
        None,
        description="When the controller first observed the Job. A later disappearance counts as missing.",
    )
    uid: str | None = Field(
        None, description="UID of the Job. A Job with the same name and another UID is not used."
    )
    pod_uid: str | None = Field(
        None,
        description="UID of the first pod observed running. Its outcome counts; a second pod is stopped.",
    )


class JobRef(ApiModel):
    """A reference to a Job, for older clients."""

    name: str | None = Field(None, description="Name of the Job.")
    namespace: str | None = Field(None, description="Namespace of the Job.")
    uid: str | None = Field(None, description="UID of the Job.")


class EndedAttempt(ApiModel):
    """An earlier attempt."""

    attempt: Int32 = Field(description="Number of the attempt, starting at 1.", ge=1)
    job: str | None = Field(None, description="Name of the attempt's Job.")
    uid: str | None = Field(None, description="UID of that Job, if it was observed.")
    outcome: Outcome = Field(description="Result of the attempt.")
