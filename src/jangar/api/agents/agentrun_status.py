"""How one execution of an agent is doing."""

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
    """Something that the run left behind."""

    name: str = Field(description="Name of the artifact.")
    path: str | None = Field(None, description="File in the container that held it.")
    key: str | None = Field(None, description="Key under which a store keeps it.")
    url: str | None = Field(None, description="Address at which it can be read.", max_length=MAX_URL)


class RunVcs(ApiModel):
    """The repository that the run works on, as it was resolved."""

    provider: str | None = Field(None, description="Name of the VersionControlProvider.")
    repository: str | None = Field(None, description="The repository, such as owner/name.")
    base_branch: str | None = Field(None, description="Branch that the work starts from.")
    head_branch: str | None = Field(None, description="Branch that the work goes to.")
    mode: str | None = Field(None, description="What the run may do there: read-write, read-only or none.")


class RunContract(ApiModel):
    """Which parameters the task required."""

    required_keys: list[str] | None = Field(
        None, description="Parameters that the implementation requires.", json_schema_extra=LIST_ATOMIC
    )
    missing_keys: list[str] | None = Field(
        None, description="Those of them that the run did not bring.", json_schema_extra=LIST_ATOMIC
    )


class LoopIteration(ApiModel):
    """One run of a looped step."""

    index: Int32 | None = Field(None, description="Number of the iteration, from 1.")
    phase: StepPhase | None = Field(None, description="How the iteration is doing or ended.")
    attempts: Int32 | None = Field(None, description="How many attempts it took so far.")
    started_at: datetime | None = Field(None, description="When its first attempt was started.")
    finished_at: datetime | None = Field(None, description="When its end was recorded.")
    message: str | None = Field(None, description="What happened, for people.")
    job_ref: JobRef | None = Field(None, description="Job of its last attempt.")


class LoopStatus(ApiModel):
    """How a looped step is doing."""

    current_iteration: Int32 | None = Field(None, description="Number of the iteration under way, from 1.")
    completed_iterations: Int32 | None = Field(None, description="How many iterations have ended.")
    max_iterations: Int32 | None = Field(None, description="How many iterations there may be.")
    stop_reason: str | None = Field(
        None,
        description="Why the loop ended: LoopConditionFalse, LoopMaxIterationsReached, "
        "LoopIterationFailed or LoopConditionError.",
    )
    retained_iterations: Int32 | None = Field(None, description="How many iterations the list below holds.")
    pruned_iterations: Int32 | None = Field(
        None, description="How many older iterations were dropped from it."
    )
    last_control: dict[str, Any] | None = Field(
        None, description="What the last iteration wrote for the condition.", json_schema_extra=OPEN
    )
    iterations: list[LoopIteration] | None = Field(
        None, description="The latest iterations, oldest first.", json_schema_extra=LIST_ATOMIC
    )


class WorkflowStepStatus(ApiModel):
    """How one step of the run's workflow is doing."""

    name: str | None = Field(None, description="Name of the step.")
    phase: StepPhase | None = Field(
        None, description="Pending, Running, Retrying, Succeeded, Failed, Skipped or Cancelled."
    )
    reason: str | None = Field(None, description="Why it is in this phase, in one word.")
    message: str | None = Field(None, description="The same for people.")
    attempt: Int32 | None = Field(
        None, description="Number of the current or last attempt; 0 before the first."
    )
    started_at: datetime | None = Field(None, description="When the first attempt was started; never moves.")
    finished_at: datetime | None = Field(None, description="When the step's end was recorded; never moves.")
    last_transition_time: datetime | None = Field(None, description="When phase last changed.")
    next_retry_at: datetime | None = Field(None, description="When the next attempt may start.")
    job: JobRecord | None = Field(None, description="The Job of the current or last attempt.")
    job_ref: JobRef | None = Field(None, description="The same Job, as older clients read it.")
    job_observed_at: datetime | None = Field(
        None, description="When that Job was first seen, as older clients read it."
    )
    outcome: Outcome | None = Field(None, description="How the last attempt ended, once that is known.")
    attempts: list[EndedAttempt] | None = Field(
        None, description="The attempts before the current one, oldest first.", json_schema_extra=LIST_ATOMIC
    )
    loop: LoopStatus | None = Field(None, description="How the step's loop is doing.")


class WorkflowStatus(ApiModel):
    """How the run's workflow is doing."""

    phase: Phase | None = Field(None, description="Phase of the workflow as a whole.")
    last_transition_time: datetime | None = Field(None, description="When phase last changed.")
    steps: list[WorkflowStepStatus] | None = Field(
        None, description="The steps, in the order in which they run.", json_schema_extra=LIST_ATOMIC
    )


class RunAdmission(ApiModel):
    """What the operator's policy says about the run."""

    phase: AdmissionPhase | None = Field(
        None, description="Admitted: it may start. Held: it waits for a place. Denied: it never starts."
    )
    reason: str | None = Field(None, description="Why, in one word, such as ConcurrencyLimit.")
    message: str | None = Field(None, description="The same for people.")
    position: Int32 | None = Field(
        None,
        description="While Held: how many runs of the namespace at most are served up to this one; "
        "rounded up to 1, 2, 5, 10, 20, 50 and so on.",
    )
    admitted_at: datetime | None = Field(None, description="When it was admitted; rates are counted by it.")


class AgentRunStatus(ExecutionStatus):
    """How the run is doing."""

    # Every phase of a child is one of an AgentRun too and equal to it; only Template is added.
    phase: AgentRunPhase | None = Field(  # type: ignore[assignment]
        None,
        description="Pending, Running, Cancelling, Succeeded, Failed or Cancelled; Template for a run "
        "that is only copied by schedules.",
    )
    admission: RunAdmission | None = Field(
        None, description="Whether policy lets the run start; absent where there is no admission."
    )
    runtime_ref: dict[str, Any] | None = Field(
        None,
        description="The work that was started: type, name, namespace and uid, and what the runtime adds.",
        json_schema_extra=OPEN,
    )
    job: JobRecord | None = Field(
        None,
        description="The Job of the current attempt; where the runtime is workflow, that of the step under way.",
    )
    attempts: list[EndedAttempt] | None = Field(
        None,
        description="The attempts before the current one, oldest first; "
        "there are some only with onJobMissing: Retry, retries of the Agent or of a workflow's step.",
        json_schema_extra=LIST_ATOMIC,
    )
    outcome: Outcome | None = Field(None, description="How the work ended, once that is known.")
    workflow: WorkflowStatus | None = Field(None, description="The steps, where the runtime is workflow.")
    artifacts: list[RunArtifact] | None = Field(
        None,
        description="What the run left behind, at most 50.",
        max_length=MAX_ARTIFACTS,
        json_schema_extra=LIST_ATOMIC,
    )
    vcs: RunVcs | None = Field(None, description="The repository that the run works on.")
    contract: RunContract | None = Field(None, description="Which parameters the task required.")
    system_prompt_hash: str | None = Field(
        None, description="sha256 of the system prompt that was used, in hex."
    )
    spec_hash: str | None = Field(None, description="sha256 of the spec that was started, in hex.")
    runner: dict[str, Any] | None = Field(
        None, description="What the runner in the container reported at its end.", json_schema_extra=OPEN
    )
