"""AgentProvider: which program an agent is, and how it is called."""

from typing import Any, Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.containers import Resources
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int64, ObjectStatus
from jangar.api.phases import DefinitionPhase

MAX_URL = 2048


class InputFile(ApiModel):
    """A file that the program finds when it starts."""

    path: str = Field(description="Where the file is put in the container.")
    content: str = Field(description="Content of the file; templates are replaced as in argsTemplate.")


class OutputArtifact(ApiModel):
    """Something that the program leaves behind."""

    name: str = Field(description="Name under which the run's status lists it.")
    path: str | None = Field(None, description="File in the container that holds it.")
    key: str | None = Field(None, description="Key under which a store keeps it; templates are replaced.")
    url: str | None = Field(
        None, description="Address at which it can be read; templates are replaced.", max_length=MAX_URL
    )


class SecretEnvVar(ApiModel):
    """A variable whose value is a Secret's."""

    name: str = Field(description="Name of the variable.")
    secret_name: str = Field(description="Name of the Secret, in the run's namespace.")
    key: str = Field(description="Key within the Secret.")
    optional: bool | None = Field(
        None, description="true starts the work even if the Secret or key does not exist. Default false."
    )


class ServiceAccountToken(ApiModel):
    """A token of the service account, made for one audience and renewed while the work runs."""

    audience: str = Field(description="Who the token is meant for.", min_length=1, max_length=253)
    expiration_seconds: Int64 = Field(
        description="Seconds that each token is valid, from 600 to 3600.", ge=600, le=3600
    )
    mount_path: str = Field(
        description="Absolute path of the file that holds the token.",
        min_length=2,
        max_length=1024,
        pattern="^/",
    )


class ProviderWorkload(ApiModel):
    """The container of runs that say nothing themselves."""

    image: str | None = Field(None, description="Container image that holds the program.")
    resources: Resources | None = Field(
        None, description="What the container needs and may use of the node; a run may override each value."
    )
    service_account_name: str | None = Field(
        None, description="Service account that the container runs as. Default: the controller's setting."
    )
    service_account_token: ServiceAccountToken | None = Field(
        None, description="A token of that service account for calls to another system."
    )


class ProviderHealth(ApiModel):
    """What to do when the provider fails for reasons of its own."""

    capacity_failure_policy: Literal["degrade", "block"] | None = Field(
        None,
        description="When the provider is out of capacity: degrade (default) only reports it, "
        "block also holds back new runs.",
    )


class AgentProviderSpec(ApiModel):
    """A program that agents use."""

    binary: str = Field(description="Program to start, as a path in the container or a name on its PATH.")
    args_template: list[str] | None = Field(
        None,
        description="Arguments of the program; {{ parameters.NAME }}, {{ implementation.text }} and other "
        "values of the run are replaced.",
        json_schema_extra=LIST_ATOMIC,
    )
    env_template: dict[str, str] | None = Field(
        None, description="Environment of the program, by name; templates are replaced as in argsTemplate."
    )
    input_files: list[InputFile] | None = Field(
        None, description="Files that the program finds when it starts.", json_schema_extra=LIST_ATOMIC
    )
    output_artifacts: list[OutputArtifact] | None = Field(
        None, description="What the program leaves behind.", json_schema_extra=LIST_ATOMIC
    )
    secret_env: list[SecretEnvVar] | None = Field(
        None, description="Environment variables taken from Secrets.", json_schema_extra=LIST_ATOMIC
    )
    workload: ProviderWorkload | None = Field(
        None, description="Image, resources and service account of runs that say nothing themselves."
    )
    health: ProviderHealth | None = Field(
        None, description="What to do when the provider fails for reasons of its own."
    )
    adapter: dict[str, Any] | None = Field(
        None,
        description="How the runner in the container talks to the program: type is exec or codex-app-server, "
        "and the settings are under exec or codex.",
        json_schema_extra=OPEN,
    )


class AgentProviderStatus(ObjectStatus):
    """Whether the provider can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")


AGENT_PROVIDER = Kind(
    group=GROUP,
    name="AgentProvider",
    plural="agentproviders",
    short_names=("agp",),
    description="A program that agents use: its binary, arguments, environment, files and container.",
    spec=AgentProviderSpec,
    status=AgentProviderStatus,
    columns=(
        READY,
        Column(name="Binary", path=".spec.binary", description="Program that is started."),
        AGE,
        Column(name="Image", path=".spec.workload.image", description="Image of its container.", priority=1),
    ),
)
