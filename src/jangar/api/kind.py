"""Definition of a kind: group, names, spec and status types, printer columns. Knows no particular kind."""

from dataclasses import dataclass, field

from jangar.api.meta import ApiModel, ObjectStatus
from jangar.api.not_built import KINDS_NOT_BUILT, MARK

VERSION = "v1alpha1"
CATEGORY = "jangar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of `kubectl get`; priority 1 shows with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One custom resource kind. `spec` and `status` are its types."""

    group: str
    name: str
    plural: str
    short_names: tuple[str, ...]
    description: str
    spec: type[ApiModel]
    status: type[ObjectStatus]
    columns: tuple[Column, ...] = ()
    spec_required: bool = True
    selectable: tuple[str, ...] = field(default=())

    @property
    def summary(self) -> str:
        """The description, marked if no controller acts on the kind yet."""
        return f"{MARK} {self.description}" if self.name in KINDS_NOT_BUILT else self.description

    @property
    def api_version(self) -> str:
        return f"{self.group}/{VERSION}"

    @property
    def singular(self) -> str:
        return self.name.lower()


def condition_column(name: str, condition: str, part: str = "status", *, priority: int = 0) -> Column:
    """A column that shows one part of one condition."""
    return Column(
        name=name,
        path=f'.status.conditions[?(@.type=="{condition}")].{part}',
        description=f"{part.capitalize()} of the condition {condition}.",
        priority=priority,
    )


PHASE = Column(name="Phase", path=".status.phase", description="Phase of the object.")
READY = condition_column("Ready", "Ready")
REASON = Column(name="Reason", path=".status.reason", description="Reason for the phase.")
MESSAGE = Column(name="Message", path=".status.message", description="Human-readable details.", priority=1)
STARTED = Column(
    name="Started", path=".status.startedAt", type="date", description="When it started.", priority=1
)
FINISHED = Column(name="Finished", path=".status.finishedAt", type="date", description="When it finished.")
EXPIRES = Column(
    name="Expires",
    path=".status.retention.runExpiresAt",
    description="When it will be deleted.",
    priority=1,
)
AGE = Column(
    name="Age", path=".metadata.creationTimestamp", type="date", description="Time since it was created."
)
