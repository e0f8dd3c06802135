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
    uid: str | None = Field(None, description="Uid of the child, once it was seen.")
    hash: str | None = Field(
        None,
        description="sha256 of the spec, step and attempt that the child must have, recorded before it is created.",
    )


class AttemptStatus(ApiModel):
    """One ended attempt of a step."""

    attempt: Int32 = Field(description="Number of the attempt, from 1.")
    phase: StepPhase = Field(description="How it ended.")
    reason: str | None = Field(None, description="Why, in one word.")
    message: str | None = Field(None, description="The same for people.")
    child: str | None = Field(None, description="Name of the attempt's child.")
    started_at: datetime | None = Field(None, description="When the attempt was started.")
    finished_at: datetime | None = Field(None, description="When its end was recorded.")
    exit_code: Int32 | None = Field(None, description="Exit code of its work, where there is one.")


class StepStop(ApiModel):
    """The announcement that a step's attempt is being stopped."""

    requested_at: datetime = Field(description="Work that ended before this time keeps its own result.")
    reason: str = Field(description="Why it is stopped: Cancelled, StepTimedOut or RunTimedOut.")
    deadline: datetime = Field(description="When waiting for its end stops.")


class StepStatus(ApiModel):
    """How one step is doing."""

    name: str = Field(description="Name of the step.")
    kind: str = Field(description="Kind of the step.")
    phase: StepPhase | None = Field(
        None, description="Pending, Running, Retrying, Succeeded, Failed, Skipped or Cancelled."
    )
    reason: str | None = Field(None, description="Why, in one word.")
    message: str | None = Field(None, description="The same for people.")
    attempt: Int32 | None = Field(
        None, description="Number of the current or last attempt; 0 before the first."
    )
    started_at: datetime | None = Field(None, description="When the first attempt was started; never moves.")
    finished_at: datetime | None = Field(None, description="When the step's end was recorded; never moves.")
    attempt_started_at: datetime | None = Field(
        None, description="When the current attempt was started; timeouts of waiting steps count from here."
    )
    last_transition_time: datetime | None = Field(None, description="When phase last changed.")
    next_retry_at: datetime | None = Field(None, description="When the next attempt may start.")
    resource_ref: ObjectRef | None = Field(None, description="The child of the current or last attempt.")
    outputs: dict[str, str] | None = Field(None, description="What the step's work returned.")
    exit_code: Int32 | None = Field(None, description="Exit code of the last attempt's work.")
    failure_ignored: bool | None = Field(None, description="true when continueOnFailure forgave the failure.")
    causes: list[str] | None = Field(
        None,
        description="The nearest ancestors that made it Skipped, at most 10.",
        json_schema_extra=LIST_ATOMIC,
    )
    causes_total: Int32 | None = Field(None, description="How many causes there are in all.")
    attempts: list[AttemptStatus] | None = Field(
        None,
        description="The ended attempts before the current one, oldest first.",
        json_schema_extra=LIST_ATOMIC,
    )
    stop: StepStop | None = Field(None, description="Why and since when the attempt is being stopped.")


class StepCounts(ApiModel):
    """How many steps are in which phase."""

    total: Int32 = Field(description="All steps.")
    pending: Int32 = Field(0, description="Not ended, and not running yet.")
    running: Int32 = Field(0, description="Running now.")
    retrying: Int32 = Field(0, description="Waiting to retry.")
    succeeded: Int32 = Field(0, description="Succeeded.")
    failed: Int32 = Field(0, description="Failed, forgiven ones not counted.")
    ignored: Int32 = Field(0, description="Failed and forgiven by continueOnFailure.")
    skipped: Int32 = Field(0, description="Skipped.")
    cancelled: Int32 = Field(0, description="Cancelled.")


class SnapshotSource(ApiModel):
    """The Orchestration that a snapshot was taken of."""

    name: str = Field(description="Name of the Orchestration.")
    uid: str = Field(description="Uid of the Orchestration.")


class SnapshotRef(ApiModel):
    """The immutable copy of the definition that the run executes."""

    name: str = Field(description="Name of the ConfigMap that holds it, owned by the run.")
    hash: str = Field(
        description="sha256 of the definition, recorded before the ConfigMap is created. "
        "A ConfigMap with another content is not used."
    )
    uid: str | None = Field(None, description="Its uid.")
    orchestration: SnapshotSource | None = Field(
        None,
        description="The Orchestration that it was taken of; the subject of SecretBindings for the run's steps. "
        "Unset for a run with a definition of its own.",
    )


class StepPages(ApiModel):
    """Where all step statuses of a big run are."""

    names: list[str] = Field(
        description="ConfigMaps that hold the pages, in step order.", json_schema_extra=LIST_ATOMIC
    )
    uids: list[str] | None = Field(
        None,
        description="Uids of these ConfigMaps; others are not read.",
        json_schema_extra=LIST_ATOMIC,
    )
    page_size: Int32 = Field(description="Steps on each page but the last.")
    total: Int32 = Field(description="Steps on all pages.")


class OrchestrationRunStatus(ExecutionStatus):
    """How the run is doing."""

    run_id: str | None = Field(None, description="Name under which older clients know the run.")
    execution_mode: ExecutionMode | None = Field(
        None, description="Sequential or Graph, resolved at the start."
    )
    counts: StepCounts | None = Field(None, description="Steps by phase.")
    steps: str | None = Field(None, description="Ended steps of all, such as 3/7.")
    snapshot_ref: SnapshotRef | None = Field(
        None, description="The definition as it was when the run started."
    )
    step_statuses: list[StepStatus] | None = Field(
        None,
        description="Every step; in a run of more than 500 steps only the active and failed ones.",
        json_schema_extra=LIST_ATOMIC,
    )
    step_pages: StepPages | None = Field(None, description="Where all steps of a big run are.")
