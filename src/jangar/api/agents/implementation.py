"""ImplementationSpec: a task for an agent. A run can also contain a task inline."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, ApiModel, NameRef, ObjectStatus
from jangar.api.phases import DefinitionPhase

MAX_TEXT = 131_072
MAX_SUMMARY = 256
MAX_CRITERIA = 50
MAX_REQUIRED_KEYS = 50
MAX_MAPPINGS = 100
MAX_MAPPED_NAME = 256

MappedName = Annotated[str, Field(max_length=MAX_MAPPED_NAME)]


class ImplementationOrigin(ApiModel):
    """Where a task came from."""

    provider: Literal["github", "linear", "manual", "custom"] = Field(
        description="Source system of the task: github, linear, manual or custom."
    )
    external_id: str | None = Field(
        None, description="ID of the task in the source system, such as owner/repo#12 or ENG-34."
    )
    url: str | None = Field(None, description="URL of the task in the source system.")


class ContractMapping(ApiModel):
    """Copies a parameter to another name."""

    from_: MappedName = Field(alias="from", description="Name of the parameter to read.")
    to: MappedName = Field(description="Name that receives the value, if it has no value yet.")


class ImplementationContract(ApiModel):
    """Parameters that a task requires."""

    required_keys: list[str] | None = Field(
        None,
        description="Required parameters. A run without a value for each fails before it starts a Job.",
        max_length=MAX_REQUIRED_KEYS,
        json_schema_extra=LIST_ATOMIC,
    )
    mappings: list[ContractMapping] | None = Field(
        None,
        description="Parameters to copy before requiredKeys is checked. Existing values are not overwritten.",
        max_length=MAX_MAPPINGS,
        json_schema_extra=LIST_ATOMIC,
    )


class ImplementationText(ApiModel):
    """A task for an agent."""

    text: str = Field(
        description="Text of the task for the agent. {{ parameters.NAME }} is replaced.",
        max_length=MAX_TEXT,
    )
    summary: str | None = Field(
        None, description="One-line summary, for lists and titles.", max_length=MAX_SUMMARY
    )
    description: str | None = Field(
        None, description="Background information for the agent.", max_length=MAX_TEXT
    )
    acceptance_criteria: list[str] | None = Field(
        None,
        description="Statements that must be true when the task is done.",
        max_length=MAX_CRITERIA,
        json_schema_extra=LIST_ATOMIC,
    )
    labels: list[str] | None = Field(
        None, description="Labels for grouping and searching tasks.", json_schema_extra=LIST_ATOMIC
    )
    source: ImplementationOrigin | None = Field(None, description="Where the task came from.")
    vcs_ref: NameRef | None = Field(
        None, description="Default VersionControlProvider of runs of this task. Overrides the Agent's."
    )
    contract: ImplementationContract | None = Field(
        None, description="Parameters that a run of this task must set."
    )


class Implementation(ApiModel):
    """An inline task."""

    inline: ImplementationText = Field(description="The task itself.")


class ImplementationStatus(ObjectStatus):
    """Whether the task can be run."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    synced_at: datetime | None = Field(None, description="When the task was last synced from its source.")
    source_version: str | None = Field(
        None, description="Version of the task in its source at the last sync."
    )


IMPLEMENTATION_SPEC = Kind(
    group=GROUP,
    name="ImplementationSpec",
    plural="implementationspecs",
    short_names=("impl",),
    description="A task for an agent that runs refer to by name.",
    spec=ImplementationText,
    status=ImplementationStatus,
    columns=(
        READY,
        Column(name="Source", path=".spec.source.provider", description="Source system of the task."),
        Column(name="Updated", path=".status.syncedAt", type="date", description="Time of the last sync."),
        AGE,
        Column(name="Summary", path=".spec.summary", description="One-line summary of the task.", priority=1),
    ),
)
