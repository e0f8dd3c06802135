"""OrchestrationRun: one execution of an orchestration."""

from pydantic import ConfigDict, Field

from jangar.api.kind import AGE, EXPIRES, FINISHED, MESSAGE, PHASE, REASON, STARTED, Column, Kind
from jangar.api.lifecycle import CANCEL_IS_FINAL, Steerable
from jangar.api.meta import OPEN, ApiModel, NameRef, immutable, rule, validations
from jangar.api.orchestration.definition import GROUP, OrchestrationSpec, Policies
from jangar.api.orchestration.run_status import OrchestrationRunStatus


class RetryOf(ApiModel):
    """The run to retry."""

    name: str = Field(description="Name of the finished run.", min_length=1)
    uid: str | None = Field(
        None, description="UID of the finished run. A recreated run with the same name is not used."
    )
    from_step: str | None = Field(
        None,
        description="First step to run again, with all its dependents. Unset: every step that did not succeed.",
    )


class OrchestrationRunSpec(Steerable):
    """One execution of an orchestration."""

    model_config = ConfigDict(
        json_schema_extra=validations(
            CANCEL_IS_FINAL,
            immutable("orchestrationRef", "orchestration", "parameters", "deliveryId", "policies", "retryOf"),
            rule(
                "has(self.retryOf) ? !(has(self.orchestrationRef) && has(self.orchestration)) "
                ": has(self.orchestrationRef) != has(self.orchestration)",
                "exactly one of orchestrationRef and orchestration must be set",
            ),
        )
    )

    orchestration_ref: NameRef | None = Field(None, description="The Orchestration to run.")
    orchestration: OrchestrationSpec | None = Field(
        None, description="Inline definition of the orchestration. Mutually exclusive with orchestrationRef."
    )
    parameters: dict[str, str] | None = Field(None, description="Values of the orchestration's parameters.")
    policies: Policies | None = Field(
        None, description="Overrides the orchestration's policies, field by field.", json_schema_extra=OPEN
    )
    delivery_id: str | None = Field(None, description="Idempotency key of the request that created this run.")
    retry_of: RetryOf | None = Field(
        None, description="Retries a finished run with its definition and keeps the steps that succeeded."
    )


ORCHESTRATION_RUN = Kind(
    group=GROUP,
    name="OrchestrationRun",
    plural="orchestrationruns",
    short_names=("orun",),
    description="One execution of an Orchestration.",
    spec=OrchestrationRunSpec,
    status=OrchestrationRunStatus,
    columns=(
        PHASE,
        Column(name="Steps", path=".status.steps", description="Finished and total steps."),
        Column(
            name="Orchestration", path=".spec.orchestrationRef.name", description="Orchestration of the run."
        ),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
        Column(name="RunId", path=".status.runId", description="Run ID, for older clients.", priority=1),
    ),
    selectable=(".spec.orchestrationRef.name", ".status.phase"),
)
