"""Signal (an event that runs can wait for) and SignalDelivery (one occurrence of it)."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import OPEN, ApiModel, NameRef, ObjectStatus
from jangar.api.phases import SignalDeliveryPhase

GROUP = "signals.proompteng.ai"


class SignalSpec(ApiModel):
    """An event that runs can wait for. Unknown fields are kept."""

    model_config = ConfigDict(json_schema_extra=OPEN)

    channel: str | None = Field(None, description="Channel of the signal.")
    description: str | None = Field(None, description="Description of the signal.")
    payload: dict[str, Any] | None = Field(None, description="Data of the signal.", json_schema_extra=OPEN)


class SignalStatus(ObjectStatus):
    """Status of the signal."""

    # No enum: legacy versions write Active or Ready and keep values that others patched.
    phase: str | None = Field(None, description="Ready. Older objects may have Active or a custom value.")
    last_delivery_at: datetime | None = Field(None, description="When the signal was last delivered.")


class SignalDeliverySpec(ApiModel):
    """One occurrence of a signal."""

    signal_ref: NameRef = Field(description="The Signal that is delivered.")
    delivery_id: str | None = Field(
        None, description="ID of this delivery, for steps that wait for a specific one."
    )
    payload: dict[str, Any] | None = Field(None, description="Data of the delivery.", json_schema_extra=OPEN)


class SignalDeliveryStatus(ObjectStatus):
    """Result of the delivery."""

    phase: SignalDeliveryPhase | None = Field(
        None, description="Pending while the Signal does not exist, then Delivered or Invalid."
    )
    delivered_at: datetime | None = Field(None, description="When the signal was delivered. Never changes.")


SIGNAL = Kind(
    group=GROUP,
    name="Signal",
    plural="signals",
    short_names=("sig",),
    description="An event that SignalWait steps can wait for.",
    spec=SignalSpec,
    status=SignalStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Channel", path=".spec.channel", description="Channel of the signal."),
        Column(
            name="LastDelivery",
            path=".status.lastDeliveryAt",
            type="date",
            description="Time of the last delivery.",
        ),
        AGE,
    ),
)

SIGNAL_DELIVERY = Kind(
    group=GROUP,
    name="SignalDelivery",
    plural="signaldeliveries",
    short_names=("sigd",),
    description="One occurrence of a Signal, with its data.",
    spec=SignalDeliverySpec,
    status=SignalDeliveryStatus,
    columns=(
        PHASE,
        Column(name="Signal", path=".spec.signalRef.name", description="Signal of the delivery."),
        Column(
            name="Delivered",
            path=".status.deliveredAt",
            type="date",
            description="Time of the delivery.",
        ),
        AGE,
        Column(name="Delivery", path=".spec.deliveryId", description="ID of the delivery.", priority=1),
    ),
    selectable=(".spec.signalRef.name",),
)
