"""The job request of an AgentRun: its task, passed to the program of its Agent's provider."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from jangar.api.agents.agent import AGENT, AgentSpec
from jangar.api.agents.agentrun import AgentRunSpec
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC, ImplementationText
from jangar.api.agents.memory import MEMORY, MemorySpec
from jangar.api.agents.provider import AGENT_PROVIDER, AgentProviderSpec
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER, VersionControlProviderSpec
from jangar.api.kind import Kind
from jangar.api.meta import ApiModel
from jangar.api.reasons import Reason
from jangar.controllers.job_execution.job_request import JobRequest
from jangar.domain.agentrun.command import AgentDefaults, AgentParts, agent_command
from jangar.domain.agentrun.task import task_of
from jangar.domain.agentrun.workflow import StepPosition, define_runtime_steps
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.observation import Work, WorkDefined, WorkHeld, WorkMissing, WorkRejected
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.job_execution.status_document import workflow_stages
from jangar.domain.job_execution.workflow import RuntimeStep
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.domain.orchestration.message_text import does_not_exist
from jangar.domain.policies.verdicts import Deny, admission_blocker
from jangar.domain.toolrun import NoCommand
from jangar.runtimes.kubernetes_job.manifest import AGENT_TEMPLATE
from kubekit.cache.object_cache import Cache, Cached

TEMPLATE = "agents.proompteng.ai/template"
"""Annotation of a run that only serves as a template; it is not reconciled."""

_Spec = TypeVar("_Spec", bound=ApiModel)


class _MissingError(Exception):
    def __init__(self, kind: Kind, name: str, others: Iterable[str]) -> None:
        super().__init__(does_not_exist(kind.name, name, others))


@dataclass(frozen=True, slots=True)
class AgentCaches:
    """The caches of everything that a run may reference, by kind."""

    of: Mapping[str, Cache]

    def get(self, kind: Kind, spec: type[_Spec], namespace: str, name: str) -> _Spec:
        """Raises _MissingError."""
        cached = self.of[kind.name].get(namespace, name)
        if cached is None:
            raise _MissingError(kind, name, (item.name for item in self.of[kind.name].all(namespace)))
        return spec.model_validate(cached.view.get("spec") or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunRequests:
    """Reads the job requests of AgentRuns."""

    caches: AgentCaches
    defaults: AgentDefaults
    compile_loop: ConditionCompiler
    denial: Callable[[Cached], Deny | None] | None = None
    """Why a run may not start now, although it was admitted. If set, no run starts before it is admitted."""

    def __call__(self, run: Cached) -> JobRequest:
        spec = AgentRunSpec.model_validate(run.view.get("spec") or {})
        workflow = self._workflow(spec)
        position = _position(run, spec) if isinstance(workflow, tuple) and workflow else None
        work, command, attempt_limits = self._work(run, spec, position)
        if isinstance(workflow, WorkRejected):
            work, command = workflow, None
        return JobRequest(
            spec=spec,
            work=work,
            template=AGENT_TEMPLATE,
            workflow=workflow if isinstance(workflow, tuple) else (),
            command=command,
            on_job_missing=spec.on_job_missing,
            attempt_limits=attempt_limits,
            has_runner=True,
        )

    def size(self, run: Cached) -> int:
        spec = run.view.get("spec") or {}
        agent = self._referenced(AGENT, run.namespace, spec.get("agentRef"))
        agent_spec = (agent.view.get("spec") or {}) if agent else {}
        named = (
            run,
            agent,
            self._referenced(AGENT_PROVIDER, run.namespace, agent_spec.get("providerRef")),
            self._referenced(IMPLEMENTATION_SPEC, run.namespace, spec.get("implementationSpecRef")),
        )
        return sum(len(item.raw) for item in named if item is not None)

    def _referenced(self, kind: Kind, namespace: str, reference: Any) -> Cached | None:
        name = reference.get("name") if isinstance(reference, dict) else None
        return self.caches.of[kind.name].get(namespace, name) if isinstance(name, str) else None

    def _workflow(self, spec: AgentRunSpec) -> tuple[RuntimeStep, ...] | WorkRejected:
        """The workflow steps; empty if the work is one Job."""
        steps = define_runtime_steps(spec, compile_condition=self.compile_loop)
        if isinstance(steps, list):
            only_missing = all(problem.reason is Reason.MISSING_INPUT for problem in steps)
            reason = Reason.MISSING_INPUT if only_missing else Reason.INVALID_SPEC
            return WorkRejected(reason=reason, message="; ".join(map(str, steps)))
        return steps

    def _work(
        self, run: Cached, spec: AgentRunSpec, position: StepPosition | None
    ) -> tuple[Work, Command | None, AttemptLimits | None]:
        try:
            parts = self._parts(run, spec, position)
        except _MissingError as error:
            return WorkMissing(message=str(error)), None, None
        attempt_limits = _limits(run, spec, parts.agent, position)
        command = agent_command(parts, self.defaults)
        if isinstance(command, NoCommand):
            return WorkRejected(reason=command.reason, message=command.message), None, attempt_limits
        return self._admission(run) or WorkDefined(), command, attempt_limits

    def _admission(self, run: Cached) -> WorkHeld | WorkRejected | None:
        """Why the attempt may not start; None if it may. Checked again for each attempt."""
        if self.denial is None:
            return None
        status = run.view.get("status") or {}
        is_first = not status.get("job")
        if is_first and (held := admission_blocker(status.get("admission"))) is not None:
            return held
        denied = self.denial(run)
        if denied is None:
            return None
        # It was admitted, so a cache may be stale or the denial temporary: the run waits instead of failing.
        if is_first:
            return WorkHeld(reason=denied.reason, message=denied.message)
        return WorkRejected(reason=denied.reason, message=denied.message)

    def _parts(self, run: Cached, spec: AgentRunSpec, position: StepPosition | None) -> AgentParts:
        namespace, caches = run.namespace, self.caches
        agent = caches.get(AGENT, AgentSpec, namespace, spec.agent_ref.name)
        provider = caches.get(AGENT_PROVIDER, AgentProviderSpec, namespace, agent.provider_ref.name)
        step = position.step if position else None
        own = step if step and (step.implementation or step.implementation_spec_ref) else spec
        named = own.implementation_spec_ref
        if own.implementation is not None:
            text = own.implementation.inline
        else:
            wanted = named.name if named else ""
            text = caches.get(IMPLEMENTATION_SPEC, ImplementationText, namespace, wanted)
        vcs = spec.vcs_ref or text.vcs_ref or agent.vcs_ref
        memory = spec.memory_ref or agent.memory_ref
        return AgentParts(
            name=run.name,
            uid=run.uid,
            namespace=namespace,
            spec=spec,
            agent=agent,
            provider=provider,
            task=task_of(text, {**(spec.parameters or {}), **((step and step.parameters) or {})}),
            memory=self._memory(namespace, memory.name if memory else None),
            vcs=(
                vcs.name,
                caches.get(VERSION_CONTROL_PROVIDER, VersionControlProviderSpec, namespace, vcs.name),
            )
            if vcs
            else None,
            implementation_name=named.name if named else "",
            position=position,
        )

    def _memory(self, namespace: str, name: str | None) -> tuple[str, MemorySpec] | None:
        if name is not None:
            return name, self.caches.get(MEMORY, MemorySpec, namespace, name)
        for item in self.caches.of[MEMORY.name].all(namespace):
            spec = item.view.get("spec") or {}
            if spec.get("default"):
                return item.name, MemorySpec.model_validate(spec)
        return None


def _position(run: Cached, spec: AgentRunSpec) -> StepPosition | None:
    """The current or next workflow step, from the recorded status."""
    stages = workflow_stages((run.view.get("status") or {}).get("workflow") or {})
    stage = next((item for item in stages if not item.is_over), None)
    for index, step in enumerate(spec.workflow.steps if spec.workflow else ()):
        if stage is None or stage.name == step.name:
            iteration = stage.iteration if stage else (1 if step.loop else None)
            return StepPosition(step=step, index=index, iteration=iteration)
    return None


def _limits(
    run: Cached, spec: AgentRunSpec, agent: AgentSpec, position: StepPosition | None
) -> AttemptLimits:
    """The step's limits, else the Agent's defaults; a run that a step created is retried only by that step."""
    defaults, step = agent.defaults, position.step if position else None
    ttl = (spec.runtime.config or {}).get("ttlSecondsAfterFinished")
    timeout = defaults.timeout_seconds if defaults else None
    retries = defaults.retry_limit if defaults and run.controller is None else None
    if step is not None:
        timeout = step.timeout_seconds if step.timeout_seconds is not None else timeout
        retries = step.retries if step.retries is not None else retries
    return AttemptLimits(
        timeout_seconds=timeout,
        job_ttl=ttl if isinstance(ttl, int) and ttl >= 0 else None,
        retries=retries or None,
        backoff_seconds=(step.retry_backoff_seconds if step else None) or None,
    )


def is_template(run: Cached) -> bool:
    """Whether the run only serves as a template."""
    annotations: Mapping[str, Any] = run.view["metadata"].get("annotations") or {}
    return annotations.get(TEMPLATE) == "true"
