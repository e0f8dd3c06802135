"""Memory: a data store that agents keep knowledge in."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, ApiModel, ObjectStatus, SecretKeyRef
from jangar.api.phases import DefinitionPhase


class MemoryConnection(ApiModel):
    """Connection to the store."""

    secret_ref: SecretKeyRef = Field(description="Secret with the address and credentials of the store.")


class MemorySpec(ApiModel):
    """A data store for the knowledge of agents."""

    type: Literal["postgres", "redis", "weaviate", "pinecone", "custom"] = Field(
        description="Type of the store: postgres, redis, weaviate, pinecone or custom."
    )
    connection: MemoryConnection = Field(description="Connection to the store.")
    default: bool = Field(
        default=False, description="Use this Memory if neither the run nor its Agent names one."
    )
    capabilities: list[str] | None = Field(
        None,
        description="Capabilities of the store, such as vector. Informational.",
        json_schema_extra=LIST_ATOMIC,
    )


class MemoryStatus(ObjectStatus):
    """Whether the store can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    last_checked_at: datetime | None = Field(None, description="When the controller last checked the Secret.")


MEMORY = Kind(
    group=GROUP,
    name="Memory",
    plural="memories",
    short_names=("mem",),
    description="A data store, such as a database, that agents keep knowledge in.",
    spec=MemorySpec,
    status=MemoryStatus,
    columns=(
        READY,
        Column(name="Type", path=".spec.type", description="Type of the store."),
        Column(
            name="Default",
            path=".spec.default",
            type="boolean",
            description="Whether this is the default Memory.",
        ),
        AGE,
    ),
)
