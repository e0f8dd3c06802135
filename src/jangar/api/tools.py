"""Tool (a container that does one thing) and ToolRun (one execution of it)."""

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
    """A container that does one thing. Needs an image, and a command or arguments."""

    image: str | None = Field(None, description="Container image; a tool without one is Invalid.")
    command: list[str] | None = Field(
        None,
        description="Program and first arguments; {{ parameters.NAME }} is replaced. "
        "Unset: the image's entrypoint, and args must be given.",
        json_schema_extra=LIST_ATOMIC,
    )
    args: list[str] | None = Field(
        None, description="Arguments; {{ parameters.NAME }} is replaced.", json_schema_extra=LIST_ATOMIC
    )
    env: list[EnvVar] | None = Field(
        None,
        description="Environment of the container; {{ parameters.NAME }} is replaced in values.",
        json_schema_extra=LIST_ATOMIC,
    )
    resources: Resources | None = Field(None, description="What the container needs and may use of the node.")
    service_account: str | None = Field(
        None, description="Service account that the container runs as. Default: the controller's setting."
    )
    working_dir: str | None = Field(
        None, description="Directory that the program starts in. Default: the image's."
    )
    timeout_seconds: Seconds | None = Field(
        None, description="Seconds that a run may take before it is stopped; unset or 0 is unbounded."
    )
    grace_period_seconds: Seconds | None = Field(
        None,
        description="Seconds between SIGTERM and SIGKILL when a run is stopped, at most 3,600 and 10 less than the "
        "controller's cancel timeout. Default 30.",
        le=MAX_GRACE_SECONDS,
    )
    ttl_seconds_after_finished: Seconds | None = Field(
        None,
        description="Seconds that the Job of a finished run is kept once its end is recorded. "
        "Default: the controller's setting.",
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
        description="Seconds that this run may take before it is stopped, instead of the tool's; "
        "0 is unbounded.",
    )
    delivery_id: str | None = Field(None, description="Idempotency key of the submission that made this run.")
    runtime: dict[str, Any] | None = Field(
        None,
        description="Runtime settings of older manifests.",
        json_schema_extra=OPEN,
    )


class ToolRunStatus(ExecutionStatus):
    """How the run is doing."""

    run_id: str | None = Field(None, description="Name under which older clients know the run.")
    runtime_ref: dict[str, Any] | None = Field(
        None,
        description="The Job that was started: its type, name, namespace and uid.",
        json_schema_extra=OPEN,
    )
    job: JobRecord | None = Field(None, description="The Job of the current attempt.")
    attempts: list[EndedAttempt] | None = Field(
        None,
        description="The attempts before the current one, oldest first; "
        "there are some only with onJobMissing: Retry.",
        json_schema_extra=LIST_ATOMIC,
    )
    outcome: Outcome | None = Field(None, description="How the work ended, once that is known.")
    admission: RunAdmission | None = Field(
        None,
        description="Whether policy lets the run start; absent where the limits of runs do not count ToolRuns.",
    )

    @field_validator("phase", mode="before")
    @classmethod
    def _not_started(cls, phase: object) -> object:
        """The existing system stamps Ready on ToolRuns that nothing has happened to yet."""
        return None if phase == "Ready" else phase


TOOL = Kind(
    group=GROUP,
    name="Tool",
    plural="tools",
    short_names=("tl",),
    description="A container that does one thing, with its command, environment and resources.",
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
        Column(name="Tool", path=".spec.toolRef.name", description="What it runs."),
        REASON,
        FINISHED,
        AGE,
        MESSAGE,
        STARTED,
        EXPIRES,
    ),
    selectable=(".spec.toolRef.name", ".status.phase"),
)
