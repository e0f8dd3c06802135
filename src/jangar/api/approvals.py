"""ApprovalPolicy: who decides whether a gate opens."""

from datetime import datetime

from pydantic import ConfigDict, Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.lifecycle import Seconds
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32, ObjectStatus
from jangar.api.subjects import Subject

GROUP = "approvals.proompteng.ai"


class ApprovalPolicySpec(ApiModel):
    """Who decides, and what holds if nobody does. Fields of your own are kept."""

    model_config = ConfigDict(json_schema_extra=OPEN)

    # Existing manifests may hold any word in mode and defaultDecision, so neither has an enum.
    mode: str | None = Field(
        None, description="How a decision is made; manual, the usual mode, waits for a person."
    )
    default_decision: str | None = Field(
        None, description="What holds when nobody decided within timeoutSeconds: deny (default) or approve."
    )
    subjects: list[Subject] | None = Field(
        None, description="What the policy is meant for; unset is everything.", json_schema_extra=LIST_ATOMIC
    )
    approvers: list[str] | None = Field(
        None,
        description="Users and groups who may decide; unset is everybody who may change the policy's status.",
        json_schema_extra=LIST_ATOMIC,
    )
    required_approvals: Int32 | None = Field(
        None, description="How many approvals open the gate. Default 1.", ge=0
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Seconds that a gate waits until defaultDecision holds; unset or 0 waits without bound.",
    )


class ApprovalPolicyStatus(ObjectStatus):
    """What was decided."""

    # No enum: people and other systems decide by patching the phase, in words of their own.
    phase: str | None = Field(
        None,
        description="The decision: approved, allowed, ready or succeeded open the gate; denied, rejected, "
        "blocked or failed fail it; anything else waits.",
    )
    last_decision_at: datetime | None = Field(None, description="When the decision was made.")


APPROVAL_POLICY = Kind(
    group=GROUP,
    name="ApprovalPolicy",
    plural="approvalpolicies",
    short_names=("ap",),
    description="Who decides whether an ApprovalGate step opens, and what was decided.",
    spec=ApprovalPolicySpec,
    status=ApprovalPolicyStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Mode", path=".spec.mode", description="How a decision is made."),
        AGE,
    ),
)
