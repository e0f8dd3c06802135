"""ImplementationSource: an issue tracker whose issues become ImplementationSpecs."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, ApiModel, Int32, ObjectStatus, SecretKeyRef
from jangar.api.phases import DefinitionPhase


class SourceAuth(ApiModel):
    """Authentication of webhook deliveries."""

    secret_ref: SecretKeyRef = Field(
        description="Secret with the webhook's signing secret. The key defaults to token."
    )


class SourceScope(ApiModel):
    """Filter for issues."""

    repository: str | None = Field(None, description="GitHub: only issues of this repository, as owner/name.")
    organization: str | None = Field(None, description="GitHub: only issues of this organization.")
    team: str | None = Field(None, description="Linear: only issues of this team.")
    project: str | None = Field(None, description="Linear: only issues of this project.")
    query: str | None = Field(None, description="Legacy search query. Ignored.")
    labels: list[str] | None = Field(
        None, description="Only issues that carry all of these labels.", json_schema_extra=LIST_ATOMIC
    )


class SourceWebhook(ApiModel):
    """Settings of webhook deliveries."""

    enabled: bool = Field(
        default=False, description="true accepts webhook deliveries; false leaves the source not ready."
    )


class ImplementationSourceSpec(ApiModel):
    """An issue tracker whose issues become tasks."""

    provider: Literal["github", "linear"] = Field(description="Issue tracker: github or linear.")
    auth: SourceAuth = Field(description="Authentication of webhook deliveries.")
    scope: SourceScope | None = Field(None, description="Filter for issues. Unset: all issues.")
    mapping: dict[str, str] | None = Field(None, description="Legacy field mapping. Ignored.")
    webhook: SourceWebhook | None = Field(None, description="Settings of webhook deliveries.")


class WebhookDelivery(ApiModel):
    """The last webhook delivery and its result."""

    delivery_id: str | None = Field(None, description="ID of the delivery, assigned by the sender.")
    idempotency_key: str | None = Field(None, description="Idempotency key of the delivery.")
    provider: str | None = Field(None, description="System that sent the delivery.")
    external_id: str | None = Field(None, description="ID of the issue in that system.")
    source_version: str | None = Field(None, description="Version of the issue in that system.")
    status: str | None = Field(None, description="Result of the delivery.")
    attempts: Int32 | None = Field(None, description="Number of processing attempts.")
    received_at: datetime | None = Field(None, description="When the delivery was received.")
    processed_at: datetime | None = Field(None, description="When processing succeeded or was abandoned.")
    error: str | None = Field(None, description="Error message if processing failed.")


class ImplementationSourceStatus(ObjectStatus):
    """Status of the source."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    last_synced_at: datetime | None = Field(None, description="When an issue was last synced.")
    last_webhook: WebhookDelivery | None = Field(
        None, description="The last webhook delivery and its result."
    )


IMPLEMENTATION_SOURCE = Kind(
    group=GROUP,
    name="ImplementationSource",
    plural="implementationsources",
    short_names=("implsrc",),
    description="An issue tracker, such as GitHub or Linear, whose issues become ImplementationSpecs.",
    spec=ImplementationSourceSpec,
    status=ImplementationSourceStatus,
    columns=(
        READY,
        Column(name="Provider", path=".spec.provider", description="Issue tracker."),
        Column(
            name="LastSync",
            path=".status.lastSyncedAt",
            type="date",
            description="When an issue was last synced.",
        ),
        AGE,
    ),
)
