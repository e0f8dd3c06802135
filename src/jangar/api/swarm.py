"""Swarm: long-term objectives pursued in stages. No controller acts on it yet."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32, Int64, ObjectStatus

GROUP = "swarm.proompteng.ai"


class SwarmOwner(ApiModel):
    """The owner of a swarm."""

    id: str = Field(description="ID of the owner.")
    channel: str = Field(description="Channel to contact the owner.")


class SwarmPersona(ApiModel):
    """How a role appears in messages."""

    human_name: str = Field(description="Display name of the role.")
    worker_identity: str = Field(description="Identity of the worker that has the role.")


class SwarmPersonas(ApiModel):
    """The three roles."""

    architect: SwarmPersona = Field(description="Role that plans.")
    engineer: SwarmPersona = Field(description="Role that implements.")
    deployer: SwarmPersona = Field(description="Role that deploys and verifies.")


class SwarmNats(ApiModel):
    """Messaging over NATS."""

    url: str | None = Field(None, description="URL of the NATS server. Default: the controller's setting.")
    subject_prefix: str | None = Field(None, description="Prefix of the NATS subjects of messages.")
    channel: str | None = Field(None, description="Channel of the messages.")
    personas: SwarmPersonas = Field(description="How the roles appear in messages.")


class SwarmIntegrations(ApiModel):
    """Integrations with other systems."""

    nats: SwarmNats | None = Field(None, description="Messaging over NATS.")


class SwarmCadence(ApiModel):
    """Default interval of each stage."""

    discover_every: str | None = Field(None, description="Interval of the discover stage, such as 30m.")
    plan_every: str | None = Field(None, description="Interval of the plan stage, such as 2h.")
    implement_every: str | None = Field(None, description="Interval of the implement stage, such as 1h.")
    verify_every: str | None = Field(None, description="Interval of the verify stage, such as 30m.")


class SwarmDiscoverySource(ApiModel):
    """A source of requirements."""

    name: str = Field(description="Name of the source.")
    kind: str | None = Field(None, description="Type of the source, such as github-issues.")
    url: str | None = Field(None, description="URL of the source.")


class SwarmDiscovery(ApiModel):
    """Discovery of requirements."""

    sources: list[SwarmDiscoverySource] = Field(
        description="Sources of requirements.", min_length=1, json_schema_extra=LIST_ATOMIC
    )
    min_citations: Int32 | None = Field(
        None, description="Minimum number of citations of an accepted requirement.", ge=1
    )
    min_confidence: float | None = Field(
        None, description="Minimum confidence of an accepted requirement, from 0 to 1.", ge=0, le=1
    )


class SwarmRolloutStep(ApiModel):
    """One step of a rollout."""

    set_weight: Int32 = Field(description="Percentage of traffic for the new version.", ge=1, le=100)
    pause: str = Field(description="Pause before the next step, such as 10m.")


class SwarmRollout(ApiModel):
    """Rollout of changes to production."""

    strategy: Literal["canary"] = Field(description="Rollout strategy. Only canary is supported.")
    steps: list[SwarmRolloutStep] | None = Field(
        None, description="Steps of the rollout, in order.", json_schema_extra=LIST_ATOMIC
    )
    analysis_template_ref: str | None = Field(
        None, description="Name of the analysis template for the new version."
    )


class SwarmDelivery(ApiModel):
    """Allowed changes and their delivery."""

    deployment_targets: list[str] = Field(
        description="Targets of deployments.", json_schema_extra=LIST_ATOMIC
    )
    repo_allowlist: list[str] | None = Field(
        None, description="Repositories that may be changed.", json_schema_extra=LIST_ATOMIC
    )
    required_checks: list[str] | None = Field(
        None, description="Checks that must pass before a merge.", json_schema_extra=LIST_ATOMIC
    )
    merge_policy: Literal["auto-merge", "merge-queue"] | None = Field(
        None, description="How changes are merged: auto-merge or merge-queue."
    )
    rollout: SwarmRollout | None = Field(None, description="Rollout of changes to production.")


class SwarmRisk(ApiModel):
    """Risk limits of a swarm."""

    approval_policy_ref: str | None = Field(
        None, description="Name of the ApprovalPolicy that must approve changes."
    )
    budget_ref: str | None = Field(None, description="Name of the Budget that limits spending.")
    freeze_after_failures: Int32 | None = Field(
        None, description="Number of consecutive failures that stop new work.", ge=1
    )
    freeze_duration: str | None = Field(None, description="How long to stop new work, such as 2h.")


class SwarmMission(ApiModel):
    """Definition of the swarm's missions."""

    ledger_ref: str | None = Field(None, description="Reference to the ledger of missions.")
    source_design: str | None = Field(None, description="Design document of the missions.")
    business_metric: str | None = Field(None, description="Metric that missions improve.")
    validation_contract: list[str] | None = Field(
        None, description="Statements that must be true after a mission.", json_schema_extra=LIST_ATOMIC
    )
    value_gates: list[str] | None = Field(
        None, description="Conditions under which a mission is worth starting.", json_schema_extra=LIST_ATOMIC
    )
    handoff_required_fields: list[str] | None = Field(
        None, description="Fields that a stage must pass to the next one.", json_schema_extra=LIST_ATOMIC
    )


