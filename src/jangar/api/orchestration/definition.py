"""Orchestration: a DAG of steps.

The graph is validated in domain/orchestration, because CEL's cost budget only suffices for about 100 steps.
"""

from typing import Any

from pydantic import Field

from jangar.api.agents.agentrun import Goal, Runtime, VcsPolicy, Workflow, Workload
from jangar.api.agents.implementation import ImplementationText
from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.lifecycle import OnJobMissingPolicy, Seconds
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32, NameRef, ObjectStatus, list_map
from jangar.api.phases import DefinitionPhase, ExecutionMode

GROUP = "orchestration.proompteng.ai"
MAX_STEPS = 10_000


class Parameter(ApiModel):
    """A declared parameter of an orchestration."""

    name: str = Field(description="Name, used as {{ parameters.NAME }}.", min_length=1, max_length=253)
    description: str | None = Field(None, description="Description of the parameter.")
    default: str | None = Field(None, description="Value if the run does not set the parameter.")
    required: bool | None = Field(
        None,
        description="true rejects runs that do not set the parameter. A parameter with a default is never required.",
    )
    enum: list[str] | None = Field(None, description="Allowed values.", json_schema_extra=LIST_ATOMIC)


class DeclaredOutput(ApiModel):
    """A declared output of a step."""

    name: str = Field(description="Name, used as {{ steps.STEP.outputs.NAME }}.", min_length=1)
    default: str | None = Field(None, description="Value if the step does not write the output.")


class ReturnedOutput(ApiModel):
    """An output of an orchestration."""

    name: str = Field(description="Name of the output.", min_length=1)
    value: str = Field(description="Template of the value, such as {{ steps.build.outputs.image }}.")
    description: str | None = Field(None, description="Description of the output.")


class Timeouts(ApiModel):
    """Time limits."""

    total_seconds: Seconds | None = Field(
        None,
        description="Time limit of the run in seconds, counted from its creation. Unset or 0: no limit.",
    )


class Policies(ApiModel):
    """Policies of a run."""

    fail_fast: bool | None = Field(
        None,
        description="true starts no further steps after a failure, except for ignored failures. Default false.",
    )
    max_parallel: Int32 | None = Field(
        None, description="Maximum number of steps that run at the same time. Unset or 0: no limit.", ge=0
    )
    timeouts: Timeouts | None = Field(None, description="Time limits.")
    retries: Int32 | None = Field(None, description="Default number of retries of steps. Default 0.", ge=0)


class StepImplementation(ImplementationText):
    """An inline task: under `inline` or, in older manifests, directly."""

    inline: ImplementationText | None = Field(None, description="The task.")
    text: str | None = Field(  # type: ignore[assignment]  # required there, optional next to `inline`
        None,
        description="Text of the task. Older manifests set it here instead of in inline.text.",
        max_length=131072,
    )


