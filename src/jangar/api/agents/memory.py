"""Memory: a store that agents keep what they learned in."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, ApiModel, ObjectStatus, SecretKeyRef
from jangar.api.phases import DefinitionPhase


class MemoryConnection(ApiModel):
    """How the store is reached."""

    secret_ref: SecretKeyRef = Field(
        description="Secret that holds the address and credentials of the store."
    )


class MemorySpec(ApiModel):
    """A store for what agents learn."""

    type: Literal["postgres", "redis", "weaviate", "pinecone", "custom"] = Field(
        description="Kind of store: postgres, redis, weaviate, pinecone or custom."
    )
    connection: MemoryConnection = Field(description="How the store is reached.")
    default: bool = Field(
        default=False, description="true gives this store to every run that names none, nor does its Agent."
    )
    capabilities: list[str] | None = Field(
        None, description="What the store can do, such as vector; for people.", json_schema_extra=LIST_ATOMIC
    )


class MemoryStatus(ObjectStatus):
    """Whether the store can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    last_checked_at: datetime | None = Field(None, description="When the Secret was last looked for.")


MEMORY = Kind(
    group=GROUP,
    name="Memory",
    plural="memories",
    short_names=("mem",),
    description="A store, such as a database, that agents keep what they learned in.",
    spec=MemorySpec,
    status=MemoryStatus,
    columns=(
        READY,
        Column(name="Type", path=".spec.type", description="Kind of store."),
        Column(
            name="Default",
            path=".spec.default",
            type="boolean",
            description="Whether runs use it by default.",
        ),
        AGE,
    ),
)
