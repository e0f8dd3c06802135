"""Tool (a container with a command) and ToolRun (one execution of it)."""

from typing import Any

from pydantic import ConfigDict, Field, field_validator

from jangar.api.agents.agentrun_status import RunAdmission
from jangar.api.containers import EnvVar, Resources
from jangar.api.jobs import EndedAttempt, JobRecord
from jangar.api.kind import AGE, EXPIRES, FINISHED, MESSAGE, PHASE, READY, REASON, STARTED, Column, Kind
from jangar.api.lifecycle import (
    CANCEL_IS_FINAL,
    ExecutionStatus,
    OnJobMissingPolicy,
    Outcome,
    Seconds,
    Steerable,
)
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, NameRef, ObjectStatus, immutable, validations
from jangar.api.phases import DefinitionPhase

GROUP = "tools.proompteng.ai"
MAX_GRACE_SECONDS = 3600


class ToolSpec(ApiModel):
    """A container to run. Requires an image, and a command or arguments."""

    image: str | None = Field(None, description="Container image. A tool without an image is Invalid.")
    command: list[str] | None = Field(
        None,
        description="Program and first arguments. {{ parameters.NAME }} is replaced. "
        "Unset: the image's entrypoint; args is required then.",
        json_schema_extra=LIST_ATOMIC,
    )
    args: list[str] | None = Field(
        None,
        description="Arguments of the program. {{ parameters.NAME }} is replaced.",
        json_schema_extra=LIST_ATOMIC,
    )
    env: list[EnvVar] | None = Field(
        None,
        description="Environment variables of the container. {{ parameters.NAME }} is replaced in values.",
        json_schema_extra=LIST_ATOMIC,
    )
    resources: Resources | None = Field(None, description="Resource requests and limits of the container.")
    service_account: str | None = Field(
        None, description="Service account of the pod. Default: the controller's setting."
    )
    working_dir: str | None = Field(
        None, description="Working directory of the program. Default: the image's."
    )
    timeout_seconds: Seconds | None = Field(
        None, description="Time limit of a run in seconds. Unset or 0: no limit."
    )
    grace_period_seconds: Seconds | None = Field(
        None,
        description="Seconds between SIGTERM and SIGKILL when a run is stopped. At most 3,600, and at least 10 s "
        "less than the controller's cancel timeout. Default 30.",
        le=MAX_GRACE_SECONDS,
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        None,
        description="Seconds to keep the Job of a finished run. Default: the controller's setting.",
    )


class ToolStatus(ObjectStatus):
    """Whether the tool can be run."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")


class ToolRunSpec(Steerable, OnJobMissingPolicy):
    """One execution of a tool."""

    model_config = ConfigDict(
        json_schema_extra=validations(
            CANCEL_IS_FINAL,
            immutable("toolRef", "parameters", "deliveryId", "runtime", "timeoutSeconds", "onJobMissing"),
        )
    )

    tool_ref: NameRef = Field(description="The Tool to run.")
    parameters: dict[str, str] | None = Field(
        None, description="Values that replace {{ parameters.NAME }} in the tool's command, args and env."
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Time limit of this run in seconds; 0: no limit. Default: the Tool's.",
    )
    delivery_id: str | None = Field(None, description="Idempotency key of the request that created this run.")
    runtime: dict[str, Any] | None = Field(
        None,
        description="Legacy runtime settings.",
        json_schema_extra=OPEN,
    )


class ToolRunStatus(ExecutionStatus):
    """Status of a run."""

    run_id: str | None = Field(None, description="ID of the run, for older clients.")
    runtime_ref: dict[str, Any] | None = Field(
        None,
        description="The started Job: type, name, namespace and uid.",
        json_schema_extra=OPEN,
    )
    job: JobRecord | None = Field(None, description="The Job of the current attempt.")
    attempts: list[EndedAttempt] | None = Field(
        None,
        description="Earlier attempts, oldest first. Only set with onJobMissing: Retry.",
        json_schema_extra=LIST_ATOMIC,
    )
    outcome: Outcome | None = Field(None, description="Result of the work, once known.")
    admission: RunAdmission | None = Field(
        None,
        description="Admission decision. Absent if admission does not cover ToolRuns.",
    )

    @field_validator("phase", mode="before")
    @classmethod
    def _not_started(cls, phase: object) -> object:
        """Treat Ready as not started: legacy versions set it on ToolRuns that have not started."""
        return None if phase == "Ready" else phase


TOOL = Kind(
    group=GROUP,
    name="Tool",
    plural="tools",
    short_names=("tl",),
    description="A container with a command, environment and resources that ToolRuns execute.",
    spec=ToolSpec,
    status=ToolStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Image", path=".spec.image", description="Container image."),
        AGE,
    ),
)

TOOL_RUN = Kind(
    group=GROUP,
    name="ToolRun",
    plural="toolruns",
    short_names=("tr",),
    description="One execution of a Tool.",
    spec=ToolRunSpec,
    status=ToolRunStatus,
    columns=(
        PHASE,
        Column(name="Tool", path=".spec.toolRef.name", description="Tool of the run."),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
    ),
    selectable=(".spec.toolRef.name", ".status.phase"),
)
