"""Orchestration (a DAG of steps) and OrchestrationRun (one execution of it).

Knows the shape; the rules of the graph live in domain/orchestration, because CEL's cost budget ends near 100 steps.
"""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from jangar.api.agents.agentrun import Goal, Runtime, VcsPolicy, Workflow, Workload
from jangar.api.agents.implementation import ImplementationText
from jangar.api.kind import AGE, EXPIRES, FINISHED, MESSAGE, PHASE, READY, REASON, STARTED, Column, Kind
from jangar.api.lifecycle import CANCEL_IS_FINAL, ExecutionStatus, OnJobMissingPolicy, Seconds, Steerable
from jangar.api.meta import (
    LIST_ATOMIC,
    OPEN,
    ApiModel,
    Int32,
    NameRef,
    ObjectStatus,
    immutable,
    list_map,
    rule,
    validations,
)
from jangar.api.phases import DefinitionPhase, ExecutionMode, StepPhase

GROUP = "orchestration.proompteng.ai"
MAX_STEPS = 10_000


class Parameter(ApiModel):
    """A declared input of an orchestration."""

    name: str = Field(description="Name, used as {{ parameters.NAME }}.", min_length=1, max_length=253)
    description: str | None = Field(None, description="What the parameter means.")
    default: str | None = Field(None, description="Value when the run gives none.")
    required: bool | None = Field(
        None,
        description="true refuses a run that gives no value. A parameter with a default is never required.",
    )
    enum: list[str] | None = Field(None, description="The values allowed.", json_schema_extra=LIST_ATOMIC)


class DeclaredOutput(ApiModel):
    """An output that a step is expected to write."""

    name: str = Field(description="Name, used as {{ steps.STEP.outputs.NAME }}.", min_length=1)
    default: str | None = Field(None, description="Value when the work wrote none.")


class ReturnedOutput(ApiModel):
    """An output of the whole orchestration."""

    name: str = Field(description="Name under which a parent run finds the value.", min_length=1)
    value: str = Field(description="Template, such as {{ steps.build.outputs.image }}.")
    description: str | None = Field(None, description="What the output means.")


class Timeouts(ApiModel):
    """Bounds in time."""

    total_seconds: Seconds | None = Field(
        None,
        description="Seconds from the run's creation until it is stopped as RunTimedOut; unset or 0 is unbounded.",
    )


class Policies(ApiModel):
    """How a run behaves as a whole."""

    fail_fast: bool | None = Field(
        None,
        description="true starts nothing new after the first failure that is not forgiven. Default false.",
    )
    max_parallel: Int32 | None = Field(
        None, description="How many steps may have a live child at once; unset or 0 is unbounded.", ge=0
    )
    timeouts: Timeouts | None = Field(None, description="Bounds in time.")
    retries: Int32 | None = Field(
        None, description="Retries of steps that have none of their own. Default 0.", ge=0
    )


class StepImplementation(ImplementationText):
    """What the agent should do, given in place: either under `inline` or, as older manifests do, directly."""

    inline: ImplementationText | None = Field(None, description="The implementation, given in place.")
    text: str | None = Field(  # type: ignore[assignment]  # required there, optional beside `inline`
        None,
        description="The task in words; older manifests give it here instead of under inline.",
        max_length=131072,
    )