class Step(OnJobMissingPolicy):
    """One step of an orchestration."""

    name: str = Field(
        description="Name of the step, unique within the orchestration: 1-63 letters, digits, - and _. "
        "It starts and ends with a letter or digit."
    )
    kind: str = Field(
        description="Kind of the step: AgentRun, ToolRun, SubOrchestration, ApprovalGate, SignalWait, Checkpoint "
        "or MemoryOp."
    )
    depends_on: list[str] | None = Field(
        None,
        description="Steps that must succeed before this one starts. If no step of the orchestration has this field, "
        "steps run in list order. If any step has it, even as [], a step without it starts immediately.",
        json_schema_extra=LIST_ATOMIC,
    )
    when: str | None = Field(
        None,
        description="CEL expression over parameters and steps, such as parameters.env == 'prod'. false skips the step.",
        max_length=4096,
    )
    continue_on_failure: bool | None = Field(
        None,
        description="true ignores a failure of this step: dependent steps start and the run can succeed.",
    )
    retries: Int32 | None = Field(
        None, description="Maximum number of retries after a failed attempt. Default 0.", ge=0
    )
    retry_backoff_seconds: Seconds | None = Field(
        None, description="Delay in seconds between a failed attempt and the next one. Default 0."
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Time limit of an attempt in seconds, from the creation of the child. Unset or 0: no limit.",
    )
    outputs: list[DeclaredOutput] | None = Field(
        None,
        description="Declared outputs of the step, with defaults.",
        json_schema_extra=list_map("name"),
    )
    with_: dict[str, str] | None = Field(
        None,
        alias="with",
        description="Parameters of the child. {{ parameters.x }} and {{ steps.build.outputs.y }} are replaced; "
        '{{ steps.build.outputs.y ?? "text" }} sets a default.',
    )
    agent_ref: NameRef | None = Field(None, description="AgentRun: the Agent to run.")
    tool_ref: NameRef | None = Field(None, description="ToolRun: the Tool to run.")
    orchestration_ref: NameRef | None = Field(None, description="SubOrchestration: the Orchestration to run.")
    policy_ref: str | None = Field(None, description="ApprovalGate: name of the ApprovalPolicy that decides.")
    signal_ref: NameRef | None = Field(None, description="SignalWait: the Signal to wait for.")
    delivery_id: str | None = Field(None, description="SignalWait: ID of the delivery to wait for.")
    implementation_spec_ref: NameRef | None = Field(
        None, description="AgentRun: the ImplementationSpec with the task."
    )
    implementation: StepImplementation | None = Field(None, description="AgentRun: the task, inline.")
    runtime: Runtime | None = Field(None, description="AgentRun: runtime of the run. Default: type job.")
    workload: Workload | None = Field(None, description="AgentRun: image, resources and volumes.")
    workflow: Workflow | None = Field(None, description="AgentRun: workflow steps of the AgentRun.")
    memory_ref: NameRef | None = Field(None, description="AgentRun: the Memory to use.")
    secrets: list[str] | None = Field(
        None,
        description="AgentRun: Secrets whose keys become environment variables.",
        json_schema_extra=LIST_ATOMIC,
    )
    vcs_ref: NameRef | None = Field(None, description="AgentRun: the VersionControlProvider to use.")
    vcs_policy: VcsPolicy | None = Field(None, description="AgentRun: access to the repository.")
    goal: Goal | None = Field(None, description="AgentRun: goal and token budget.")
    policy: dict[str, Any] | None = Field(
        None, description="AgentRun: legacy policy names.", json_schema_extra=OPEN
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        None, description="Ignored; accepted for older manifests. Children are deleted with their run."
    )


class OrchestrationSpec(ApiModel):
    """A DAG of steps."""

    entrypoint: str | None = Field(
        None, description="Name of an existing step. Accepted for older manifests; has no effect."
    )
    parameters: list[Parameter] | None = Field(
        None,
        description="Declared parameters. If there are any, runs may only set declared parameters.",
        json_schema_extra=list_map("name"),
    )
    steps: list[Step] = Field(
        description="Steps of the orchestration, at most 10,000.",
        max_length=MAX_STEPS,
        json_schema_extra=LIST_ATOMIC,
    )
    outputs: list[ReturnedOutput] | None = Field(
        None, description="Outputs of a run of this orchestration.", json_schema_extra=list_map("name")
    )
    policies: Policies | None = Field(
        None, description="Policies of runs. A run may override each field.", json_schema_extra=OPEN
    )


class OrchestrationStatus(ObjectStatus):
    """Whether the orchestration can be run."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    execution_mode: ExecutionMode | None = Field(None, description="Order of the steps: Sequential or Graph.")
    step_count: Int32 | None = Field(None, description="Number of steps.")


ORCHESTRATION = Kind(
    group=GROUP,
    name="Orchestration",
    plural="orchestrations",
    short_names=("orch",),
    description="A DAG of agent and tool steps.",
    spec=OrchestrationSpec,
    status=OrchestrationStatus,
    columns=(
        PHASE,
        READY,
        Column(name="Steps", path=".status.stepCount", type="integer", description="Number of steps."),
        Column(name="Mode", path=".status.executionMode", description="Sequential or Graph.", priority=1),
        Column(
            name="Entrypoint", path=".spec.entrypoint", description="Entrypoint step, if set.", priority=1
        ),
        AGE,
    ),
)
