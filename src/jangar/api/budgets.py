"""Budget: spending limits and current usage."""

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import OPEN, ApiModel, ObjectStatus

GROUP = "budgets.proompteng.ai"

Amount = int | str


class Amounts(ApiModel):
    """Amounts per resource."""

    tokens: Amount | None = Field(None, description="Number of language model tokens.")
    dollars: Amount | None = Field(None, description="Amount in US dollars, such as 25 or '12.50'.")
    cpu: Amount | None = Field(None, description="CPU cores, as a Kubernetes quantity such as 500m or 8.")
    memory: Amount | None = Field(None, description="Memory, as a Kubernetes quantity such as 16Gi.")
    gpu: Amount | None = Field(None, description="Number of GPUs, as a Kubernetes quantity.")


class BudgetSpec(ApiModel):
    """Spending limits."""

    limits: Amounts | None = Field(
        None,
        description="Maximum usage of each resource. An absent resource has no limit.",
        json_schema_extra=OPEN,
    )


class BudgetStatus(ObjectStatus):
    """Current usage."""

    # No enum: the accounting system patches the phase with values of its own.
    phase: str | None = Field(
        None,
        description="Active while usage is below the limits. exceeded, blocked, failed and denied reject runs.",
    )
    used: Amounts | None = Field(None, description="Usage so far.", json_schema_extra=OPEN)


BUDGET = Kind(
    group=GROUP,
    name="Budget",
    plural="budgets",
    short_names=("bud",),
    description="Limits on the tokens, money and resources that runs may use, and the usage so far.",
    spec=BudgetSpec,
    status=BudgetStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Dollars", path=".spec.limits.dollars", description="Limit in US dollars."),
        Column(name="Tokens", path=".spec.limits.tokens", description="Limit in tokens."),
        AGE,
    ),
)
