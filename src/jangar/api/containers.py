"""What a container is given: environment, resources and volumes. Knows no kind.

No CEL rules here: these types are parts of orchestration steps, where the API server multiplies a rule's
cost by 10,000.
"""

from typing import Literal

from pydantic import Field

from jangar.api.meta import ApiModel

Quantity = int | str


class EnvVar(ApiModel):
    """A variable of the environment."""

    name: str = Field(description="Name of the variable.")
    value: str = Field(description="Value of the variable; templates in it are replaced.")


class Resources(ApiModel):
    """What a container needs and may use of the node."""

    requests: dict[str, Quantity] | None = Field(
        None, description="What the node must have free, by resource, such as cpu: 500m or memory: 1Gi."
    )
    limits: dict[str, Quantity] | None = Field(
        None,
        description="The most that may be used, by resource; a container over its memory limit is killed.",
    )


class Volume(ApiModel):
    """A directory mounted into the container."""

    type: Literal["emptyDir", "pvc", "secret"] = Field(
        description="What is mounted: emptyDir, a new directory; pvc, a volume claim; secret, a Secret."
    )
    name: str = Field(description="Name of the volume, unique among the volumes beside it.")
    mount_path: str = Field(description="Directory in the container at which it is mounted.")
    read_only: bool | None = Field(None, description="true mounts it for reading only. Default false.")
    claim_name: str | None = Field(
        None, description="Type pvc: name of the PersistentVolumeClaim, in the same namespace."
    )
    secret_name: str | None = Field(
        None, description="Type secret: name of the Secret, in the same namespace."
    )
    size_limit: str | None = Field(
        None, description="Type emptyDir: the most it may hold, such as 2Gi; unset is unbounded."
    )
    medium: str | None = Field(
        None, description="Type emptyDir: Memory keeps it in RAM; unset keeps it on the node's disk."
    )
