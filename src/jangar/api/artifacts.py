"""Artifact: a named result of runs and its location."""

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import ApiModel, Int32, NameRef, ObjectStatus
from jangar.api.phases import DefinitionPhase

GROUP = "artifacts.proompteng.ai"


class ArtifactLifecycle(ApiModel):
    """Lifetime of an artifact."""

    ttl_days: Int32 | None = Field(
        None, description="Days to keep the artifact after its creation. Unset: forever.", ge=0
    )


class ArtifactSpec(ApiModel):
    """Location and lifetime of an artifact."""

    storage_ref: NameRef | None = Field(
        None, description="Store of the artifact. Unset: the artifact only has a namespace and a name."
    )
    lifecycle: ArtifactLifecycle | None = Field(None, description="Lifetime of the artifact.")


class ArtifactStatus(ObjectStatus):
    """Location of the artifact."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    uri: str | None = Field(None, description="URI of the artifact.")
    checksum: str | None = Field(None, description="Checksum of the content, prefixed with the algorithm.")


ARTIFACT = Kind(
    group=GROUP,
    name="Artifact",
    plural="artifacts",
    short_names=("art",),
    description="A named result of runs, with its URI and lifetime.",
    spec=ArtifactSpec,
    status=ArtifactStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="URI", path=".status.uri", description="URI of the artifact."),
        AGE,
        Column(name="Checksum", path=".status.checksum", description="Checksum of the content.", priority=1),
    ),
)
