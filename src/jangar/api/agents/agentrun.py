"""The spec of an AgentRun: one execution of an agent.

Types that orchestration steps share have no CEL rules: a step list may have 10,000 items, and the API server
multiplies the cost of a rule by that number.
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
    """The goal of a run, in addition to the task's text."""

    objective: str = Field(
        description="What must be true at the end, in plain text.", min_length=1, max_length=MAX_OBJECTIVE
    )
    token_budget: Int64 | None = Field(
        None, description="Maximum number of tokens that the agent may use. Unset: no limit.", ge=1
    )


class VcsPolicy(ApiModel):
    """Access of a run to its repository."""

    required: bool | None = Field(
        None,
        description="true fails the run if the repository is unavailable; false (default) continues without it.",
    )
    mode: Literal["read-write", "read-only", "none"] | None = Field(
        None,
        description="Access of the agent to the repository: read-write (default), read-only or none.",
    )


class Runtime(ApiModel):
    """The runtime that executes a run."""

    type: Literal["workflow", "job", "temporal", "custom"] = Field(
        description="Runtime of the run: job creates one Kubernetes Job, workflow creates one Job per step. "
        "temporal and custom are not supported yet: such a run fails."
    )
    config: dict[str, Any] | None = Field(
        None,
        description="Settings of the runtime. For job and workflow: serviceAccount, nodeSelector, "
        "tolerations, affinity, resources, imagePullSecrets and other pod settings. "
        "For temporal: workflowType, taskQueue. For custom: endpoint, payload.",
        json_schema_extra=OPEN,
    )


class Workload(ApiModel):
    """The container of a run."""

    image: str | None = Field(
        None,
        description="Container image that contains the provider's binary. Default: the provider's image, then the "
        "controller's.",
    )
    resources: Resources | None = Field(None, description="Resource requests and limits of the container.")
    volumes: list[Volume] | None = Field(
        None, description="Volumes mounted into the container.", json_schema_extra=LIST_ATOMIC
    )


class LoopSource(ApiModel):
    """The file in which an iteration reports data for the loop condition."""

    type: Literal["file"] | None = Field(None, description="Type of the source. Only file is supported.")
    path: str | None = Field(
        None,
        description="Path of the JSON file that the container writes. "
        "Default /workspace/.agentrun/loop-control.json.",
    )
    on_missing: Literal["stop", "fail"] | None = Field(
        None,
        description="If the file is missing: stop (default) ends the loop successfully, fail fails the step.",
    )
    on_invalid: Literal["stop", "fail"] | None = Field(
        None,
        description="If the file is not valid JSON: fail (default) fails the step, stop ends the loop successfully.",
    )


class LoopCondition(ApiModel):
    """The condition on which a loop continues."""

    type: Literal["cel"] | None = Field(
        None, description="Language of the expression. Only cel is supported."
    )
    expression: str | None = Field(
        None,
        description="CEL expression; the loop continues while it is true. It can use iteration.index, "
        "iteration.maxIterations, iteration.last.phase and iteration.last.control (the file's content).",
        max_length=4096,
    )
    source: LoopSource | None = Field(None, description="Source of iteration.last.control.")


class LoopState(ApiModel):
    """Files that the iterations of a loop share."""

    required: bool | None = Field(
        None,
        description="true rejects a loop whose volumes do not persist between iterations. Default false.",
    )
    volume_names: list[str] | None = Field(
        None,
        description="Volumes of the workload that keep their files from one iteration to the next.",
        max_length=MAX_STATE_VOLUMES,
        json_schema_extra=LIST_ATOMIC,
    )


class Loop(ApiModel):
    """Repeats a step."""

    max_iterations: Int32 = Field(description="Maximum number of iterations.", ge=1)
    condition: LoopCondition | None = Field(
        None,
        description="Condition evaluated after each iteration. Unset: the step runs maxIterations times.",
    )
    state: LoopState | None = Field(None, description="Files that the iterations share.")


class WorkflowStep(ApiModel):
    """One Job of a workflow."""

    name: str = Field(description="Name of the step, unique within the workflow.")
    implementation_spec_ref: NameRef | None = Field(
        None, description="ImplementationSpec of this step. Default: the run's task."
    )
    implementation: Implementation | None = Field(
        None, description="Inline task of this step. Default: the run's task."
    )
    parameters: dict[str, str] | None = Field(
        None,
        description="Parameters of this step. Each overrides the run's parameter of the same name.",
        max_length=MAX_PARAMETERS,
    )
    workload: Workload | None = Field(
        None, description="Container of this step. Replaces the run's workload completely."
    )
    retries: Int32 | None = Field(
        None,
        description="Maximum number of retries after a failed attempt. Default: the Agent's retryLimit, then 0.",
        ge=0,
    )
    retry_backoff_seconds: Seconds | None = Field(
        None, description="Delay in seconds between a failed attempt and the next one. Default 0."
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Time limit of an attempt in seconds; 0: no limit. Default: the Agent's.",
    )
    loop: Loop | None = Field(
        None, description="Repeats the step a number of times or while a condition is true."
    )


class Workflow(ApiModel):
    """Steps that run one after another in one AgentRun."""

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
        None, description="The ImplementationSpec with the task. Mutually exclusive with implementation."
    )
    implementation: Implementation | None = Field(
        None, description="The task, inline. Mutually exclusive with implementationSpecRef."
    )
    goal: Goal | None = Field(None, description="Goal of the agent, and how many tokens it may use.")
    runtime: Runtime = Field(description="Runtime that executes the run.")
    workflow: Workflow | None = Field(
        None, description="Steps that run one after another. Requires runtime.type workflow."
    )
    workload: Workload | None = Field(None, description="Image, resources and volumes of the container.")
    parameters: dict[str, str] | None = Field(
        None,
        description="Values for templates and for the agent: at most 100 parameters of at most 2048 bytes each.",
        max_length=MAX_PARAMETERS,
    )
    secrets: list[str] | None = Field(
        None,
        description="Secrets whose keys become environment variables of the container. The Agent must allow them.",
        json_schema_extra=LIST_ATOMIC,
    )
    system_prompt: str | None = Field(
        None,
        description="System prompt of this run. Default: the Agent's. Mutually exclusive with systemPromptRef.",
        max_length=MAX_SYSTEM_PROMPT,
    )
    system_prompt_ref: SystemPromptRef | None = Field(
        None,
        description="Secret or ConfigMap key with the system prompt. Mutually exclusive with systemPrompt.",
    )
    memory_ref: NameRef | None = Field(
        None, description="The Memory to use. Default: the Agent's, then the default Memory of the namespace."
    )
    vcs_ref: NameRef | None = Field(
        None,
        description="The VersionControlProvider to use. Default: the implementation's, then the Agent's.",
    )
    vcs_policy: VcsPolicy | None = Field(None, description="Access of the run to the repository.")
    idempotency_key: str | None = Field(
        None,
        description="Idempotency key. Of several runs of an Agent with the same key, only the first one executes.",
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
        Column(name="Agent", path=".spec.agentRef.name", description="Agent of the run."),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
        Column(
            name="Runtime",
            path=".spec.runtime.type",
            description="Runtime that executes the run.",
            priority=1,
        ),
    ),
    selectable=(".spec.agentRef.name", ".status.phase"),
)