class SwarmTarget(ApiModel):
    """The template run of a stage."""

    kind: Literal["AgentRun", "OrchestrationRun"] = Field(
        description="Kind of the run: AgentRun or OrchestrationRun."
    )
    name: str = Field(description="Name of the run.")
    namespace: str | None = Field(None, description="Namespace of the run. Default: that of the swarm.")


class SwarmStage(ApiModel):
    """One stage."""

    enabled: bool | None = Field(None, description="Enable the stage. Default false.")
    every: str | None = Field(None, description="Interval of the stage, such as 1h. Overrides cadence.")
    target_ref: SwarmTarget | None = Field(None, description="The run that the stage starts copies of.")


class SwarmExecution(ApiModel):
    """The four stages."""

    discover: SwarmStage = Field(description="Stage that discovers requirements.")
    plan: SwarmStage = Field(description="Stage that plans requirements.")
    implement: SwarmStage = Field(description="Stage that implements plans.")
    verify: SwarmStage = Field(description="Stage that verifies deliveries.")


class SwarmSpec(ApiModel):
    """Long-term objectives and how to pursue them."""

    owner: SwarmOwner = Field(description="Owner of the swarm.")
    mode: Literal["assisted", "lights-out"] = Field(
        description="Degree of autonomy: assisted asks people, lights-out does not."
    )
    domains: list[str] = Field(
        description="Domains that the swarm works in.", min_length=1, json_schema_extra=LIST_ATOMIC
    )
    objectives: list[str] = Field(
        description="Objectives of the swarm.", min_length=1, json_schema_extra=LIST_ATOMIC
    )
    discovery: SwarmDiscovery = Field(description="Discovery of requirements.")
    delivery: SwarmDelivery = Field(description="Allowed changes and their delivery.")
    execution: SwarmExecution = Field(description="Stages of the swarm.")
    timezone: str | None = Field(None, description="Time zone of the stages, such as Europe/Berlin.")
    cadence: SwarmCadence | None = Field(None, description="Default interval of each stage.")
    risk: SwarmRisk | None = Field(None, description="Risk limits.")
    mission: SwarmMission | None = Field(None, description="Definition of missions.")
    integrations: SwarmIntegrations | None = Field(None, description="Integrations with other systems.")


