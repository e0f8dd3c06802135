"""The validation of each kind of definition. `jangar lint` applies the same rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from jangar.api.agents.agent import AgentSpec
from jangar.api.agents.implementation import ImplementationText
from jangar.api.agents.provider import AGENT_PROVIDER, AgentProviderSpec
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.meta import JsonObject
from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.api.tools import ToolSpec
from jangar.domain.agentrun.provider import provider_problems
from jangar.domain.not_built import not_built_problems
from jangar.domain.orchestration.definition import ConditionCompiler
from jangar.domain.orchestration.message_text import does_not_exist
from jangar.domain.orchestration.recursion import NestedCall, nested_calls, recursion_problems
from jangar.domain.orchestration.validation import definition_problems, execution_mode, not_built_steps
from jangar.domain.toolrun import tool_problems
from kubekit.cache.object_cache import Cache, Cached


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of a validation."""

    problems: list[Problem] = field(default_factory=list)
    missing: list[Problem] = field(default_factory=list)
    """Referenced objects that do not exist yet: the definition is valid but not ready."""
    fields: JsonObject = field(default_factory=dict)
    """Status fields that only this kind has."""


class Check(Protocol):
    """Validates one object of a kind."""

    def __call__(self, cached: Cached, spec: Mapping[str, Any], /) -> Checked: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuiltCheck:
    """Every object of a kind that is not built is invalid."""

    kind: str

    def __call__(self, _: Cached, spec: Mapping[str, Any]) -> Checked:
        return Checked(problems=list(not_built_problems(self.kind, spec)))


def check_tool(_: Cached, spec: Mapping[str, Any]) -> Checked:
    """Validate a Tool."""
    return Checked(problems=tool_problems(ToolSpec.model_validate(spec)))


def check_provider(_: Cached, spec: Mapping[str, Any]) -> Checked:
    """Validate an AgentProvider: some run can render every template."""
    problems = provider_problems(AgentProviderSpec.model_validate(spec))
    return Checked(problems=[*problems, *not_built_problems(AGENT_PROVIDER.name, spec)])


def check_version_control(_: Cached, spec: Mapping[str, Any]) -> Checked:
    """Validate a VersionControlProvider; only a run shows whether its credentials work."""
    return Checked(problems=list(not_built_problems(VERSION_CONTROL_PROVIDER.name, spec)))


def check_task(_: Cached, spec: Mapping[str, Any]) -> Checked:
    """Validate an ImplementationSpec; it has no rules beyond its schema."""
    ImplementationText.model_validate(spec)
    return Checked()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCheck:
    """Validates an Agent; its provider may be created later."""

    providers: Cache

    def __call__(self, cached: Cached, spec: Mapping[str, Any]) -> Checked:
        name = AgentSpec.model_validate(spec).provider_ref.name
        if self.providers.get(cached.namespace, name) is not None:
            return Checked()
        others = (item.name for item in self.providers.all(cached.namespace))
        problem = Problem(
            reason=Reason.REFERENCE_NOT_FOUND,
            path=("spec", "providerRef", "name"),
            message=does_not_exist("AgentProvider", name, others),
            fix="create it, or name one that exists",
        )
        return Checked(missing=[problem])


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestrationCheck:
    """Validates an Orchestration and the nesting of those that it runs: it must not contain itself."""

    orchestrations: Cache
    compile_condition: ConditionCompiler

    def __call__(self, cached: Cached, spec: Mapping[str, Any]) -> Checked:
        definition = OrchestrationSpec.model_validate(spec)
        problems = [
            *not_built_steps(definition),
            *definition_problems(definition, compile_condition=self.compile_condition),
        ]
        problems += recursion_problems(self._reachable(cached, definition)).get(cached.name, [])
        fields = {"executionMode": str(execution_mode(definition)), "stepCount": len(definition.steps)}
        return Checked(problems=problems, fields=fields)

    def _reachable(self, root: Cached, spec: OrchestrationSpec) -> dict[str, list[NestedCall]]:
        """The calls of this orchestration and of all that it reaches, by name."""
        calls = {root.name: nested_calls(spec)}
        pending = [call.target for call in calls[root.name]]
        while pending:
            name = pending.pop()
            cached = None if name in calls else self.orchestrations.get(root.namespace, name)
            if cached is not None:
                calls[name] = nested_calls(OrchestrationSpec.model_validate(cached.view.get("spec") or {}))
                pending += [call.target for call in calls[name]]
        return calls
