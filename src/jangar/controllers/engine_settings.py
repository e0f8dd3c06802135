"""What operators decide about the engine, as its parts take it. Knows no variable and no value of a chart."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jangar.controllers.admission.wiring import AdmissionSettings
from jangar.controllers.orchestrationrun.retention import Keeping
from jangar.domain.agentrun.command import AgentDefaults
from jangar.domain.job_execution.observation import WorkLimits
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.retention.values import NEVER, Keep
from kubekit.cache.namespaces import Namespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What operators decide about the engine."""

    orchestrations: Namespaces
    """Whose Orchestrations and runs are looked after."""
    supporting: Namespaces
    """Whose Tools and ToolRuns are."""
    agents: Namespaces = field(default_factory=Namespaces.of)
    """Whose Agents and AgentRuns are; none looks after no agents at all."""
    agent_defaults: AgentDefaults = field(default_factory=AgentDefaults)
    run_limits: Limits = field(default_factory=Limits)
    work_limits: WorkLimits = field(default_factory=WorkLimits)
    keeping: Keeping = field(default_factory=Keeping)
    data_dir: Path | None = None
    """Where the last lines of logs are kept; else nowhere."""
    log_retention: Keep = NEVER
    history_retention: Keep = NEVER
    service_account: str | None = None
    security_context: Mapping[str, Any] | None = None
    """Of the pods of work, in place of the restricted one."""
    share_processes: bool = True
    """Whether pods of Tools share their process namespace."""
    workers: int = 16
    admission: AdmissionSettings | None = None
    """What decides whether AgentRuns may start; without it every one may."""
    policy: AdmissionPolicy = field(default_factory=AdmissionPolicy)
    """What ToolRuns may use, and which hosts a sign-in may be sent to."""

    @property
    def watched(self) -> Namespaces:
        """All: a run sees its children, a child what it names."""
        names = (self.orchestrations.names, self.supporting.names, self.agents.names)
        if None in names:
            return Namespaces.every()
        return Namespaces.of(*dict.fromkeys(name for item in names for name in item or ()))
