"""Agent: who does the work - a provider, its settings, and what it may touch."""

from typing import Any

from pydantic import ConfigDict, Field

from jangar.api.agents import GROUP
from jangar.api.agents.prompts import MAX_SYSTEM_PROMPT, SystemPromptRef
from jangar.api.containers import EnvVar
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.lifecycle import Seconds
from jangar.api.meta import (
    LIST_ATOMIC,
    OPEN,
    ApiModel,
    Int32,
    NameRef,
    ObjectStatus,
    at_most_one,
    validations,
)
from jangar.api.phases import DefinitionPhase


class AgentSecurity(ApiModel):
    """What runs of the agent may use. An empty or absent list allows all."""

    allowed_service_accounts: list[str] | None = Field(
        None,
        description="Service accounts that runs may use; empty or unset allows all.",
        json_schema_extra=LIST_ATOMIC,
    )
    allowed_secrets: list[str] | None = Field(
        None,
        description="Secrets that runs may be given, those of memory and repository included; "
        "empty or unset allows all.",
        json_schema_extra=LIST_ATOMIC,
    )
    allowed_implementation_source_providers: list[str] | None = Field(
        None,
        description="Systems that tasks may come from, such as github or linear; empty or unset allows all.",
        json_schema_extra=LIST_ATOMIC,
    )


class AgentDefaults(ApiModel):
    """What a run gets where it says nothing itself."""

    model_config = ConfigDict(json_schema_extra=validations(at_most_one("systemPrompt", "systemPromptRef")))

    timeout_seconds: Seconds | None = Field(
        None, description="Seconds that an attempt may take before it is stopped; unset or 0 is unbounded."
    )
    retry_limit: Int32 | None = Field(
        None, description="How often a failed attempt is repeated. Default 0.", ge=0
    )
    system_prompt: str | None = Field(
        None,
        description="System prompt of the agent; excludes systemPromptRef.",
        max_length=MAX_SYSTEM_PROMPT,
    )
    system_prompt_ref: SystemPromptRef | None = Field(
        None, description="Where the system prompt of the agent is kept; excludes systemPrompt."
    )


class AgentSpec(ApiModel):
    """An agent that runs can use."""

    provider_ref: NameRef = Field(description="The AgentProvider that says which program is run, and how.")
    config: dict[str, Any] | None = Field(
        None,
        description="Settings of your own, which the provider's templates read as {{ agent.config.NAME }}.",
        json_schema_extra=OPEN,
    )
    env: list[EnvVar] | None = Field(
        None,
        description="Variables that the provider's templates can read; they are not set in the container.",
        json_schema_extra=LIST_ATOMIC,
    )
    memory_ref: NameRef | None = Field(None, description="The Memory of runs that name none.")
    vcs_ref: NameRef | None = Field(
        None, description="The VersionControlProvider of runs that name none, nor does their task."
    )
    security: AgentSecurity | None = Field(None, description="What runs of the agent may use.")
    defaults: AgentDefaults | None = Field(None, description="What a run gets where it says nothing itself.")


class AgentStatus(ObjectStatus):
    """Whether the agent can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")


AGENT = Kind(
    group=GROUP,
    name="Agent",
    plural="agents",
    short_names=("ag",),
    description="An agent that can be given tasks: a provider with settings, defaults and limits.",
    spec=AgentSpec,
    status=AgentStatus,
    columns=(
        READY,
        Column(name="Provider", path=".spec.providerRef.name", description="Which AgentProvider it uses."),
        AGE,
    ),
)
