"""Signal (something runs can wait for) and SignalDelivery (that it happened)."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from jangar.api.kind import AGE, PHASE, READY, Column, Kind
from jangar.api.meta import OPEN, ApiModel, NameRef, ObjectStatus
from jangar.api.phases import SignalDeliveryPhase

GROUP = "signals.proompteng.ai"


class SignalSpec(ApiModel):
    """Something that runs can wait for. Fields of your own are kept."""

    model_config = ConfigDict(json_schema_extra=OPEN)

    channel: str | None = Field(None, description="Name of the stream that the signal belongs to.")
    description: str | None = Field(None, description="What the signal means.")
    payload: dict[str, Any] | None = Field(
        None, description="Data that belongs to the signal itself.", json_schema_extra=OPEN
    )


class SignalStatus(ObjectStatus):
    """Whether the signal can be waited for."""

    # No enum: the existing system writes Active or Ready, depending on its version, and keeps patched words.
    phase: str | None = Field(None, description="Ready; older objects may say Active or a word of their own.")
    last_delivery_at: datetime | None = Field(None, description="When the signal was last delivered.")


class SignalDeliverySpec(ApiModel):
    """That a signal happened."""

    signal_ref: NameRef = Field(description="The Signal that happened.")
    delivery_id: str | None = Field(
        None, description="Identity of this delivery, for steps that wait for one in particular."
    )
    payload: dict[str, Any] | None = Field(
        None, description="Data that came with it.", json_schema_extra=OPEN
    )


class SignalDeliveryStatus(ObjectStatus):
    """What became of the delivery."""

    phase: SignalDeliveryPhase | None = Field(
        None, description="Pending while the Signal does not exist, Delivered, or Invalid."
    )
    delivered_at: datetime | None = Field(None, description="When it was delivered; never moves.")


SIGNAL = Kind(
    group=GROUP,
    name="Signal",
    plural="signals",
    short_names=("sig",),
    description="Something that SignalWait steps can wait for.",
    spec=SignalSpec,
    status=SignalStatus,
    spec_required=False,
    columns=(
        PHASE,
        READY,
        Column(name="Channel", path=".spec.channel", description="Stream that the signal belongs to."),
        Column(
            name="LastDelivery",
            path=".status.lastDeliveryAt",
            type="date",
            description="When it was last delivered.",
        ),
        AGE,
    ),
)

SIGNAL_DELIVERY = Kind(
    group=GROUP,
    name="SignalDelivery",
    plural="signaldeliveries",
    short_names=("sigd",),
    description="That a Signal happened, with the data that came with it.",
    spec=SignalDeliverySpec,
    status=SignalDeliveryStatus,
    columns=(
        PHASE,
        Column(name="Signal", path=".spec.signalRef.name", description="Which Signal happened."),
        Column(
            name="Delivered",
            path=".status.deliveredAt",
            type="date",
            description="When it was delivered.",
        ),
        AGE,
        Column(name="Delivery", path=".spec.deliveryId", description="Identity of the delivery.", priority=1),
    ),
    selectable=(".spec.signalRef.name",),
)
