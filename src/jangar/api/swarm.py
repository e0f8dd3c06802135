"""Swarm: standing goals that are pursued in stages. Knows the shape only; no controller acts on it yet."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32, Int64, ObjectStatus

GROUP = "swarm.proompteng.ai"


class SwarmOwner(ApiModel):
    """Who answers for the swarm."""

    id: str = Field(description="Identity of the owner.")
    channel: str = Field(description="Where the owner is reached.")


class SwarmPersona(ApiModel):
    """One role as it appears in messages."""

    human_name: str = Field(description="Name that people see.")
    worker_identity: str = Field(description="Identity of the worker that plays the role.")


class SwarmPersonas(ApiModel):
    """The three roles."""

    architect: SwarmPersona = Field(description="Role that plans.")
    engineer: SwarmPersona = Field(description="Role that implements.")
    deployer: SwarmPersona = Field(description="Role that delivers and verifies.")


class SwarmNats(ApiModel):
    """Messages over NATS."""

    url: str | None = Field(None, description="Address of the NATS server. Default: the controller's.")
    subject_prefix: str | None = Field(None, description="Beginning of the subjects that messages go to.")
    channel: str | None = Field(None, description="Channel that messages belong to.")
    personas: SwarmPersonas = Field(description="How the roles appear in messages.")


class SwarmIntegrations(ApiModel):
    """Other systems that take part."""

    nats: SwarmNats | None = Field(None, description="Messages over NATS.")


class SwarmCadence(ApiModel):
    """How often each stage starts, where the stage does not say so itself."""

    discover_every: str | None = Field(None, description="Time between discoveries, such as 30m.")
    plan_every: str | None = Field(None, description="Time between plans, such as 2h.")
    implement_every: str | None = Field(None, description="Time between implementations, such as 1h.")
    verify_every: str | None = Field(None, description="Time between verifications, such as 30m.")


class SwarmDiscoverySource(ApiModel):
    """A place where needs are found."""

    name: str = Field(description="Name of the source.")
    kind: str | None = Field(None, description="Kind of the source, such as github-issues.")
    url: str | None = Field(None, description="Address of the source.")


class SwarmDiscovery(ApiModel):
    """How needs are found."""

    sources: list[SwarmDiscoverySource] = Field(
        description="Places where needs are found.", min_length=1, json_schema_extra=LIST_ATOMIC
    )
    min_citations: Int32 | None = Field(
        None, description="How many citations a need must have to be taken up.", ge=1
    )
    min_confidence: float | None = Field(
        None, description="How sure a need must be to be taken up, from 0 to 1.", ge=0, le=1
    )


class SwarmRolloutStep(ApiModel):
    """One step of a rollout."""

    set_weight: Int32 = Field(description="Percent that the new version gets.", ge=1, le=100)
    pause: str = Field(description="Time until the next step, such as 10m.")


class SwarmRollout(ApiModel):
    """How changes reach production."""

    strategy: Literal["canary"] = Field(description="How the new version takes over; canary is the only way.")
    steps: list[SwarmRolloutStep] | None = Field(
        None, description="Steps of the rollout, in order.", json_schema_extra=LIST_ATOMIC
    )
    analysis_template_ref: str | None = Field(
        None, description="Name of the analysis that judges the new version."
    )


class SwarmDelivery(ApiModel):
    """What may be changed, and how changes are delivered."""

    deployment_targets: list[str] = Field(
        description="Where changes are delivered to.", json_schema_extra=LIST_ATOMIC
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
    rollout: SwarmRollout | None = Field(None, description="How changes reach production.")


class SwarmRisk(ApiModel):
    """What holds the swarm back."""

    approval_policy_ref: str | None = Field(
        None, description="Name of the ApprovalPolicy that must agree to changes."
    )
    budget_ref: str | None = Field(None, description="Name of the Budget that bounds spending.")
    freeze_after_failures: Int32 | None = Field(
        None, description="How many failures in a row stop new work.", ge=1
    )
    freeze_duration: str | None = Field(None, description="How long new work is stopped then, such as 2h.")


class SwarmMission(ApiModel):
    """What the swarm's work is measured by."""

    ledger_ref: str | None = Field(None, description="Where missions are recorded.")
    source_design: str | None = Field(None, description="Design document that missions follow.")
    business_metric: str | None = Field(None, description="Figure that missions should improve.")
    validation_contract: list[str] | None = Field(
        None, description="Statements that must be true after a mission.", json_schema_extra=LIST_ATOMIC
    )
    value_gates: list[str] | None = Field(
        None, description="Conditions under which a mission is worth starting.", json_schema_extra=LIST_ATOMIC
    )
    handoff_required_fields: list[str] | None = Field(
        None, description="What one stage must tell the next.", json_schema_extra=LIST_ATOMIC
    )


class SwarmTarget(ApiModel):
    """The run that a stage starts copies of."""

    kind: Literal["AgentRun", "OrchestrationRun"] = Field(
        description="Kind of the run: AgentRun or OrchestrationRun."
    )
    name: str = Field(description="Name of the run.")
    namespace: str | None = Field(None, description="Namespace of the run. Default: that of the swarm.")


class SwarmStage(ApiModel):
    """One stage."""

    enabled: bool | None = Field(None, description="true lets the stage start. Default false.")
    every: str | None = Field(None, description="Time between starts, such as 1h; wins over cadence.")
    target_ref: SwarmTarget | None = Field(None, description="The run that the stage starts copies of.")


