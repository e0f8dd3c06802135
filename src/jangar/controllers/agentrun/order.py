"""What an AgentRun runs: its task, handed to the program of its Agent's provider. Reads caches."""

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
from jangar.controllers.job_execution.order import JobRequest
from jangar.domain.agentrun.admission import admission_blocker
from jangar.domain.agentrun.command import AgentDefaults, AgentParts, agent_command
from jangar.domain.agentrun.task import task_of
from jangar.domain.agentrun.workflow import StepPosition, define_runtime_steps
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.observation import Work, WorkDefined, WorkHeld, WorkMissing, WorkRejected
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.job_execution.workflow import RuntimeStep
from jangar.domain.job_execution.workflow_document import workflow_stages
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.domain.orchestration.message_text import does_not_exist
from jangar.domain.policies.verdicts import Deny
from jangar.domain.toolrun.tool import NoCommand
from jangar.runtimes.kubernetes_job.manifest import AGENT_TEMPLATE
from kubekit.cache.object_cache import Cache, Cached

TEMPLATE = "agents.proompteng.ai/template"
"""Annotation of a run that is only copied: nothing is done about it."""

_Spec = TypeVar("_Spec", bound=ApiModel)


class _MissingError(Exception):
    def __init__(self, kind: Kind, name: str, others: Iterable[str]) -> None:
        super().__init__(does_not_exist(kind.name, name, others))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCaches:
    """Everything that a run may name, by kind."""

    of: Mapping[str, Cache]

    def get(self, kind: Kind, spec: type[_Spec], namespace: str, name: str) -> _Spec:
        """Raises _MissingError."""
        cached = self.of[kind.name].get(namespace, name)
        if cached is None:
            raise _MissingError(kind, name, (item.name for item in self.of[kind.name].all(namespace)))
        return spec.model_validate(cached.view.get("spec") or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunOrders:
    """Reads AgentRuns."""

    caches: AgentCaches
    defaults: AgentDefaults
    compile_loop: ConditionCompiler
    denial: Callable[[Cached], Deny | None] | None = None
    """Why a run may not start now, whatever it was told before. Where given, nothing starts before it is admitted."""

    def __call__(self, seen: Cached) -> JobRequest:
        spec = AgentRunSpec.model_validate(seen.view.get("spec") or {})
        course = self._course(spec)
        place = _place(seen, spec) if isinstance(course, tuple) and course else None
        work, command, terms = self._work(seen, spec, place)
        if isinstance(course, WorkRejected):
            work, command = course, None
        return JobRequest(
            spec=spec,
            work=work,
            template=AGENT_TEMPLATE,
            course=course if isinstance(course, tuple) else (),
            command=command,
            on_job_missing=spec.on_job_missing,
            terms=terms,
            reports=True,
        )

    def size(self, seen: Cached) -> int:
        spec = seen.view.get("spec") or {}
        agent = self._named(AGENT, seen.namespace, spec.get("agentRef"))
        agent_spec = (agent.view.get("spec") or {}) if agent else {}
        named = (
            seen,
            agent,
            self._named(AGENT_PROVIDER, seen.namespace, agent_spec.get("providerRef")),
            self._named(IMPLEMENTATION_SPEC, seen.namespace, spec.get("implementationSpecRef")),
        )
        return sum(len(item.raw) for item in named if item is not None)

    def _named(self, kind: Kind, namespace: str, reference: Any) -> Cached | None:
        name = reference.get("name") if isinstance(reference, dict) else None
        return self.caches.of[kind.name].get(namespace, name) if isinstance(name, str) else None

    def _course(self, spec: AgentRunSpec) -> tuple[RuntimeStep, ...] | WorkRejected:
        """The stages of the work; none where it is one Job."""
        found = define_runtime_steps(spec, compile_condition=self.compile_loop)
        if isinstance(found, list):
            only_missing = all(item.reason is Reason.MISSING_INPUT for item in found)
            reason = Reason.MISSING_INPUT if only_missing else Reason.INVALID_SPEC
            return WorkRejected(reason=reason, message="; ".join(map(str, found)))
        return found

    def _work(
        self, seen: Cached, spec: AgentRunSpec, place: StepPosition | None
    ) -> tuple[Work, Command | None, AttemptLimits | None]:
        try:
            parts = self._parts(seen, spec, place)
        except _MissingError as error:
            return WorkMissing(message=str(error)), None, None
        terms = _terms(seen, spec, parts.agent, place)
        found = agent_command(parts, self.defaults)
        if isinstance(found, NoCommand):
            return WorkRejected(reason=found.reason, message=found.message), None, terms
        return self._admitted(seen) or WorkDefined(), found, terms

    def _admitted(self, seen: Cached) -> WorkHeld | WorkRejected | None:
        """None if it may start. Agents and providers are read for each attempt, so each attempt is judged by them."""
        if self.denial is None:
            return None
        status = seen.view.get("status") or {}
        is_first = not status.get("job")
        if is_first and (held := admission_blocker(status.get("admission"))) is not None:
            return held
        denied = self.denial(seen)
        if denied is None:
            return None
        # It was admitted: a cache may be behind, or somebody mends it. So the run waits and does not fail for good.
        if is_first:
            return WorkHeld(reason=denied.reason, message=denied.message)
        return WorkRejected(reason=denied.reason, message=denied.message)

    def _parts(self, seen: Cached, spec: AgentRunSpec, place: StepPosition | None) -> AgentParts:
        namespace, caches = seen.namespace, self.caches
        agent = caches.get(AGENT, AgentSpec, namespace, spec.agent_ref.name)
        provider = caches.get(AGENT_PROVIDER, AgentProviderSpec, namespace, agent.provider_ref.name)
        step = place.step if place else None
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
            name=seen.name,
            uid=seen.uid,
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
            place=place,
        )

    def _memory(self, namespace: str, name: str | None) -> tuple[str, MemorySpec] | None:
        if name is not None:
            return name, self.caches.get(MEMORY, MemorySpec, namespace, name)
        for item in self.caches.of[MEMORY.name].all(namespace):
            spec = item.view.get("spec") or {}
            if spec.get("default"):
                return item.name, MemorySpec.model_validate(spec)
        return None


