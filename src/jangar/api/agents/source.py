"""ImplementationSource: a system whose issues become ImplementationSpecs."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, ApiModel, Int32, ObjectStatus, SecretKeyRef
from jangar.api.phases import DefinitionPhase


class SourceAuth(ApiModel):
    """How deliveries of the source are known to be genuine."""

    secret_ref: SecretKeyRef = Field(
        description="Secret that holds the webhook's signing secret; the key defaults to token."
    )


class SourceScope(ApiModel):
    """Which issues are taken."""

    repository: str | None = Field(None, description="GitHub: only issues of this repository, as owner/name.")
    organization: str | None = Field(None, description="GitHub: only issues of this organization.")
    team: str | None = Field(None, description="Linear: only issues of this team.")
    project: str | None = Field(None, description="Linear: only issues of this project.")
    query: str | None = Field(None, description="Search words of older manifests; kept, not used.")
    labels: list[str] | None = Field(
        None, description="Only issues that carry all of these labels.", json_schema_extra=LIST_ATOMIC
    )


class SourceWebhook(ApiModel):
    """Whether deliveries are accepted."""

    enabled: bool = Field(
        default=False, description="true accepts webhook deliveries; false leaves the source not ready."
    )


class ImplementationSourceSpec(ApiModel):
    """A system whose issues become tasks."""

    provider: Literal["github", "linear"] = Field(description="System that sends issues: github or linear.")
    auth: SourceAuth = Field(description="How deliveries are known to be genuine.")
    scope: SourceScope | None = Field(None, description="Which issues are taken; unset takes all.")
    mapping: dict[str, str] | None = Field(
        None, description="Names of fields in older manifests, by name; kept, not used."
    )
    webhook: SourceWebhook | None = Field(None, description="Whether webhook deliveries are accepted.")


class WebhookDelivery(ApiModel):
    """The last delivery and what became of it."""

    delivery_id: str | None = Field(None, description="Identity that the sender gave the delivery.")
    idempotency_key: str | None = Field(None, description="Key by which a repeated delivery is known.")
    provider: str | None = Field(None, description="System that sent it.")
    external_id: str | None = Field(None, description="Identity of the issue in that system.")
    source_version: str | None = Field(None, description="Version of the issue in that system.")
    status: str | None = Field(None, description="What became of the delivery.")
    attempts: Int32 | None = Field(None, description="How often it was tried.")
    received_at: datetime | None = Field(None, description="When it came in.")
    processed_at: datetime | None = Field(None, description="When it was taken over or given up.")
    error: str | None = Field(None, description="Why it could not be taken over.")


class ImplementationSourceStatus(ObjectStatus):
    """Whether the source works."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    last_synced_at: datetime | None = Field(None, description="When an issue was last taken over.")
    last_webhook: WebhookDelivery | None = Field(None, description="The last delivery and what became of it.")


IMPLEMENTATION_SOURCE = Kind(
    group=GROUP,
    name="ImplementationSource",
    plural="implementationsources",
    short_names=("implsrc",),
    description="A system, such as GitHub or Linear, whose issues become ImplementationSpecs.",
    spec=ImplementationSourceSpec,
    status=ImplementationSourceStatus,
    columns=(
        READY,
        Column(name="Provider", path=".spec.provider", description="System that sends issues."),
        Column(
            name="LastSync",
            path=".status.lastSyncedAt",
            type="date",
            description="When an issue was last taken over.",
        ),
        AGE,
    ),
)
