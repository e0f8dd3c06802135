"""OrchestrationRun as a run kind."""

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.kinds.run_kind import RunKind

RUN = RunKind(
    kind=ORCHESTRATION_RUN,
    definition_field="orchestrationRef",
    waits_for={"orchestrationRef": ORCHESTRATION.name, "retryOf": ORCHESTRATION_RUN.name},
    plural_noun="runs",
    owns_runs=True,
)
