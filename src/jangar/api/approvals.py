"""ApprovalPolicy: who may approve an ApprovalGate step."""

from datetime import datetime

from pydantic import ConfigDict, Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.lifecycle import Seconds
from jangar.api.meta import LIST_ATOMIC, OPEN, ApiModel, Int32, ObjectStatus
from jangar.api.subjects import Subject

GROUP = "approvals.proompteng.ai"


class ApprovalPolicySpec(ApiModel):
    """Who decides, and the default decision. Unknown fields are kept."""

    model_config = ConfigDict(json_schema_extra=OPEN)

    # No enum in mode and defaultDecision: existing manifests may contain any value.
    mode: str | None = Field(
        None, description="How the decision is made. manual, the usual mode, waits for a person."
    )
    default_decision: str | None = Field(
        None, description="Decision after timeoutSeconds: deny (default) or approve."
    )
    subjects: list[Subject] | None = Field(
        None, description="Objects that the policy applies to. Unset: all.", json_schema_extra=LIST_ATOMIC
    )
    approvers: list[str] | None = Field(
        None,
        description="Users and groups who may decide. Unset: everyone who may change the policy's status.",
        json_schema_extra=LIST_ATOMIC,
    )
    required_approvals: Int32 | None = Field(
        None, description="Number of approvals that open the gate. Default 1.", ge=0
    )
    timeout_seconds: Seconds | None = Field(
        None,
        description="Seconds that a gate waits before defaultDecision applies. Unset or 0: no limit.",
    )


class ApprovalPolicyStatus(ObjectStatus):
    """The decision."""

    # No enum: people and other systems decide by patching the phase with values of their own.
    phase: str | None = Field(
        None,
        description="The decision: approved, allowed, ready or succeeded opens the gate; denied, rejected, "
        "blocked or failed fails it; with any other value the gate waits.",
    )
    last_decision_at: datetime | None = Field(None, description="When the decision was made.")


APPROVAL_POLICY = Kind(
    group=GROUP,
    name="ApprovalPolicy",
    plural="approvalpolicies",
    short_names=("ap",),
    description="Who may approve an ApprovalGate step, and the decision.",
    spec=ApprovalPolicySpec,
    status=ApprovalPolicyStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Mode", path=".spec.mode", description="How the decision is made."),
        AGE,
    ),
)
