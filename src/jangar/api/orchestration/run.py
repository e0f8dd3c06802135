"""OrchestrationRun: one execution of an orchestration, as users ask for it."""

from pydantic import ConfigDict, Field

from jangar.api.kind import AGE, EXPIRES, FINISHED, MESSAGE, PHASE, REASON, STARTED, Column, Kind
from jangar.api.lifecycle import CANCEL_IS_FINAL, Steerable
from jangar.api.meta import OPEN, ApiModel, NameRef, immutable, rule, validations
from jangar.api.orchestration.definition import GROUP, OrchestrationSpec, Policies
from jangar.api.orchestration.run_status import OrchestrationRunStatus


class RetryOf(ApiModel):
    """The run that this one repeats."""

    name: str = Field(description="Name of the finished run.", min_length=1)
    uid: str | None = Field(
        None, description="Its uid, so that a recreated run of the same name is not meant."
    )
    from_step: str | None = Field(
        None,
        description="First step to run again, with all that depend on it. Unset: every step that did not succeed.",
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
        None, description="The definition itself, so that one object holds a whole run."
    )
    parameters: dict[str, str] | None = Field(None, description="Values of the orchestration's parameters.")
    policies: Policies | None = Field(
        None, description="Overrides the orchestration's policies, field by field.", json_schema_extra=OPEN
    )
    delivery_id: str | None = Field(None, description="Idempotency key of the submission that made this run.")
    retry_of: RetryOf | None = Field(
        None, description="Repeats a finished run with its definition, keeping the steps that succeeded."
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
        Column(name="Steps", path=".status.steps", description="Ended steps of all."),
        Column(name="Orchestration", path=".spec.orchestrationRef.name", description="What it runs."),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
        Column(name="RunId", path=".status.runId", description="Name for older clients.", priority=1),
    ),
    selectable=(".spec.orchestrationRef.name", ".status.phase"),
)
