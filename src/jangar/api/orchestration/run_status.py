"""The status of an OrchestrationRun and of its steps."""

from datetime import datetime

from pydantic import Field

from jangar.api.lifecycle import ExecutionStatus
from jangar.api.meta import LIST_ATOMIC, ApiModel, Int32
from jangar.api.phases import ExecutionMode, StepPhase


class ObjectRef(ApiModel):
    """A child object."""

    api_version: str | None = Field(None, description="API group and version of the child.")
    kind: str | None = Field(None, description="Kind of the child.")
    name: str | None = Field(None, description="Name of the child.")
    namespace: str | None = Field(None, description="Namespace of the child.")
    uid: str | None = Field(None, description="UID of the child, once observed.")
    hash: str | None = Field(
        None,
        description="SHA-256 of the child's spec, step and attempt, recorded before the child is created.",
    )


class AttemptStatus(ApiModel):
    """One finished attempt of a step."""

    attempt: Int32 = Field(description="Number of the attempt, starting at 1.")
    phase: StepPhase = Field(description="Final phase of the attempt.")
    reason: str | None = Field(None, description="Machine-readable reason.")
    message: str | None = Field(None, description="Human-readable details.")
    child: str | None = Field(None, description="Name of the child of this attempt.")
    started_at: datetime | None = Field(None, description="When the attempt started.")
    finished_at: datetime | None = Field(None, description="When its completion was recorded.")
    exit_code: Int32 | None = Field(None, description="Exit code of the container, if known.")


class StepStop(ApiModel):
    """The request to stop a step's attempt."""

    requested_at: datetime = Field(
        description="When the stop was requested. Work that ended before this time keeps its result."
    )
    reason: str = Field(description="Reason for the stop: Cancelled, StepTimedOut or RunTimedOut.")
    deadline: datetime = Field(description="When the controller stops waiting for the work to end.")


class StepStatus(ApiModel):
    """Status of one step."""

    name: str = Field(description="Name of the step.")
    kind: str = Field(description="Kind of the step.")
    phase: StepPhase | None = Field(
        None, description="Pending, Running, Retrying, Succeeded, Failed, Skipped or Cancelled."
    )
    reason: str | None = Field(None, description="Machine-readable reason.")
    message: str | None = Field(None, description="Human-readable details.")
    attempt: Int32 | None = Field(
        None, description="Number of the current or last attempt; 0 before the first one."
    )
    started_at: datetime | None = Field(None, description="When the first attempt started. Never changes.")
    finished_at: datetime | None = Field(
        None, description="When the end of the step was recorded. Never changes."
    )
    attempt_started_at: datetime | None = Field(
        None,
        description="When the current attempt started. Time limits of waiting steps count from this time.",
    )
    last_transition_time: datetime | None = Field(None, description="When the phase last changed.")
    next_retry_at: datetime | None = Field(None, description="Earliest start of the next attempt.")
    resource_ref: ObjectRef | None = Field(None, description="The child of the current or last attempt.")
    outputs: dict[str, str] | None = Field(None, description="Outputs of the step.")
    exit_code: Int32 | None = Field(None, description="Exit code of the last attempt.")
    failure_ignored: bool | None = Field(None, description="true if continueOnFailure ignored the failure.")
    causes: list[str] | None = Field(
        None,
        description="Closest ancestors that caused the step to be Skipped, at most 10.",
        json_schema_extra=LIST_ATOMIC,
    )
    causes_total: Int32 | None = Field(None, description="Total number of causes.")
    attempts: list[AttemptStatus] | None = Field(
        None,
        description="Earlier attempts, oldest first.",
        json_schema_extra=LIST_ATOMIC,
    )
    stop: StepStop | None = Field(None, description="Request to stop the current attempt.")


class StepCounts(ApiModel):
    """Number of steps by phase."""

    total: Int32 = Field(description="Total number of steps.")
    pending: Int32 = Field(0, description="Not started yet.")
    running: Int32 = Field(0, description="Currently running.")
    retrying: Int32 = Field(0, description="Waiting to retry.")
    succeeded: Int32 = Field(0, description="Succeeded.")
    failed: Int32 = Field(0, description="Failed, without ignored failures.")
    ignored: Int32 = Field(0, description="Failed, but ignored because of continueOnFailure.")
    skipped: Int32 = Field(0, description="Skipped.")
    cancelled: Int32 = Field(0, description="Cancelled.")


class SnapshotSource(ApiModel):
    """The Orchestration that a snapshot was taken from."""

    name: str = Field(description="Name of the Orchestration.")
    uid: str = Field(description="UID of the Orchestration.")


class SnapshotRef(ApiModel):
    """The immutable copy of the definition that the run executes."""

    name: str = Field(description="Name of the ConfigMap with the definition, owned by the run.")
    hash: str = Field(
        description="SHA-256 of the definition, recorded before the ConfigMap is created. "
        "A ConfigMap with different content is not used."
    )
    uid: str | None = Field(None, description="UID of the ConfigMap.")
    orchestration: SnapshotSource | None = Field(
        None,
        description="Orchestration that the snapshot was taken from; SecretBindings for the run's steps apply to it. "
        "Unset for a run with an inline definition.",
    )


class StepPages(ApiModel):
    """ConfigMaps with all step statuses of a large run."""

    names: list[str] = Field(
        description="ConfigMaps with the pages, in step order.", json_schema_extra=LIST_ATOMIC
    )
    uids: list[str] | None = Field(
        None,
        description="UIDs of these ConfigMaps. ConfigMaps with other UIDs are not read.",
        json_schema_extra=LIST_ATOMIC,
    )
    page_size: Int32 = Field(description="Number of steps per page, except for the last page.")
    total: Int32 = Field(description="Total number of steps.")


class OrchestrationRunStatus(ExecutionStatus):
    """Status of a run."""

    run_id: str | None = Field(None, description="ID of the run, for older clients.")
    execution_mode: ExecutionMode | None = Field(
        None, description="Sequential or Graph; determined when the run starts."
    )
    counts: StepCounts | None = Field(None, description="Number of steps by phase.")
    steps: str | None = Field(None, description="Finished and total steps, such as 3/7.")
    snapshot_ref: SnapshotRef | None = Field(
        None, description="Copy of the definition from when the run started."
    )
    step_statuses: list[StepStatus] | None = Field(
        None,
        description="Status of every step. In a run with more than 500 steps, only active and failed steps.",
        json_schema_extra=LIST_ATOMIC,
    )
    step_pages: StepPages | None = Field(
        None, description="ConfigMaps with all step statuses of a large run."
    )
