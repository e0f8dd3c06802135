"""The table of all kinds, with lookups by name and by apiVersion and kind."""

from jangar.api.agents.agent import AGENT
from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.agents.implementation import IMPLEMENTATION_SPEC
from jangar.api.agents.memory import MEMORY
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.agents.source import IMPLEMENTATION_SOURCE
from jangar.api.agents.vcs import VERSION_CONTROL_PROVIDER
from jangar.api.approvals import APPROVAL_POLICY
from jangar.api.artifacts import ARTIFACT
from jangar.api.budgets import BUDGET
from jangar.api.kind import Kind
from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.schedules import SCHEDULE
from jangar.api.security import SECRET_BINDING
from jangar.api.signals import SIGNAL, SIGNAL_DELIVERY
from jangar.api.swarm import SWARM
from jangar.api.tools import TOOL, TOOL_RUN
from jangar.api.workspaces import WORKSPACE

KINDS: tuple[Kind, ...] = (
    AGENT,
    AGENT_PROVIDER,
    AGENT_RUN,
    IMPLEMENTATION_SOURCE,
    IMPLEMENTATION_SPEC,
    MEMORY,
    VERSION_CONTROL_PROVIDER,
    APPROVAL_POLICY,
    ARTIFACT,
    BUDGET,
    ORCHESTRATION,
    ORCHESTRATION_RUN,
    SCHEDULE,
    SECRET_BINDING,
    SIGNAL,
    SIGNAL_DELIVERY,
    SWARM,
    TOOL,
    TOOL_RUN,
    WORKSPACE,
)

_BY_NAME = {
    alias: kind
    for kind in KINDS
    for alias in (kind.name, kind.singular, kind.plural, *kind.short_names, f"{kind.plural}.{kind.group}")
}
_BY_API_VERSION_AND_KIND = {(kind.api_version, kind.name): kind for kind in KINDS}


def by_name(name: str) -> Kind | None:
    """The kind with this name, ignoring case: AgentRun, agentrun, agentruns, ar or agentruns.agents.proompteng.ai."""
    return _BY_NAME.get(name) or _BY_NAME.get(name.lower())


def by_api_version_and_kind(api_version: str, kind: str) -> Kind | None:
    """The kind of a manifest, by its apiVersion and kind."""
    return _BY_API_VERSION_AND_KIND.get((api_version, kind))
