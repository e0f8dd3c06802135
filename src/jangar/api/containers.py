"""Environment, resources and volumes of a container.

No CEL rules here: these types are parts of orchestration steps, where the API server multiplies a rule's
cost by 10,000.
"""

from typing import Literal

from pydantic import Field

from jangar.api.meta import ApiModel

Quantity = int | str


class EnvVar(ApiModel):
    """An environment variable."""

    name: str = Field(description="Name of the variable.")
    value: str = Field(description="Value of the variable. Templates are replaced.")


class Resources(ApiModel):
    """Resource requests and limits of a container."""

    requests: dict[str, Quantity] | None = Field(
        None, description="Requested resources, such as cpu: 500m or memory: 1Gi."
    )
    limits: dict[str, Quantity] | None = Field(
        None,
        description="Resource limits. A container that exceeds its memory limit is killed.",
    )


class Volume(ApiModel):
    """A volume mounted into the container."""

    type: Literal["emptyDir", "pvc", "secret"] = Field(
        description="Type of the volume: emptyDir (a new directory), pvc (a PersistentVolumeClaim) or secret."
    )
    name: str = Field(description="Name of the volume, unique within the workload.")
    mount_path: str = Field(description="Directory in the container where the volume is mounted.")
    read_only: bool | None = Field(None, description="Mount the volume read-only. Default false.")
    claim_name: str | None = Field(
        None, description="Type pvc: name of the PersistentVolumeClaim, in the same namespace."
    )
    secret_name: str | None = Field(
        None, description="Type secret: name of the Secret, in the same namespace."
    )
    size_limit: str | None = Field(
        None, description="Type emptyDir: maximum size, such as 2Gi. Unset: no limit."
    )
    medium: str | None = Field(
        None, description="Type emptyDir: Memory stores the files in RAM. Unset: on the node's disk."
    )
