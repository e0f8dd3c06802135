"""What is asked of each kind of definition. The same rules as `jangar lint` tells beforehand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jangar.api.agents.agent import AgentSpec
from jangar.api.agents.implementation import ImplementationText
from jangar.api.agents.provider import AGENT_PROVIDER, AgentProviderSpec
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.api.tools import ToolSpec
from jangar.controllers.definition.reconciler import Checked
from jangar.domain.agentrun.provider import provider_problems
from jangar.domain.not_built import not_built_problems
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.domain.orchestration.message_text import does_not_exist
from jangar.domain.orchestration.recursion import NestedCall, nested_calls, recursion_problems
from jangar.domain.orchestration.validation import definition_problems, execution_mode, not_built_steps
from jangar.domain.toolrun.tool import tool_problems
from kubekit.cache.object_cache import Cache, Cached


def check_tool(seen: Cached, spec: Mapping[str, Any]) -> Checked:
    """A Tool."""
    del seen
    return Checked(problems=tool_problems(ToolSpec.model_validate(spec)), missing=[], more={})


def check_provider(seen: Cached, spec: Mapping[str, Any]) -> Checked:
    """An AgentProvider: every template can be filled in by some run."""
    del seen
    problems = provider_problems(AgentProviderSpec.model_validate(spec))
    problems += not_built_problems(AGENT_PROVIDER.name, spec)
    return Checked(problems=problems, missing=[], more={})


def check_version_control(seen: Cached, spec: Mapping[str, Any]) -> Checked:
    """A VersionControlProvider; whether it lets anybody in, only a run can tell."""
    del seen
    return Checked(
        problems=list(not_built_problems(VERSION_CONTROL_PROVIDER.name, spec)), missing=[], more={}
    )


def check_task(seen: Cached, spec: Mapping[str, Any]) -> Checked:
    """An ImplementationSpec; its schema says all there is to say."""
    del seen
    ImplementationText.model_validate(spec)
    return Checked(problems=[], missing=[], more={})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCheck:
    """An Agent; its provider need not be there yet."""

    providers: Cache

    def __call__(self, seen: Cached, spec: Mapping[str, Any]) -> Checked:
        name = AgentSpec.model_validate(spec).provider_ref.name
        if self.providers.get(seen.namespace, name) is not None:
            return Checked(problems=[], missing=[], more={})
        others = (item.name for item in self.providers.all(seen.namespace))
        problem = Problem(
            reason=Reason.REFERENCE_NOT_FOUND,
            path=("spec", "providerRef", "name"),
            message=does_not_exist("AgentProvider", name, others),
            fix="create it, or name one that exists",
        )
        return Checked(problems=[], missing=[problem], more={})


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestrationCheck:
    """An Orchestration, together with those that it runs: it must not contain itself."""

    orchestrations: Cache
    compile_condition: ConditionCompiler

    def __call__(self, seen: Cached, spec: Mapping[str, Any]) -> Checked:
        read = OrchestrationSpec.model_validate(spec)
        problems = [
            *not_built_steps(read),
            *definition_problems(read, compile_condition=self.compile_condition),
        ]
        problems += recursion_problems(self._reachable(seen, read)).get(seen.name, [])
        more = {"executionMode": str(execution_mode(read)), "stepCount": len(read.steps)}
        return Checked(problems=problems, missing=[], more=more)

    def _reachable(self, seen: Cached, spec: OrchestrationSpec) -> dict[str, list[NestedCall]]:
        """Calls of this orchestration and of all that it leads to."""
        calls = {seen.name: nested_calls(spec)}
        open_ones = [item.target for item in calls[seen.name]]
        while open_ones:
            name = open_ones.pop()
            cached = None if name in calls else self.orchestrations.get(seen.namespace, name)
            if cached is not None:
                calls[name] = nested_calls(OrchestrationSpec.model_validate(cached.view.get("spec") or {}))
                open_ones += [item.target for item in calls[name]]
        return calls
