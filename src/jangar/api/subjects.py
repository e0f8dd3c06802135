"""Subjects of policies and bindings."""

from pydantic import Field

from jangar.api.meta import ApiModel


class Subject(ApiModel):
    """An object that a policy or binding applies to."""

    kind: str = Field(description="Kind of the object, such as Orchestration or Agent.")
    name: str = Field(description="Name of the object.")
    namespace: str | None = Field(None, description="Namespace of the object. Default: any.")
