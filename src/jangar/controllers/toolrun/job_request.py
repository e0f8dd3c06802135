"""The job request of a ToolRun: the command of its Tool, rendered with its parameters."""

from dataclasses import dataclass, field

from jangar.api.reasons import Reason
from jangar.api.tools import TOOL_RUN, ToolRunSpec, ToolSpec
from jangar.controllers.job_execution.job_request import JobRequest
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.observation import Work, WorkDefined, WorkHeld, WorkMissing, WorkRejected
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.not_built import not_built_problems
from jangar.domain.orchestration.message_text import does_not_exist
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.policy_checks import policy_violation
from jangar.domain.policies.request import tool_run_request
from jangar.domain.policies.verdicts import Deny, admission_blocker
from jangar.domain.toolrun import NoCommand, command_of
from jangar.runtimes.kubernetes_job.manifest import TOOL_TEMPLATE
from kubekit.cache.object_cache import Cache, Cached


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRunRequests:
    """Reads the job requests of ToolRuns."""

    tools: Cache
    policy: AdmissionPolicy = field(default_factory=AdmissionPolicy)
    """Checked for each attempt, with the Tool that the attempt runs."""

    def __call__(self, run: Cached) -> JobRequest:
        spec = ToolRunSpec.model_validate(run.view.get("spec") or {})
        cached = self.tools.get(run.namespace, spec.tool_ref.name)
        tool = ToolSpec.model_validate(cached.view.get("spec") or {}) if cached else None
        work, command = _work(tool, spec) if tool else (self._missing(run, spec), None)
        if problems := list(not_built_problems(TOOL_RUN.name, run.view.get("spec") or {})):
            message = "; ".join(map(str, problems))
            work, command = WorkRejected(reason=Reason.NOT_BUILT, message=message), None
        if cached is not None and isinstance(work, WorkDefined):
            work = self._admitted(run, cached) or work
        return JobRequest(
            spec=spec,
            work=work,
            template=TOOL_TEMPLATE,
            command=command,
            on_job_missing=spec.on_job_missing,
            timeout_seconds=spec.timeout_seconds,
            attempt_limits=_limits(tool) if tool is not None else None,
        )

    def size(self, run: Cached) -> int:
        name = ((run.view.get("spec") or {}).get("toolRef") or {}).get("name")
        tool = self.tools.get(run.namespace, name) if isinstance(name, str) else None
        return len(run.raw) + (len(tool.raw) if tool else 0)

    def _missing(self, run: Cached, spec: ToolRunSpec) -> WorkMissing:
        others = (item.name for item in self.tools.all(run.namespace))
        return WorkMissing(message=does_not_exist("Tool", spec.tool_ref.name, others))

    def _admitted(self, run: Cached, tool: Cached) -> WorkHeld | WorkRejected | None:
        """Why the run may not start; None if it may."""
        denied = policy_violation(tool_run_request(run.view, tool.view.get("spec") or {}), self.policy)
        if isinstance(denied, Deny):
            return WorkRejected(reason=denied.reason, message=denied.message)
        status = run.view.get("status") or {}
        return (
            admission_blocker(status.get("admission"))
            if self.policy.counts_tool_runs and not status.get("job")
            else None
        )


def _limits(tool: ToolSpec) -> AttemptLimits:
    return AttemptLimits(timeout_seconds=tool.timeout_seconds, job_ttl=tool.ttl_seconds_after_finished)


def _work(tool: ToolSpec, spec: ToolRunSpec) -> tuple[Work, Command | None]:
    match command_of(tool, spec.parameters or {}):
        case NoCommand(reason=reason, message=message):
            return WorkRejected(reason=reason, message=message), None
        case Command() as command:
            return WorkDefined(), command