class Step(OnJobMissingPolicy):
    """One step of an orchestration."""

    name: str = Field(
        description="Name of the step, unique within the orchestration: 1-63 letters, digits, - and _, beginning and "
        "ending with a letter or digit."
    )
    kind: str = Field(
        description="What the step does: AgentRun, ToolRun, SubOrchestration, ApprovalGate, SignalWait, Checkpoint "
        "or MemoryOp."
    )
    depends_on: list[str] | None = Field(
        None,
        description="Steps that must end well before this one starts. If no step of the orchestration has this key, "
        "steps run in list order; if any has it, even [], a step without it starts at once.",
        json_schema_extra=LIST_ATOMIC,
    )
    when: str | None = Field(
        None,
        description="CEL expression over parameters and steps, such as parameters.env == 'prod'; false skips the step.",
        max_length=4096,
    )
    continue_on_failure: bool | None = Field(
        None, description="true forgives this step's own failure: dependents start, the run may succeed."
    )
    retries: Int32 | None = Field(
        None, description="How often a failed attempt is repeated. Default 0.", ge=0
    )
    retry_backoff_seconds: Seconds | None = Field(
        None, description="Seconds between the end of an attempt and the next one. Default 0."
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Seconds from the child's creation until the attempt is stopped; unset or 0 is unbounded.",
    )
    outputs: list[DeclaredOutput] | None = Field(
        None,
        description="Outputs the work is expected to write, with defaults.",
        json_schema_extra=list_map("name"),
    )
    with_: dict[str, str] | None = Field(
        None,
        alias="with",
        description="Parameters of the child. {{ parameters.x }} and {{ steps.build.outputs.y }} are replaced; "
        '{{ steps.build.outputs.y ?? "text" }} has a default.',
    )
    agent_ref: NameRef | None = Field(None, description="AgentRun: the Agent to run.")
    tool_ref: NameRef | None = Field(None, description="ToolRun: the Tool to run.")
    orchestration_ref: NameRef | None = Field(None, description="SubOrchestration: the Orchestration to run.")
    policy_ref: str | None = Field(None, description="ApprovalGate: name of the ApprovalPolicy that decides.")
    signal_ref: NameRef | None = Field(None, description="SignalWait: the Signal to wait for.")
    delivery_id: str | None = Field(None, description="SignalWait: the one delivery to wait for.")
    implementation_spec_ref: NameRef | None = Field(
        None, description="AgentRun: the ImplementationSpec to work on."
    )
    implementation: StepImplementation | None = Field(None, description="AgentRun: the task, given in place.")
    runtime: Runtime | None = Field(None, description="AgentRun: where it runs. Default: type job.")
    workload: Workload | None = Field(None, description="AgentRun: image, resources and volumes.")
    workflow: Workflow | None = Field(None, description="AgentRun: steps inside the agent run.")
    memory_ref: NameRef | None = Field(None, description="AgentRun: the Memory to use.")
    secrets: list[str] | None = Field(
        None,
        description="AgentRun: Secrets given to the agent as environment.",
        json_schema_extra=LIST_ATOMIC,
    )
    vcs_ref: NameRef | None = Field(None, description="AgentRun: the VersionControlProvider to use.")
    vcs_policy: VcsPolicy | None = Field(None, description="AgentRun: what it may do with the repository.")
    goal: Goal | None = Field(None, description="AgentRun: objective and token budget.")
    policy: dict[str, Any] | None = Field(
        None, description="AgentRun: policy names of older manifests.", json_schema_extra=OPEN
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        None, description="Kept for older manifests; children are deleted together with their run."
    )


class OrchestrationSpec(ApiModel):
    """A DAG of steps."""

    entrypoint: str | None = Field(
        None, description="Name of a step, kept for older manifests; checked to exist, otherwise unused."
    )
    parameters: list[Parameter] | None = Field(
        None,
        description="Inputs of a run. If any is declared, a run may give only declared ones.",
        json_schema_extra=list_map("name"),
    )
    steps: list[Step] = Field(
        description="The steps. At most 10,000.", max_length=MAX_STEPS, json_schema_extra=LIST_ATOMIC
    )
    outputs: list[ReturnedOutput] | None = Field(
        None, description="What a run of this orchestration returns.", json_schema_extra=list_map("name")
    )
    policies: Policies | None = Field(
        None, description="How a run behaves as a whole; a run may override each.", json_schema_extra=OPEN
    )


