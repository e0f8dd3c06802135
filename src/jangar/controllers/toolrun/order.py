"""What a ToolRun runs: the command of its Tool, filled in with its parameters."""

from dataclasses import dataclass

from jangar.api.tools import ToolRunSpec, ToolSpec
from jangar.controllers.work.order import Order
from jangar.domain.toolrun.tool import NoCommand, command_of
from jangar.domain.work.command import Command
from jangar.domain.work.observation import Work, WorkDefined, WorkMissing, WorkRejected
from jangar.domain.work.record import Terms
from jangar.kube.cache import Cache, Cached
from jangar.runtimes.kubernetes_job.manifest import TOOL_TEMPLATE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRunOrders:
    """Reads ToolRuns."""

    tools: Cache

    def __call__(self, seen: Cached) -> Order:
        spec = ToolRunSpec.model_validate(seen.view.get("spec") or {})
        cached = self.tools.get(seen.namespace, spec.tool_ref.name)
        tool = ToolSpec.model_validate(cached.view.get("spec") or {}) if cached else None
        work, command = _work(tool, spec)
        return Order(
            spec=spec,
            work=work,
            template=TOOL_TEMPLATE,
            command=command,
            on_job_missing=spec.on_job_missing,
            timeout_seconds=spec.timeout_seconds,
            terms=_terms(tool) if tool is not None else None,
        )


def _terms(tool: ToolSpec) -> Terms:
    return Terms(timeout_seconds=tool.timeout_seconds, job_ttl=tool.ttl_seconds_after_finished)


def _work(tool: ToolSpec | None, spec: ToolRunSpec) -> tuple[Work, Command | None]:
    if tool is None:
        return WorkMissing(message=f'tool "{spec.tool_ref.name}" does not exist'), None
    match command_of(tool, spec.parameters or {}):
        case NoCommand(reason=reason, message=message):
            return WorkRejected(reason=reason, message=message), None
        case Command() as command:
            return WorkDefined(), command
