"""SecretBinding: which Secrets the runs of which objects may use."""

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, ApiModel, ObjectStatus
from jangar.api.phases import DefinitionPhase
from jangar.api.subjects import Subject

GROUP = "security.proompteng.ai"


class SecretBindingSpec(ApiModel):
    """Which Secrets the runs of which objects may use. A binding without subjects or Secrets is Invalid."""

    subjects: list[Subject] | None = Field(
        None, description="Objects whose runs may use the Secrets.", json_schema_extra=LIST_ATOMIC
    )
    allowed_secrets: list[str] | None = Field(
        None, description="Names of the Secrets, in the same namespace.", json_schema_extra=LIST_ATOMIC
    )


class SecretBindingStatus(ObjectStatus):
    """Status of the binding."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")


SECRET_BINDING = Kind(
    group=GROUP,
    name="SecretBinding",
    plural="secretbindings",
    short_names=("sb",),
    description="Which Secrets the runs of which agents and orchestrations may use.",
    spec=SecretBindingSpec,
    status=SecretBindingStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Secrets", path=".spec.allowedSecrets", description="Secrets that may be used."),
        AGE,
    ),
)