class SwarmFreeze(ApiModel):
    """Why the swarm starts no new work."""

    reason: str | None = Field(None, description="Machine-readable reason.")
    until: datetime | None = Field(None, description="When new work may start again.")
    consecutive_failures: Int32 | None = Field(None, description="Number of consecutive failures.")
    threshold: Int32 | None = Field(None, description="Number of consecutive failures that stops new work.")
    entered_at: datetime | None = Field(None, description="When new work was stopped.")
    duration_ms: Int64 | None = Field(None, description="How long new work is stopped, in milliseconds.")
    evidence: dict[str, Any] | None = Field(
        None, description="Evidence for the decision.", json_schema_extra=OPEN
    )


class SwarmRequirements(ApiModel):
    """Number of requirements by state."""

    pending: Int32 | None = Field(None, description="Requirements that are waiting.")
    dispatched: Int32 | None = Field(None, description="Requirements in progress.")
    blocked: Int32 | None = Field(None, description="Requirements that are blocked.")
    admission_blocked: Int32 | None = Field(None, description="Requirements that are not admitted yet.")
    stage_clearance_blocked: Int32 | None = Field(
        None, description="Requirements that wait for the clearance of a stage."
    )
    completed: Int32 | None = Field(None, description="Requirements that are completed.")
    invalid_channel: Int32 | None = Field(None, description="Requirements from an unknown channel.")
    rejected: Int32 | None = Field(None, description="Requirements that were rejected.")
    duplicates: Int32 | None = Field(None, description="Duplicate requirements.")
    paused: bool | None = Field(None, description="true while no requirements are accepted.")
    pause_reason: str | None = Field(None, description="Machine-readable reason for the pause.")
    pause_message: str | None = Field(None, description="Human-readable details.")
    admission: dict[str, Any] | None = Field(None, description="Admission decisions.", json_schema_extra=OPEN)
    stage_clearance: dict[str, Any] | None = Field(
        None, description="Cleared stages.", json_schema_extra=OPEN
    )
    error: str | None = Field(None, description="Error while requirements were counted.")


class SwarmStatus(ObjectStatus):
    """Status of a swarm."""

    # No enum: legacy versions write Observed or keep the value of the system that runs the stages.
    phase: str | None = Field(None, description="Phase of the swarm, set by the system that runs the stages.")
    active_missions: Int32 | None = Field(None, description="Number of missions in progress.")
    queued_needs: Int32 | None = Field(None, description="Number of requirements that wait for a mission.")
    requirements: SwarmRequirements | None = Field(None, description="Number of requirements by state.")
    # The alias generator would write 24H.
    discoveries_24h: Int32 | None = Field(
        None, alias="discoveries24h", description="Number of discoveries in the last 24 hours."
    )
    missions_24h: Int32 | None = Field(
        None, alias="missions24h", description="Number of missions that ended in the last 24 hours."
    )
    autonomous_success_rate_24h: float | None = Field(
        None,
        alias="autonomousSuccessRate24h",
        description="Share of these missions that succeeded without help, from 0 to 1.",
    )
    last_discover_at: datetime | None = Field(None, description="When the discover stage last started.")
    last_plan_at: datetime | None = Field(None, description="When the plan stage last started.")
    last_implement_at: datetime | None = Field(None, description="When the implement stage last started.")
    last_verify_at: datetime | None = Field(None, description="When the verify stage last started.")
    last_production_change_ref: str | None = Field(None, description="Last change deployed to production.")
    freeze: SwarmFreeze | None = Field(None, description="Why the swarm starts no new work.")
    stage_states: dict[str, Any] | None = Field(
        None, description="Status of each stage.", json_schema_extra=OPEN
    )


SWARM = Kind(
    group=GROUP,
    name="Swarm",
    plural="swarms",
    short_names=("sw",),
    description="Long-term objectives pursued in four stages: discover, plan, implement and verify.",
    spec=SwarmSpec,
    status=SwarmStatus,
    columns=(
        PHASE,
        Column(name="Mode", path=".spec.mode", description="Degree of autonomy."),
        READY,
        AGE,
        Column(
            name="Missions",
            path=".status.activeMissions",
            type="integer",
            priority=1,
            description="Number of missions in progress.",
        ),
    ),
)
