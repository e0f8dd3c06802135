"""AgentRun: one execution of an agent, as users ask for it.

The parts that an orchestration step may also carry bear no CEL rules: a step list may have 10,000 items,
and the API server multiplies a rule's cost by that.
"""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from jangar.api.agents import GROUP
from jangar.api.agents.agentrun_status import AgentRunStatus
from jangar.api.agents.implementation import Implementation
from jangar.api.agents.prompts import MAX_SYSTEM_PROMPT, SystemPromptRef
from jangar.api.containers import Resources, Volume
from jangar.api.kind import AGE, EXPIRES, FINISHED, MESSAGE, PHASE, REASON, STARTED, Column, Kind
from jangar.api.lifecycle import CANCEL_IS_FINAL, OnJobMissingPolicy, Seconds, Steerable
from jangar.api.meta import (
    LIST_ATOMIC,
    OPEN,
    ApiModel,
    Int32,
    Int64,
    NameRef,
    at_most_one,
    exactly_one,
    immutable,
    validations,
)

MAX_PARAMETERS = 100
MAX_OBJECTIVE = 8192
MAX_STATE_VOLUMES = 20


class Goal(ApiModel):
    """What the agent should reach, beyond the task's text."""

    objective: str = Field(
        description="What should be true at the end, in words.", min_length=1, max_length=MAX_OBJECTIVE
    )
    token_budget: Int64 | None = Field(
        None, description="How many tokens the agent may spend on it; unset is unbounded.", ge=1
    )


class VcsPolicy(ApiModel):
    """What a run may do with its repository."""

    required: bool | None = Field(
        None,
        description="true fails the run if the repository cannot be used; false (default) goes on without.",
    )
    mode: Literal["read-write", "read-only", "none"] | None = Field(
        None,
        description="What the agent may do with the repository: read-write (default), read-only or none.",
    )


class Runtime(ApiModel):
    """Where a run's work is done."""

    type: Literal["workflow", "job", "temporal", "custom"] = Field(
        description="What does the work: job, one Kubernetes Job; workflow, one Job a step; temporal and custom are "
        "not supported yet, and a run that asks for one fails."
    )
    config: dict[str, Any] | None = Field(
        None,
        description="Settings of the runtime. For job and workflow: serviceAccount, nodeSelector, "
        "tolerations, affinity, resources, imagePullSecrets and other pod settings. "
        "For temporal: workflowType, taskQueue. For custom: endpoint, payload.",
        json_schema_extra=OPEN,
    )


class Workload(ApiModel):
    """The container that does the work."""

    image: str | None = Field(
        None,
        description="Container image that holds the provider's binary. Default: the provider's, then the "
        "controller's.",
    )
    resources: Resources | None = Field(None, description="What the container needs and may use of the node.")
    volumes: list[Volume] | None = Field(
        None, description="Directories mounted into the container.", json_schema_extra=LIST_ATOMIC
    )


class LoopSource(ApiModel):
    """Where an iteration leaves the facts that the next decision is made on."""

    type: Literal["file"] | None = Field(None, description="What is read; file is the only type.")
    path: str | None = Field(
        None,
        description="File in the container that the work writes as JSON. "
        "Default /workspace/.agentrun/loop-control.json.",
    )
    on_missing: Literal["stop", "fail"] | None = Field(
        None,
        description="What to do without the file: stop (default) ends the loop well, fail fails the step.",
    )
    on_invalid: Literal["stop", "fail"] | None = Field(
        None,
        description="What to do if it is not JSON: fail (default) fails the step, stop ends the loop well.",
    )


class LoopCondition(ApiModel):
    """When a loop goes on."""

    type: Literal["cel"] | None = Field(None, description="Language of the expression; cel is the only one.")
    expression: str | None = Field(
        None,
        description="CEL expression that is true while the loop should go on, over iteration.index, "
        "iteration.maxIterations, iteration.last.phase and iteration.last.control (the file's content).",
        max_length=4096,
    )
    source: LoopSource | None = Field(None, description="Where iteration.last.control comes from.")


class LoopState(ApiModel):
    """What iterations share."""

    required: bool | None = Field(
        None, description="true refuses a loop whose volumes would not outlive an iteration. Default false."
    )
    volume_names: list[str] | None = Field(
        None,
        description="Volumes of the workload that carry files from one iteration to the next.",
        max_length=MAX_STATE_VOLUMES,
        json_schema_extra=LIST_ATOMIC,
    )


class Loop(ApiModel):
    """Repeats a step."""

    max_iterations: Int32 = Field(description="How often the step runs at most.", ge=1)
    condition: LoopCondition | None = Field(
        None, description="Asked after each iteration; unset repeats maxIterations times."
    )
    state: LoopState | None = Field(None, description="What iterations share.")


