"""ImplementationSpec: what an agent should do, in words. The same text may stand inline in a run."""

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
        description="System that the task came from: github, linear, manual or custom."
    )
    external_id: str | None = Field(
        None, description="Identity of the task in that system, such as owner/repo#12 or ENG-34."
    )
    url: str | None = Field(None, description="Address at which a person can read the task.")


class ContractMapping(ApiModel):
    """A parameter that is also known under another name."""

    from_: MappedName = Field(alias="from", description="Name of the parameter to read.")
    to: MappedName = Field(description="Name that receives the value if it has none of its own.")


class ImplementationContract(ApiModel):
    """What a run must bring along for the task to make sense."""

    required_keys: list[str] | None = Field(
        None,
        description="Parameters that must have a value; a run that lacks one fails and starts nothing.",
        max_length=MAX_REQUIRED_KEYS,
        json_schema_extra=LIST_ATOMIC,
    )
    mappings: list[ContractMapping] | None = Field(
        None,
        description="Renames applied before requiredKeys is checked; they fill only names without a value.",
        max_length=MAX_MAPPINGS,
        json_schema_extra=LIST_ATOMIC,
    )


class ImplementationText(ApiModel):
    """A task in words, with what belongs to it."""

    text: str = Field(
        description="The task in words, as the agent reads it; {{ parameters.NAME }} is replaced.",
        max_length=MAX_TEXT,
    )
    summary: str | None = Field(
        None, description="The task in one line, for lists and titles.", max_length=MAX_SUMMARY
    )
    description: str | None = Field(
        None, description="Background that the agent may need beyond the text.", max_length=MAX_TEXT
    )
    acceptance_criteria: list[str] | None = Field(
        None,
        description="Statements that must be true when the task is done.",
        max_length=MAX_CRITERIA,
        json_schema_extra=LIST_ATOMIC,
    )
    labels: list[str] | None = Field(
        None, description="Words by which tasks are grouped and found.", json_schema_extra=LIST_ATOMIC
    )
    source: ImplementationOrigin | None = Field(None, description="Where the task came from.")
    vcs_ref: NameRef | None = Field(
        None, description="VersionControlProvider to use when the run names none; it wins over the agent's."
    )
    contract: ImplementationContract | None = Field(
        None, description="Parameters that a run of this task must bring along."
    )


class Implementation(ApiModel):
    """A task given in place instead of by reference."""

    inline: ImplementationText = Field(description="The task itself.")


class ImplementationStatus(ObjectStatus):
    """Whether the task can be run."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    synced_at: datetime | None = Field(None, description="When the task was last taken over from its source.")
    source_version: str | None = Field(None, description="Version of the task in its source at that time.")


IMPLEMENTATION_SPEC = Kind(
    group=GROUP,
    name="ImplementationSpec",
    plural="implementationspecs",
    short_names=("impl",),
    description="A task for an agent, in words, that runs refer to by name.",
    spec=ImplementationText,
    status=ImplementationStatus,
    columns=(
        READY,
        Column(name="Source", path=".spec.source.provider", description="System that the task came from."),
        Column(
            name="Updated", path=".status.syncedAt", type="date", description="When it was last taken over."
        ),
        AGE,
        Column(name="Summary", path=".spec.summary", description="The task in one line.", priority=1),
    ),
)
