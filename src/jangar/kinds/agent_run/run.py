"""AgentRun as a run kind."""

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.kinds.run_kind import RunKind

RUN = RunKind(
    kind=AGENT_RUN,
    definition_field="agentRef",
    plural_noun="agentruns",
    creates_jobs=True,
    owns_runs=True,
)