class OrchestrationStatus(ObjectStatus):
    """Whether the orchestration can be run."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    execution_mode: ExecutionMode | None = Field(None, description="How a run would order the steps.")
    step_count: Int32 | None = Field(None, description="Number of steps.")


class RetryOf(ApiModel):
    """The run that this one repeats."""

    name: str = Field(description="Name of the finished run.", min_length=1)
    uid: str | None = Field(
        None, description="Its uid, so that a recreated run of the same name is not meant."
    )
    from_step: str | None = Field(
        None,
        description="First step to run again, with all that depend on it. Unset: every step that did not succeed.",
    )


class OrchestrationRunSpec(Steerable):
    """One execution of an orchestration."""

    model_config = ConfigDict(
        json_schema_extra=validations(
            CANCEL_IS_FINAL,
            immutable("orchestrationRef", "orchestration", "parameters", "deliveryId", "policies", "retryOf"),
            rule(
                "has(self.retryOf) ? !(has(self.orchestrationRef) && has(self.orchestration)) "
                ": has(self.orchestrationRef) != has(self.orchestration)",
                "exactly one of orchestrationRef and orchestration must be set",
            ),
        )
    )

    orchestration_ref: NameRef | None = Field(None, description="The Orchestration to run.")
    orchestration: OrchestrationSpec | None = Field(
        None, description="The definition itself, so that one object holds a whole run."
    )
    parameters: dict[str, str] | None = Field(None, description="Values of the orchestration's parameters.")
    policies: Policies | None = Field(
        None, description="Overrides the orchestration's policies, field by field.", json_schema_extra=OPEN
    )
    delivery_id: str | None = Field(None, description="Idempotency key of the submission that made this run.")
    retry_of: RetryOf | None = Field(
        None, description="Repeats a finished run with its definition, keeping the steps that succeeded."
    )


class ObjectRef(ApiModel):
    """A child object."""

    api_version: str | None = Field(None, description="API group and version of the child.")
    kind: str | None = Field(None, description="Kind of the child.")
    name: str | None = Field(None, description="Name of the child.")
    namespace: str | None = Field(None, description="Namespace of the child.")
    uid: str | None = Field(None, description="Uid of the child, once it was seen.")


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


class SnapshotRef(ApiModel):
    """The immutable copy of the definition that the run executes."""

    name: str = Field(description="Name of the ConfigMap that holds it, owned by the run.")
    hash: str = Field(description="sha256 of the definition.")
    uid: str | None = Field(None, description="Its uid.")


class StepPages(ApiModel):
    """Where all step statuses of a big run are."""

    names: list[str] = Field(
        description="ConfigMaps that hold the pages, in step order.", json_schema_extra=LIST_ATOMIC
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


ORCHESTRATION = Kind(
    group=GROUP,
    name="Orchestration",
    plural="orchestrations",
    short_names=("orch",),
    description="A DAG of agent and tool steps that can be run.",
    spec=OrchestrationSpec,
    status=OrchestrationStatus,
    columns=(
        PHASE,
        READY,
        Column(name="Steps", path=".status.stepCount", type="integer", description="Number of steps."),
        Column(name="Mode", path=".status.executionMode", description="Sequential or Graph.", priority=1),
        Column(name="Entrypoint", path=".spec.entrypoint", description="Named step, if any.", priority=1),
        AGE,
    ),
)

ORCHESTRATION_RUN = Kind(
    group=GROUP,
    name="OrchestrationRun",
    plural="orchestrationruns",
    short_names=("orun",),
    description="One execution of an Orchestration.",
    spec=OrchestrationRunSpec,
    status=OrchestrationRunStatus,
    columns=(
        PHASE,
        Column(name="Steps", path=".status.steps", description="Ended steps of all."),
        Column(name="Orchestration", path=".spec.orchestrationRef.name", description="What it runs."),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
        Column(name="RunId", path=".status.runId", description="Name for older clients.", priority=1),
    ),
    selectable=(".spec.orchestrationRef.name", ".status.phase"),
)
