"""Artifact: a named thing that runs produced, and where it is kept."""

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import ApiModel, Int32, NameRef, ObjectStatus
from jangar.api.phases import DefinitionPhase

GROUP = "artifacts.proompteng.ai"


class ArtifactLifecycle(ApiModel):
    """How long it is kept."""

    ttl_days: Int32 | None = Field(
        None, description="Days that the artifact is kept after its creation; unset keeps it.", ge=0
    )


class ArtifactSpec(ApiModel):
    """Where a thing is kept, and how long."""

    storage_ref: NameRef | None = Field(
        None, description="The store that keeps it. Unset: it is known only by namespace and name."
    )
    lifecycle: ArtifactLifecycle | None = Field(None, description="How long it is kept.")


class ArtifactStatus(ObjectStatus):
    """Where the thing is."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    uri: str | None = Field(None, description="Address of the artifact.")
    checksum: str | None = Field(None, description="Checksum of its content, with the algorithm in front.")


ARTIFACT = Kind(
    group=GROUP,
    name="Artifact",
    plural="artifacts",
    short_names=("art",),
    description="A named thing that runs produced, with its address and lifetime.",
    spec=ArtifactSpec,
    status=ArtifactStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="URI", path=".status.uri", description="Address of the artifact."),
        AGE,
        Column(name="Checksum", path=".status.checksum", description="Checksum of its content.", priority=1),
    ),
)