class WorkflowStep(ApiModel):
    """One Job of a workflow."""

    name: str = Field(description="Name of the step, unique within the workflow.")
    implementation_spec_ref: NameRef | None = Field(
        None, description="ImplementationSpec to work on in this step, instead of the run's."
    )
    implementation: Implementation | None = Field(
        None, description="Task of this step, given in place, instead of the run's."
    )
    parameters: dict[str, str] | None = Field(
        None,
        description="Parameters of this step; each wins over the run's of the same name.",
        max_length=MAX_PARAMETERS,
    )
    workload: Workload | None = Field(
        None, description="Container of this step; replaces the run's workload as a whole."
    )
    retries: Int32 | None = Field(
        None,
        description="How often a failed attempt is repeated. Default: the Agent's retryLimit, else 0.",
        ge=0,
    )
    retry_backoff_seconds: Seconds | None = Field(
        None, description="Seconds between the end of an attempt and the next one. Default 0."
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Seconds an attempt may take before it is stopped; 0 is unbounded. Default: the Agent's.",
    )
    loop: Loop | None = Field(
        None, description="Repeats the step a number of times or while a condition holds."
    )


class Workflow(ApiModel):
    """Steps that run one after another within one agent run."""

    steps: list[WorkflowStep] = Field(
        description="The steps, in the order in which they run.", json_schema_extra=LIST_ATOMIC
    )


class AgentRunSpec(Steerable, OnJobMissingPolicy):
    """One execution of an agent."""

    model_config = ConfigDict(
        json_schema_extra=validations(
            exactly_one("implementationSpecRef", "implementation"),
            at_most_one("systemPrompt", "systemPromptRef"),
            CANCEL_IS_FINAL,
            immutable(
                "agentRef",
                "implementationSpecRef",
                "implementation",
                "goal",
                "runtime",
                "workflow",
                "workload",
                "parameters",
                "secrets",
                "systemPrompt",
                "systemPromptRef",
                "memoryRef",
                "vcsRef",
                "vcsPolicy",
                "idempotencyKey",
                "onJobMissing",
            ),
        ),
    )

    agent_ref: NameRef = Field(description="The Agent to run.")
    implementation_spec_ref: NameRef | None = Field(
        None, description="The ImplementationSpec that says what to do; either this or implementation is set."
    )
    implementation: Implementation | None = Field(
        None, description="What to do, given in place; either this or implementationSpecRef is set."
    )
    goal: Goal | None = Field(
        None, description="What the agent should reach, and how many tokens it may spend."
    )
    runtime: Runtime = Field(description="Where the work is done.")
    workflow: Workflow | None = Field(
        None, description="Steps of a run whose runtime.type is workflow; they run one after another."
    )
    workload: Workload | None = Field(None, description="Image, resources and volumes of the container.")
    parameters: dict[str, str] | None = Field(
        None,
        description="Values for templates and for the agent, at most 100 of at most 2048 bytes each.",
        max_length=MAX_PARAMETERS,
    )
    secrets: list[str] | None = Field(
        None,
        description="Secrets whose keys become environment variables of the work; the Agent must allow them.",
        json_schema_extra=LIST_ATOMIC,
    )
    system_prompt: str | None = Field(
        None,
        description="System prompt of this run, instead of the Agent's; excludes systemPromptRef.",
        max_length=MAX_SYSTEM_PROMPT,
    )
    system_prompt_ref: SystemPromptRef | None = Field(
        None, description="Where the system prompt of this run is kept; excludes systemPrompt."
    )
    memory_ref: NameRef | None = Field(
        None, description="The Memory to use. Default: the Agent's, then the namespace's default one."
    )
    vcs_ref: NameRef | None = Field(
        None,
        description="The VersionControlProvider to use. Default: the implementation's, then the Agent's.",
    )
    vcs_policy: VcsPolicy | None = Field(None, description="What the run may do with the repository.")
    idempotency_key: str | None = Field(
        None, description="Of several runs of one Agent with the same key, only the first does any work."
    )


AGENT_RUN = Kind(
    group=GROUP,
    name="AgentRun",
    plural="agentruns",
    short_names=("ar",),
    description="One execution of an Agent on one task.",
    spec=AgentRunSpec,
    status=AgentRunStatus,
    columns=(
        PHASE,
        Column(name="Agent", path=".spec.agentRef.name", description="What it runs."),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
        Column(name="Runtime", path=".spec.runtime.type", description="Where the work is done.", priority=1),
    ),
    selectable=(".spec.agentRef.name", ".status.phase"),
)
