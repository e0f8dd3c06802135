"""The status of an AgentRun."""

from datetime import datetime
from typing import Any

from pydantic import Field

from jangar.api.jobs import EndedAttempt, JobRecord, JobRef
from jangar.api.lifecycle import ExecutionStatus, Outcome
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32
from jangar.api.phases import AdmissionPhase, AgentRunPhase, Phase, StepPhase

MAX_ARTIFACTS = 50
MAX_URL = 2048


class RunArtifact(ApiModel):
    """An artifact that the run produced."""

    name: str = Field(description="Name of the artifact.")
    path: str | None = Field(None, description="Path of the artifact in the container.")
    key: str | None = Field(None, description="Key of the artifact in the artifact store.")
    url: str | None = Field(None, description="URL of the artifact.", max_length=MAX_URL)


class RunVcs(ApiModel):
    """The resolved repository of a run."""

    provider: str | None = Field(None, description="Name of the VersionControlProvider.")
    repository: str | None = Field(None, description="The repository, such as owner/name.")
    base_branch: str | None = Field(None, description="Branch that the run starts from.")
    head_branch: str | None = Field(None, description="Branch that the run pushes to.")
    mode: str | None = Field(None, description="Access of the run: read-write, read-only or none.")


class RunContract(ApiModel):
    """Required and missing parameters of a run's task."""

    required_keys: list[str] | None = Field(
        None, description="Parameters that the implementation requires.", json_schema_extra=LIST_ATOMIC
    )
    missing_keys: list[str] | None = Field(
        None, description="Required parameters that the run does not set.", json_schema_extra=LIST_ATOMIC
    )


class LoopIteration(ApiModel):
    """One iteration of a step's loop."""

    index: Int32 | None = Field(None, description="Number of the iteration, starting at 1.")
    phase: StepPhase | None = Field(None, description="Phase of the iteration.")
    attempts: Int32 | None = Field(None, description="Number of attempts so far.")
    started_at: datetime | None = Field(None, description="When the first attempt started.")
    finished_at: datetime | None = Field(None, description="When its completion was recorded.")
    message: str | None = Field(None, description="Human-readable details.")
    job_ref: JobRef | None = Field(None, description="Job of the last attempt.")


class LoopStatus(ApiModel):
    """Progress of a step's loop."""

    current_iteration: Int32 | None = Field(
        None, description="Number of the current iteration, starting at 1."
    )
    completed_iterations: Int32 | None = Field(None, description="Number of finished iterations.")
    max_iterations: Int32 | None = Field(None, description="Maximum number of iterations.")
    stop_reason: str | None = Field(
        None,
        description="Why the loop ended: LoopConditionFalse, LoopMaxIterationsReached, "
        "LoopIterationFailed or LoopConditionError.",
    )
    retained_iterations: Int32 | None = Field(
        None, description="Number of iterations in the iterations list."
    )
    pruned_iterations: Int32 | None = Field(
        None, description="Number of older iterations dropped from the list."
    )
    last_control: dict[str, Any] | None = Field(
        None, description="Data that the last iteration wrote for the loop condition.", json_schema_extra=OPEN
    )
    iterations: list[LoopIteration] | None = Field(
        None, description="The latest iterations, oldest first.", json_schema_extra=LIST_ATOMIC
    )