def _place(seen: Cached, spec: AgentRunSpec) -> StepPosition | None:
    """The step that is under way or next, by what is recorded."""
    stages = workflow_stages((seen.view.get("status") or {}).get("workflow") or {})
    stage = next((item for item in stages if not item.is_over), None)
    for index, step in enumerate(spec.workflow.steps if spec.workflow else ()):
        if stage is None or stage.name == step.name:
            iteration = stage.iteration if stage else (1 if step.loop else None)
            return StepPosition(step=step, index=index, iteration=iteration)
    return None


def _terms(seen: Cached, spec: AgentRunSpec, agent: AgentSpec, place: StepPosition | None) -> AttemptLimits:
    """The step's own, else the Agent's defaults. A run that belongs to a step is repeated by its step alone."""
    said, step = agent.defaults, place.step if place else None
    ttl = (spec.runtime.config or {}).get("ttlSecondsAfterFinished")
    timeout = said.timeout_seconds if said else None
    retries = said.retry_limit if said and seen.controller is None else None
    if step is not None:
        timeout = step.timeout_seconds if step.timeout_seconds is not None else timeout
        retries = step.retries if step.retries is not None else retries
    return AttemptLimits(
        timeout_seconds=timeout,
        job_ttl=ttl if isinstance(ttl, int) and ttl >= 0 else None,
        retries=retries or None,
        backoff_seconds=(step.retry_backoff_seconds if step else None) or None,
    )


def is_template(seen: Cached) -> bool:
    """Whether the run is only there to be copied."""
    annotations: Mapping[str, Any] = seen.view["metadata"].get("annotations") or {}
    return annotations.get(TEMPLATE) == "true"
