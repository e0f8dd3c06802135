"""Schedule: starts copies of a run at set times."""

from datetime import datetime

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import ApiModel, ObjectStatus
from jangar.api.phases import SchedulePhase

GROUP = "schedules.proompteng.ai"


class ScheduleTarget(ApiModel):
    """The run that is copied."""

    # No enum: the existing schema takes any kind, and the controller reports the ones it cannot copy.
    kind: str = Field(description="Kind of the run that is copied: AgentRun or OrchestrationRun.")
    name: str = Field(description="Name of the run that is copied.")
    api_version: str | None = Field(
        None, description="API group and version of the run. Default: that of its kind."
    )
    namespace: str | None = Field(None, description="Namespace of the run. Default: that of the schedule.")


class ScheduleSpec(ApiModel):
    """When to start a copy of which run."""

    cron: str = Field(
        description="When to start, as five cron fields, such as 0 3 * * 1 for Mondays at three."
    )
    timezone: str | None = Field(
        None, description="Time zone of cron, such as Europe/Berlin. Default: the controller's, usually UTC."
    )
    target_ref: ScheduleTarget = Field(
        description="The run whose spec is copied each time; it serves as a template."
    )
    suspend: bool | None = Field(
        None,
        description="true starts nothing until it is set back; missed times are not made up. Default false.",
    )


class ScheduleStatus(ObjectStatus):
    """Whether the schedule is kept."""

    phase: SchedulePhase | None = Field(None, description="Active, Suspended or Invalid.")
    last_run_time: datetime | None = Field(None, description="When it last started a run.")


SCHEDULE = Kind(
    group=GROUP,
    name="Schedule",
    plural="schedules",
    short_names=("sched",),
    description="Starts copies of an AgentRun or OrchestrationRun at set times.",
    spec=ScheduleSpec,
    status=ScheduleStatus,
    columns=(
        PHASE,
        READY,
        Column(name="Cron", path=".spec.cron", description="When it starts runs."),
        Column(name="Target", path=".spec.targetRef.name", description="Which run is copied."),
        Column(
            name="LastRun", path=".status.lastRunTime", type="date", description="When it last started one."
        ),
        AGE,
        Column(name="Timezone", path=".spec.timezone", description="Time zone of cron.", priority=1),
    ),
)
