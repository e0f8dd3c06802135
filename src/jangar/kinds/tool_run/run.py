"""ToolRun as a run kind."""

from jangar.api.tools import TOOL, TOOL_RUN
from jangar.kinds.run_kind import RunKind

RUN = RunKind(
    kind=TOOL_RUN,
    definition_field="toolRef",
    waits_for={"toolRef": TOOL.name},
    plural_noun="toolruns",
    creates_jobs=True,
)
