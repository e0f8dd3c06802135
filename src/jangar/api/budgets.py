"""Budget: how much may be spent, and how much was."""

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import OPEN, ApiModel, ObjectStatus

GROUP = "budgets.proompteng.ai"

Amount = int | str


class Amounts(ApiModel):
    """Amounts by what is spent."""

    tokens: Amount | None = Field(None, description="Tokens of language models.")
    dollars: Amount | None = Field(None, description="Money in US dollars, such as 25 or '12.50'.")
    cpu: Amount | None = Field(
        None, description="Processor cores, as a Kubernetes quantity such as 500m or 8."
    )
    memory: Amount | None = Field(None, description="Memory, as a Kubernetes quantity such as 16Gi.")
    gpu: Amount | None = Field(None, description="Number of GPUs, as a Kubernetes quantity.")


class BudgetSpec(ApiModel):
    """How much may be spent."""

    limits: Amounts | None = Field(
        None,
        description="The most that may be spent of each; one that is absent is unbounded.",
        json_schema_extra=OPEN,
    )


class BudgetStatus(ObjectStatus):
    """How much was spent."""

    # No enum: whoever does the accounting patches the phase, in words of its own.
    phase: str | None = Field(
        None, description="Active while there is room; exceeded, blocked, failed or denied refuse new runs."
    )
    used: Amounts | None = Field(None, description="What was spent so far.", json_schema_extra=OPEN)


BUDGET = Kind(
    group=GROUP,
    name="Budget",
    plural="budgets",
    short_names=("bud",),
    description="How much runs may spend in tokens, money and resources, and how much was spent.",
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
