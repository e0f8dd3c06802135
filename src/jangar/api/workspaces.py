"""Workspace: a volume that several runs can share."""

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.lifecycle import Seconds
from jangar.api.meta import LIST_ATOMIC, ApiModel, ObjectStatus
from jangar.api.phases import WorkspacePhase

GROUP = "workspaces.proompteng.ai"


class WorkspaceSpec(ApiModel):
    """A volume that runs can mount. The size is required."""

    storage_class_name: str | None = Field(
        None, description="Storage class of the volume. Default: the cluster's default."
    )
    size: str | None = Field(
        None, description="Size of the volume, such as 10Gi. A workspace without a size is Invalid."
    )
    access_modes: list[str] | None = Field(
        None,
        description="Access modes of the volume, such as ReadWriteOnce (default) or ReadWriteMany.",
        json_schema_extra=LIST_ATOMIC,
    )
    ttl_seconds: Seconds | None = Field(
        None,
        description="Seconds to keep the volume after the workspace's creation. Unset: forever.",
    )


class WorkspaceStatus(ObjectStatus):
    """Status of the volume."""

    phase: WorkspacePhase | None = Field(
        None,
        description="Pending until the volume is bound, then Ready; Failed if it was lost, "
        "Expired after it was deleted, or Invalid.",
    )
    volume_name: str | None = Field(None, description="Name of the PersistentVolume.")


WORKSPACE = Kind(
    group=GROUP,
    name="Workspace",
    plural="workspaces",
    short_names=("ws",),
    description="A volume that several runs can share, with a size and a lifetime.",
    spec=WorkspaceSpec,
    status=WorkspaceStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Size", path=".spec.size", description="Size of the volume."),
        Column(name="Volume", path=".status.volumeName", description="Name of the PersistentVolume."),
        AGE,
    ),
)
