"""Agent: a provider with settings, defaults and limits, which runs use."""

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
    """Limits on what runs of the agent may use. An empty or absent list allows everything."""

    allowed_service_accounts: list[str] | None = Field(
        None,
        description="Service accounts that runs may use. Empty or unset allows all.",
        json_schema_extra=LIST_ATOMIC,
    )
    allowed_secrets: list[str] | None = Field(
        None,
        description="Secrets that runs may use, including those of the Memory and the repository. "
        "Empty or unset allows all.",
        json_schema_extra=LIST_ATOMIC,
    )
    allowed_implementation_source_providers: list[str] | None = Field(
        None,
        description="Systems that tasks may come from, such as github or linear. Empty or unset allows all.",
        json_schema_extra=LIST_ATOMIC,
    )


class AgentDefaults(ApiModel):
    """Defaults of a run's fields."""

    model_config = ConfigDict(json_schema_extra=validations(at_most_one("systemPrompt", "systemPromptRef")))

    timeout_seconds: Seconds | None = Field(
        None, description="Time limit of an attempt in seconds. Unset or 0: no limit."
    )
    retry_limit: Int32 | None = Field(
        None, description="Maximum number of retries after a failed attempt. Default 0.", ge=0
    )
    system_prompt: str | None = Field(
        None,
        description="System prompt of the agent. Mutually exclusive with systemPromptRef.",
        max_length=MAX_SYSTEM_PROMPT,
    )
    system_prompt_ref: SystemPromptRef | None = Field(
        None,
        description="Secret or ConfigMap key that holds the system prompt. Mutually exclusive with systemPrompt.",
    )


class AgentSpec(ApiModel):
    """An agent that runs can use."""

    provider_ref: NameRef = Field(description="The AgentProvider that defines which program to run, and how.")
    config: dict[str, Any] | None = Field(
        None,
        description="Custom settings that the provider's templates read as {{ agent.config.NAME }}.",
        json_schema_extra=OPEN,
    )
    env: list[EnvVar] | None = Field(
        None,
        description="Variables for the provider's templates. They are not set in the container.",
        json_schema_extra=LIST_ATOMIC,
    )
    memory_ref: NameRef | None = Field(None, description="Default Memory of the agent's runs.")
    vcs_ref: NameRef | None = Field(
        None, description="Default VersionControlProvider, used if neither the run nor its task names one."
    )
    security: AgentSecurity | None = Field(None, description="Limits on what runs of the agent may use.")
    defaults: AgentDefaults | None = Field(
        None, description="Defaults for runs that do not set these values."
    )


class AgentStatus(ObjectStatus):
    """Whether the agent can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")


AGENT = Kind(
    group=GROUP,
    name="Agent",
    plural="agents",
    short_names=("ag",),
    description="An agent that runs tasks: a provider with settings, defaults and limits.",
    spec=AgentSpec,
    status=AgentStatus,
    columns=(
        READY,
        Column(name="Provider", path=".spec.providerRef.name", description="AgentProvider of the agent."),
        AGE,
    ),
)