class WorkflowStepStatus(ApiModel):
    """Status of one workflow step."""

    name: str | None = Field(None, description="Name of the step.")
    phase: StepPhase | None = Field(
        None, description="Pending, Running, Retrying, Succeeded, Failed, Skipped or Cancelled."
    )
    reason: str | None = Field(None, description="Machine-readable reason for the phase.")
    message: str | None = Field(None, description="Human-readable details.")
    attempt: Int32 | None = Field(
        None, description="Number of the current or last attempt; 0 before the first one."
    )
    started_at: datetime | None = Field(None, description="When the first attempt started. Never changes.")
    finished_at: datetime | None = Field(
        None, description="When the end of the step was recorded. Never changes."
    )
    last_transition_time: datetime | None = Field(None, description="When the phase last changed.")
    next_retry_at: datetime | None = Field(None, description="Earliest start of the next attempt.")
    job: JobRecord | None = Field(None, description="The Job of the current or last attempt.")
    job_ref: JobRef | None = Field(None, description="The same Job, for older clients.")
    job_observed_at: datetime | None = Field(
        None, description="When the controller first observed that Job, for older clients."
    )
    outcome: Outcome | None = Field(None, description="Result of the last attempt, once known.")
    attempts: list[EndedAttempt] | None = Field(
        None, description="Earlier attempts, oldest first.", json_schema_extra=LIST_ATOMIC
    )
    loop: LoopStatus | None = Field(None, description="Progress of the step's loop.")


class WorkflowStatus(ApiModel):
    """Status of a run's workflow."""

    phase: Phase | None = Field(None, description="Phase of the workflow.")
    last_transition_time: datetime | None = Field(None, description="When the phase last changed.")
    steps: list[WorkflowStepStatus] | None = Field(
        None, description="The steps, in the order in which they run.", json_schema_extra=LIST_ATOMIC
    )


class RunAdmission(ApiModel):
    """The admission decision of the operator's policy."""

    phase: AdmissionPhase | None = Field(
        None, description="Admitted: the run may start. Held: it waits for capacity. Denied: it never starts."
    )
    reason: str | None = Field(None, description="Machine-readable reason, such as ConcurrencyLimit.")
    message: str | None = Field(None, description="Human-readable details.")
    position: Int32 | None = Field(
        None,
        description="Position in the namespace's queue while Held, "
        "rounded up to 1, 2, 5, 10, 20, 50 and so on.",
    )
    admitted_at: datetime | None = Field(
        None, description="When the run was admitted. Rate limits count by this time."
    )


class AgentRunStatus(ExecutionStatus):
    """Status of a run."""

    # AgentRunPhase is Phase plus Template; equal members compare equal.
    phase: AgentRunPhase | None = Field(  # type: ignore[assignment]
        None,
        description="Pending, Running, Cancelling, Succeeded, Failed or Cancelled; Template for a run "
        "that only serves as a template of schedules.",
    )
    admission: RunAdmission | None = Field(
        None, description="Admission decision. Absent if admission is off."
    )
    runtime_ref: dict[str, Any] | None = Field(
        None,
        description="The started workload: type, name, namespace, uid and runtime-specific fields.",
        json_schema_extra=OPEN,
    )
    job: JobRecord | None = Field(
        None,
        description="The Job of the current attempt. For runtime workflow, the Job of the current step.",
    )
    attempts: list[EndedAttempt] | None = Field(
        None,
        description="Earlier attempts, oldest first. Only set with onJobMissing: Retry, "
        "or with retries of the Agent or of a workflow step.",
        json_schema_extra=LIST_ATOMIC,
    )
    outcome: Outcome | None = Field(None, description="Result of the work, once known.")
    workflow: WorkflowStatus | None = Field(None, description="Status of the workflow, for runtime workflow.")
    artifacts: list[RunArtifact] | None = Field(
        None,
        description="Artifacts of the run, at most 50.",
        max_length=MAX_ARTIFACTS,
        json_schema_extra=LIST_ATOMIC,
    )
    vcs: RunVcs | None = Field(None, description="The repository that the run works on.")
    contract: RunContract | None = Field(None, description="Parameters that the task requires.")
    system_prompt_hash: str | None = Field(None, description="SHA-256 of the system prompt, in hex.")
    spec_hash: str | None = Field(None, description="SHA-256 of the spec that was started, in hex.")
    runner: dict[str, Any] | None = Field(
        None, description="Final report of the runner in the container.", json_schema_extra=OPEN
    )
