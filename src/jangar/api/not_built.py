"""The table of kinds, fields and values that the API accepts but this version does not implement (GATE-1).

lint, controllers, CRDs, docs and the web page read it. Remove a row when its feature is implemented.
"""

from dataclasses import dataclass
from typing import Final

MARK: Final = "Not built yet: refused."


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuilt:
    """A kind, or a field or a value of it. `field` is dotted below `spec`, with `[]` for the items of a list."""

    kind: str
    field: str = ""
    value: str = ""
    instead: str
    """An alternative, as an imperative clause."""

    @property
    def message(self) -> str:
        """A sentence that says what is not built."""
        if self.value:
            return f"{self.field.rpartition('.')[2]}: {self.value} is not built yet"
        if self.field:
            return f"{self.field} is not built yet: nothing reads it"
        return f"{self.kind} is not built yet: nothing acts on it"


_STEP = "steps[].kind"

NOT_BUILT: Final = (
    NotBuilt(kind="ApprovalPolicy", instead="ask for approval before you start the run"),
    NotBuilt(kind="Artifact", instead="let the step upload the file itself"),
    NotBuilt(kind="Budget", instead="limit runs with policies.maxParallel and a Kubernetes ResourceQuota"),
    NotBuilt(kind="ImplementationSource", instead="create ImplementationSpecs yourself"),
    NotBuilt(kind="Schedule", instead="start runs from a CronJob or cron with jangar run"),
    NotBuilt(kind="Signal", instead="start a second run when the signal comes"),
    NotBuilt(kind="SignalDelivery", instead="start a second run when the signal comes"),
    NotBuilt(kind="Swarm", instead="start OrchestrationRuns yourself"),
    NotBuilt(kind="Workspace", instead="mount a PersistentVolumeClaim in the step's workload"),
    NotBuilt(
        kind="Orchestration",
        field=_STEP,
        value="ApprovalGate",
        instead="split the orchestration, and start the second run after the approval",
    ),
    NotBuilt(
        kind="Orchestration",
        field=_STEP,
        value="SignalWait",
        instead="split the orchestration, and start the second run when the signal comes",
    ),
    NotBuilt(kind="Orchestration", field=_STEP, value="Checkpoint", instead="remove the step"),
    NotBuilt(kind="Orchestration", field=_STEP, value="MemoryOp", instead="use a ToolRun step"),
    NotBuilt(
        kind="AgentProvider",
        field="adapter.type",
        value="codex-app-server",
        instead="use type exec with codex exec --json",
    ),
    NotBuilt(kind="AgentProvider", field="health", instead="remove it"),
    NotBuilt(
        kind="VersionControlProvider",
        field="auth.app.tokenTtlSeconds",
        instead="remove it: every attempt gets a new token",
    ),
    NotBuilt(kind="ToolRun", field="runtime", instead="remove it: a ToolRun is always a Job"),
    NotBuilt(kind="Orchestration", field="steps[].policy", instead="remove it: operators set policy"),
)

_ITEM: Final = "steps[]."
KINDS_NOT_BUILT: Final = {row.kind: row for row in NOT_BUILT if not row.field}
STEP_KINDS_NOT_BUILT: Final = {row.value: row for row in NOT_BUILT if row.field == _STEP}
STEP_FIELDS_NOT_BUILT: Final = {
    row.field.removeprefix(_ITEM): row for row in NOT_BUILT if row.field.startswith(_ITEM) and not row.value
}


def rows_of(kind: str) -> tuple[NotBuilt, ...]:
    """Rows for fields and values of a kind, except for those of steps."""
    return tuple(
        row for row in NOT_BUILT if row.kind == kind and row.field and not row.field.startswith(_ITEM)
    )
