"""The settings of the controllers, as their parts need them; independent of environment variables and Helm values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.domain.agentrun.command import AgentDefaults
from jangar.domain.job_execution.observation import WorkLimits
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.retention import NEVER, Keep
from kubekit.cache.namespaces import Namespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """The settings of admission."""

    namespaces: Namespaces
    """The namespaces whose runs are admitted together; cluster limits count them."""
    policy: AdmissionPolicy = field(default_factory=AdmissionPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The settings of all controllers."""

    orchestrations: Namespaces
    """Namespaces whose Orchestrations and OrchestrationRuns are reconciled."""
    supporting: Namespaces
    """Namespaces whose Tools, ToolRuns and kinds that are not built are reconciled."""
    agents: Namespaces = field(default_factory=Namespaces.of)
    """Namespaces whose Agents and AgentRuns are reconciled; without one, no agent controller runs."""
    agent_defaults: AgentDefaults = field(default_factory=AgentDefaults)
    run_limits: Limits = field(default_factory=Limits)
    work_limits: WorkLimits = field(default_factory=WorkLimits)
    keeping: Keeping = field(default_factory=Keeping)
    data_dir: Path | None = None
    """Directory of log tails; if None, none are stored."""
    log_retention: Keep = NEVER
    history_retention: Keep = NEVER
    service_account: str | None = None
    security_context: Mapping[str, Any] | None = None
    """Pod security context of work; if None, the restricted one."""
    share_processes: bool = True
    """Share the process namespace in pods of Tools."""
    workers: int = 16
    admission: AdmissionSettings | None = None
    """If None, every run may start."""
    policy: AdmissionPolicy = field(default_factory=AdmissionPolicy)
    """What ToolRuns may use, and the hosts to which app sign-ins may be sent."""

    @property
    def watched(self) -> Namespaces:
        """All namespaces of any controller: a run observes its children, a child what it references."""
        names = (self.orchestrations.names, self.supporting.names, self.agents.names)
        if None in names:
            return Namespaces.every()
        return Namespaces.of(*dict.fromkeys(name for item in names for name in item or ()))

    @property
    def has_agents(self) -> bool:
        """Whether the agent controllers run."""
        return self.agents.names != ()