class SwarmExecution(ApiModel):
    """The four stages."""

    discover: SwarmStage = Field(description="Finds needs.")
    plan: SwarmStage = Field(description="Turns needs into plans.")
    implement: SwarmStage = Field(description="Carries plans out.")
    verify: SwarmStage = Field(description="Checks what was delivered.")


class SwarmSpec(ApiModel):
    """Standing goals, and how they are pursued."""

    owner: SwarmOwner = Field(description="Who answers for the swarm.")
    mode: Literal["assisted", "lights-out"] = Field(
        description="How far it goes alone: assisted asks people, lights-out does not."
    )
    domains: list[str] = Field(
        description="Fields that the swarm works in.", min_length=1, json_schema_extra=LIST_ATOMIC
    )
    objectives: list[str] = Field(
        description="What the swarm should reach.", min_length=1, json_schema_extra=LIST_ATOMIC
    )
    discovery: SwarmDiscovery = Field(description="How needs are found.")
    delivery: SwarmDelivery = Field(description="What may be changed, and how changes are delivered.")
    execution: SwarmExecution = Field(description="The stages, and what each starts.")
    timezone: str | None = Field(None, description="Time zone of the stages, such as Europe/Berlin.")
    cadence: SwarmCadence | None = Field(None, description="How often each stage starts.")
    risk: SwarmRisk | None = Field(None, description="What holds the swarm back.")
    mission: SwarmMission | None = Field(None, description="What the swarm's work is measured by.")
    integrations: SwarmIntegrations | None = Field(None, description="Other systems that take part.")


class SwarmFreeze(ApiModel):
    """Why no new work is started."""

    reason: str | None = Field(None, description="Why, in one word.")
    until: datetime | None = Field(None, description="When new work may start again.")
    consecutive_failures: Int32 | None = Field(None, description="How many failures in a row there were.")
    threshold: Int32 | None = Field(None, description="How many were allowed.")
    entered_at: datetime | None = Field(None, description="When new work was stopped.")
    duration_ms: Int64 | None = Field(None, description="How long new work is stopped, in milliseconds.")
    evidence: dict[str, Any] | None = Field(
        None, description="What the decision rests on.", json_schema_extra=OPEN
    )


class SwarmRequirements(ApiModel):
    """How many needs are in which state."""

    pending: Int32 | None = Field(None, description="Needs that wait.")
    dispatched: Int32 | None = Field(None, description="Needs that are worked on.")
    blocked: Int32 | None = Field(None, description="Needs that cannot go on.")
    admission_blocked: Int32 | None = Field(None, description="Needs that were not admitted yet.")
    stage_clearance_blocked: Int32 | None = Field(
        None, description="Needs that wait for a stage's clearance."
    )
    completed: Int32 | None = Field(None, description="Needs that were met.")
    invalid_channel: Int32 | None = Field(None, description="Needs that came over an unknown channel.")
    rejected: Int32 | None = Field(None, description="Needs that were refused.")
    duplicates: Int32 | None = Field(None, description="Needs that were known already.")
    paused: bool | None = Field(None, description="true while no need is taken up.")
    pause_reason: str | None = Field(None, description="Why none is taken up, in one word.")
    pause_message: str | None = Field(None, description="The same for people.")
    admission: dict[str, Any] | None = Field(
        None, description="How admission decided.", json_schema_extra=OPEN
    )
    stage_clearance: dict[str, Any] | None = Field(
        None, description="Which stages are cleared.", json_schema_extra=OPEN
    )
    error: str | None = Field(None, description="What went wrong while needs were counted.")


class SwarmStatus(ObjectStatus):
    """How the swarm is doing."""

    # No enum: the existing system writes Observed or keeps the word of whoever runs the stages.
    phase: str | None = Field(None, description="Where the swarm is, in a word of whoever runs its stages.")
    active_missions: Int32 | None = Field(None, description="Missions under way.")
    queued_needs: Int32 | None = Field(None, description="Needs that wait for a mission.")
    requirements: SwarmRequirements | None = Field(None, description="Needs by state.")
    # The alias generator would write 24H.
    discoveries_24h: Int32 | None = Field(
        None, alias="discoveries24h", description="Discoveries in the last 24 hours."
    )
    missions_24h: Int32 | None = Field(
        None, alias="missions24h", description="Missions that ended in the last 24 hours."
    )
    autonomous_success_rate_24h: float | None = Field(
        None,
        alias="autonomousSuccessRate24h",
        description="Share of those that succeeded without help, from 0 to 1.",
    )
    last_discover_at: datetime | None = Field(None, description="When discovery last started.")
    last_plan_at: datetime | None = Field(None, description="When planning last started.")
    last_implement_at: datetime | None = Field(None, description="When implementation last started.")
    last_verify_at: datetime | None = Field(None, description="When verification last started.")
    last_production_change_ref: str | None = Field(None, description="The last change that was delivered.")
    freeze: SwarmFreeze | None = Field(None, description="Why no new work is started.")
    stage_states: dict[str, Any] | None = Field(
        None, description="How each stage is doing, by stage.", json_schema_extra=OPEN
    )


SWARM = Kind(
    group=GROUP,
    name="Swarm",
    plural="swarms",
    short_names=("sw",),
    description="Standing goals that are pursued in four stages: discover, plan, implement, verify.",
    spec=SwarmSpec,
    status=SwarmStatus,
    columns=(
        PHASE,
        Column(name="Mode", path=".spec.mode", description="How far it goes alone."),
        READY,
        AGE,
        Column(
            name="Missions",
            path=".status.activeMissions",
            type="integer",
            priority=1,
            description="Missions under way.",
        ),
    ),
)
