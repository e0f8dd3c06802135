"""Orchestration: a DAG of steps, as users write it.

Knows the shape; the rules of the graph live in domain/orchestration, because CEL's cost budget ends near 100 steps.
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
