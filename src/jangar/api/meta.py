"""Base classes and schema helpers of the API types: camelCase on the wire, every field described.

Fields tell the CRD generator here that they are a list-map, immutable or open. Knows no particular kind.
"""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

JsonObject = dict[str, Any]

Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]


class ApiModel(BaseModel):
    """Base of every API type. Ignores unknown fields: during a rollout, two versions write the same objects."""

    model_config = ConfigDict(
        defer_build=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=False,
    )


def rule(expression: str, message: str, *, field: str | None = None) -> JsonObject:
    """One CEL rule of `x-kubernetes-validations`."""
    validation = {"rule": expression, "message": message}
    return validation | ({"fieldPath": f".{field}"} if field else {})


def immutable(*fields: str) -> list[JsonObject]:
    """Rules that make each named field immutable; an absent field stays absent."""
    return [
        rule(
            f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})",
            f"{name} is immutable: create a new run instead",
        )
        for name in fields
    ]


def exactly_one(*fields: str) -> JsonObject:
    """A rule: exactly one of the named fields is set."""
    count = " + ".join(f"(has(self.{name}) ? 1 : 0)" for name in fields)
    return rule(f"{count} == 1", f"exactly one of {', '.join(fields)} must be set")


def at_most_one(*fields: str) -> JsonObject:
    """A rule: at most one of the named fields is set."""
    count = " + ".join(f"(has(self.{name}) ? 1 : 0)" for name in fields)
    return rule(f"{count} <= 1", f"{' and '.join(fields)} exclude each other")


def validations(*rules: JsonObject | list[JsonObject]) -> JsonObject:
    """`json_schema_extra` of a model or field with these rules."""
    flat: list[JsonObject] = []
    for item in rules:
        flat.extend(item if isinstance(item, list) else [item])
    return {"x-kubernetes-validations": flat}


LIST_ATOMIC: JsonObject = {"x-kubernetes-list-type": "atomic"}
LIST_SET: JsonObject = {"x-kubernetes-list-type": "set"}
OPEN: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}
MAP_ATOMIC: JsonObject = {"x-kubernetes-map-type": "atomic"}


def list_map(*keys: str) -> JsonObject:
    """A list whose items are merged by key."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


class NameRef(ApiModel):
    """A reference by name within the namespace."""

    name: str = Field(description="Name of the object, in the same namespace.", min_length=1)


class SecretKeyRef(ApiModel):
    """A key of a Secret in the same namespace."""

    name: str = Field(description="Name of the Secret.", min_length=1)
    key: str | None = Field(
        None, description="Key within the Secret. The default depends on the referring field."
    )


class Condition(ApiModel):
    """A condition as the Kubernetes API conventions define it."""

    type: str = Field(
        description="Type of the condition, such as Ready or Succeeded.",
        max_length=316,
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    )
    status: str = Field(
        description="True, False or Unknown.", json_schema_extra={"enum": ["True", "False", "Unknown"]}
    )
    reason: str = Field(
        description="Machine-readable reason for the last transition.",
        min_length=1,
        max_length=1024,
        pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    )
    message: str = Field(description="Human-readable details; may be empty.", max_length=32768)
    last_transition_time: datetime = Field(description="When status last changed.")
    observed_generation: Int64 | None = Field(
        None, description="metadata.generation that this condition is based on.", ge=0
    )


class ObjectStatus(ApiModel):
    """Status fields of every kind."""

    observed_generation: Int64 | None = Field(
        None, description="metadata.generation that this status is based on.", ge=0
    )
    updated_at: datetime | None = Field(None, description="When the status was last written.")
    conditions: list[Condition] | None = Field(
        None,
        description="Conditions by type. Every kind has Ready, Progressing and Degraded.",
        json_schema_extra=list_map("type"),
    )
