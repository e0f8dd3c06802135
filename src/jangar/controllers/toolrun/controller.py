"""The registration of the ToolRun controller."""

from typing import Final

from jangar.api.tools import TOOL
from jangar.controllers.informers import TOOL_RUNS, TOOLS
from jangar.controllers.job_execution.controller import job_reconciler, job_rules, job_watches
from jangar.controllers.reference_index import referring_to
from jangar.controllers.registration import ControllerContext, Reconciliation, Registration, Watch
from jangar.controllers.toolrun.job_request import ToolRunRequests


def _reconciler(context: ControllerContext) -> Reconciliation:
    settings = context.settings
    requests = ToolRunRequests(tools=context.informers.cache(TOOLS), policy=settings.policy)
    return Reconciliation(reconcile=job_reconciler(context, TOOL_RUNS, requests, settings.work_limits))


TOOL_RUN_CONTROLLER: Final = Registration(
    name="toolrun",
    own=TOOL_RUNS,
    watches=(*job_watches(TOOL_RUNS), Watch(source=TOOLS, keys=referring_to(TOOL))),
    reconciler=_reconciler,
    rules=job_rules(TOOL_RUNS),
    namespaces=lambda settings: settings.supporting,
    stores_history=True,
)
