"""AgentProvider: the program of an agent and how to start it."""

from typing import Any, Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.containers import Resources
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int64, ObjectStatus
from jangar.api.phases import DefinitionPhase

MAX_URL = 2048


class InputFile(ApiModel):
    """A file that is written before the program starts."""

    path: str = Field(description="Path of the file in the container.")
    content: str = Field(description="Content of the file. Templates are replaced as in argsTemplate.")


class OutputArtifact(ApiModel):
    """An artifact that the program produces."""

    name: str = Field(description="Name of the artifact in the run's status.")
    path: str | None = Field(None, description="Path of the artifact in the container.")
    key: str | None = Field(
        None, description="Key of the artifact in the artifact store. Templates are replaced."
    )
    url: str | None = Field(
        None, description="URL of the artifact. Templates are replaced.", max_length=MAX_URL
    )


class SecretEnvVar(ApiModel):
    """An environment variable from a Secret."""

    name: str = Field(description="Name of the variable.")
    secret_name: str = Field(description="Name of the Secret, in the run's namespace.")
    key: str = Field(description="Key within the Secret.")
    optional: bool | None = Field(
        None, description="true starts the container even if the Secret or key does not exist. Default false."
    )


class ServiceAccountToken(ApiModel):
    """A service account token for one audience, renewed while the container runs."""

    audience: str = Field(description="Audience of the token.", min_length=1, max_length=253)
    expiration_seconds: Int64 = Field(
        description="Validity of a token in seconds, from 600 to 3600.", ge=600, le=3600
    )
    mount_path: str = Field(
        description="Absolute path of the token file in the container.",
        min_length=2,
        max_length=1024,
        pattern="^/",
    )


class ProviderWorkload(ApiModel):
    """Defaults for the container of runs."""

    image: str | None = Field(None, description="Container image that contains the program.")
    resources: Resources | None = Field(
        None, description="Resource requests and limits of the container. A run may override each value."
    )
    service_account_name: str | None = Field(
        None, description="Service account of the pod. Default: the controller's setting."
    )
    service_account_token: ServiceAccountToken | None = Field(
        None, description="Token of that service account for calls to another system."
    )


class ProviderHealth(ApiModel):
    """Handling of failures of the provider itself."""

    capacity_failure_policy: Literal["degrade", "block"] | None = Field(
        None,
        description="What to do when the provider is out of capacity: degrade (default) reports it, "
        "block also stops new runs from starting.",
    )


class AgentProviderSpec(ApiModel):
    """A program that agents run."""

    binary: str = Field(description="Program to start: a path in the container or a name on its PATH.")
    args_template: list[str] | None = Field(
        None,
        description="Arguments of the program. {{ parameters.NAME }}, {{ implementation.text }} and other "
        "values of the run are replaced.",
        json_schema_extra=LIST_ATOMIC,
    )
    env_template: dict[str, str] | None = Field(
        None, description="Environment variables of the program. Templates are replaced as in argsTemplate."
    )
    input_files: list[InputFile] | None = Field(
        None, description="Files to write before the program starts.", json_schema_extra=LIST_ATOMIC
    )
    output_artifacts: list[OutputArtifact] | None = Field(
        None, description="Artifacts that the program produces.", json_schema_extra=LIST_ATOMIC
    )
    secret_env: list[SecretEnvVar] | None = Field(
        None, description="Environment variables from Secrets.", json_schema_extra=LIST_ATOMIC
    )
    workload: ProviderWorkload | None = Field(
        None, description="Default image, resources and service account of runs."
    )
    health: ProviderHealth | None = Field(None, description="Handling of failures of the provider itself.")
    adapter: dict[str, Any] | None = Field(
        None,
        description="How the runner in the container communicates with the program. type is exec or "
        "codex-app-server, with settings in exec or codex.",
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
    description="A program that agents run: its binary, arguments, environment, files and container.",
    spec=AgentProviderSpec,
    status=AgentProviderStatus,
    columns=(
        READY,
        Column(name="Binary", path=".spec.binary", description="Program to start."),
        AGE,
        Column(name="Image", path=".spec.workload.image", description="Container image.", priority=1),
    ),
)
