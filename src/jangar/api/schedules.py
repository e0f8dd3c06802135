"""Schedule: starts copies of a run on a cron schedule."""

from datetime import datetime

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import ApiModel, ObjectStatus
from jangar.api.phases import SchedulePhase

GROUP = "schedules.proompteng.ai"


class ScheduleTarget(ApiModel):
    """The template run of a schedule."""

    # No enum: legacy schemas accept any kind, and the controller reports the ones it cannot copy.
    kind: str = Field(description="Kind of the template run: AgentRun or OrchestrationRun.")
    name: str = Field(description="Name of the template run.")
    api_version: str | None = Field(
        None, description="API group and version of the run. Default: that of its kind."
    )
    namespace: str | None = Field(None, description="Namespace of the run. Default: that of the schedule.")


class ScheduleSpec(ApiModel):
    """When to start a copy of which run."""

    cron: str = Field(description="Cron expression with five fields, such as 0 3 * * 1 for Mondays at 03:00.")
    timezone: str | None = Field(
        None, description="Time zone of cron, such as Europe/Berlin. Default: the controller's, usually UTC."
    )
    target_ref: ScheduleTarget = Field(description="Template run, whose spec is copied each time.")
    suspend: bool | None = Field(
        None,
        description="true pauses the schedule. Missed starts are not made up. Default false.",
    )


class ScheduleStatus(ObjectStatus):
    """Status of the schedule."""

    phase: SchedulePhase | None = Field(None, description="Active, Suspended or Invalid.")
    last_run_time: datetime | None = Field(None, description="When it last started a run.")


SCHEDULE = Kind(
    group=GROUP,
    name="Schedule",
    plural="schedules",
    short_names=("sched",),
    description="Starts copies of an AgentRun or OrchestrationRun on a cron schedule.",
    spec=ScheduleSpec,
    status=ScheduleStatus,
    columns=(
        PHASE,
        READY,
        Column(name="Cron", path=".spec.cron", description="Cron expression."),
        Column(name="Target", path=".spec.targetRef.name", description="Template run."),
        Column(
            name="LastRun", path=".status.lastRunTime", type="date", description="When it last started a run."
        ),
        AGE,
        Column(name="Timezone", path=".spec.timezone", description="Time zone of cron.", priority=1),
    ),
)
