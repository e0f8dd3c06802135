"""The settings of `jangar controllers`, read from its environment and validated."""

# ruff: noqa: RUF009 (`setting` returns a dataclass field, not a value that instances share)

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from jangar.domain.policies.patterns import ImagePattern
from jangar.domain.retention import Keep
from jangar.settings import admission_table, table
from jangar.settings.control_plane import ControlPlaneSettings
from jangar.settings.environment import BadSettings, read_values
from jangar.settings.forms import Scope
from jangar.settings.variable import setting, variables_of

PREFIX = "JANGAR_"
__all__ = ["BadSettings", "ControllerSettings", "controller_settings", "startup_warnings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Every setting of the process; unset ones have their defaults."""

    agents_enabled: bool = setting(table.AGENTS_ENABLED)
    agents_namespaces: Scope = setting(table.AGENTS_NAMESPACES)
    orchestration_enabled: bool = setting(table.ORCHESTRATION_ENABLED)
    orchestration_namespaces: Scope = setting(table.ORCHESTRATION_NAMESPACES)
    supporting_enabled: bool = setting(table.SUPPORTING_ENABLED)
    supporting_namespaces: Scope = setting(table.SUPPORTING_NAMESPACES)
    share_processes: bool = setting(table.SHARE_PROCESSES)
    cancel_enabled: bool = setting(table.CANCEL_ENABLED)
    cancel_timeout: timedelta = setting(table.CANCEL_TIMEOUT)
    job_ttl: Keep | None = setting(table.JOB_TTL)
    agentrun_retention: Keep | None = setting(table.AGENTRUN_RETENTION)
    orchestration_retention: Keep | None = setting(table.ORCHESTRATION_RETENTION)
    log_retention: Keep = setting(table.LOG_RETENTION)
    history_retention: Keep = setting(table.HISTORY_RETENTION)
    runner_image: str = setting(table.RUNNER_IMAGE)
    agent_image: str = setting(table.AGENT_IMAGE)
    runner_service_account: str = setting(table.RUNNER_SERVICE_ACCOUNT)
    runner_node_selector: Mapping[str, Any] | None = setting(table.RUNNER_NODE_SELECTOR)
    runner_tolerations: Sequence[Any] = setting(table.RUNNER_TOLERATIONS)
    runner_topology_spread: Sequence[Any] = setting(table.RUNNER_TOPOLOGY_SPREAD)
    runner_affinity: Mapping[str, Any] | None = setting(table.RUNNER_AFFINITY)
    runner_pod_security_context: Mapping[str, Any] | None = setting(table.RUNNER_POD_SECURITY_CONTEXT)
    runner_resources: Mapping[str, Any] | None = setting(table.RUNNER_RESOURCES)
    runner_image_pull_secrets: Sequence[Any] = setting(table.RUNNER_IMAGE_PULL_SECRETS)
    runner_priority_class: str = setting(table.RUNNER_PRIORITY_CLASS)
    runner_scheduler_name: str = setting(table.RUNNER_SCHEDULER_NAME)
    concurrency_namespace: int = setting(admission_table.CONCURRENCY_NAMESPACE)
    concurrency_agent: int = setting(admission_table.CONCURRENCY_AGENT)
    concurrency_cluster: int = setting(admission_table.CONCURRENCY_CLUSTER)
    queue_namespace: int = setting(admission_table.QUEUE_NAMESPACE)
    queue_repo: int = setting(admission_table.QUEUE_REPO)
    queue_cluster: int = setting(admission_table.QUEUE_CLUSTER)
    rate_window: timedelta = setting(admission_table.RATE_WINDOW)
    rate_namespace: int = setting(admission_table.RATE_NAMESPACE)
    rate_repo: int = setting(admission_table.RATE_REPO)
    rate_cluster: int = setting(admission_table.RATE_CLUSTER)
    labels_required: tuple[str, ...] = setting(admission_table.LABELS_REQUIRED)
    labels_allowed: tuple[str, ...] = setting(admission_table.LABELS_ALLOWED)
    labels_denied: tuple[str, ...] = setting(admission_table.LABELS_DENIED)
    images_allowed: tuple[ImagePattern, ...] = setting(admission_table.IMAGES_ALLOWED)
    images_denied: tuple[ImagePattern, ...] = setting(admission_table.IMAGES_DENIED)
    blocked_secrets: tuple[str, ...] = setting(admission_table.BLOCKED_SECRETS)
    service_accounts_allowed: tuple[str, ...] = setting(admission_table.SERVICE_ACCOUNTS_ALLOWED)
    own_service_accounts: tuple[str, ...] = setting(admission_table.OWN_SERVICE_ACCOUNTS)
    priority_classes_allowed: tuple[str, ...] = setting(admission_table.PRIORITY_CLASSES_ALLOWED)
    tolerations_allowed: tuple[str, ...] = setting(admission_table.TOLERATIONS_ALLOWED)
    node_selectors_allowed: tuple[str, ...] = setting(admission_table.NODE_SELECTORS_ALLOWED)
    runtime_classes_allowed: tuple[str, ...] = setting(admission_table.RUNTIME_CLASSES_ALLOWED)
    token_audiences_allowed: tuple[str, ...] = setting(admission_table.TOKEN_AUDIENCES_ALLOWED)
    provider_hosts_allowed: tuple[str, ...] = setting(admission_table.PROVIDER_HOSTS_ALLOWED)
    toolrun_limits: str = setting(admission_table.TOOLRUN_LIMITS)
    repositories_allowed: tuple[str, ...] = setting(admission_table.REPOSITORIES_ALLOWED)
    pod_namespace: str = setting(table.POD_NAMESPACE)
    leader_election_enabled: bool = setting(table.LEADER_ELECTION_ENABLED)
    lease_name: str = setting(table.LEASE_NAME)
    lease_namespace: str = setting(table.LEASE_NAMESPACE)
    lease_duration: timedelta = setting(table.LEASE_DURATION)
    renew_deadline: timedelta = setting(table.RENEW_DEADLINE)
    retry_period: timedelta = setting(table.RETRY_PERIOD)
    controller_shards: int = setting(table.CONTROLLER_SHARDS)
    database_url: str = setting(table.DATABASE_URL)
    health_address: str = setting(table.HEALTH_ADDRESS)
    metrics_enabled: bool = setting(table.METRICS_ENABLED)
    metrics_path: str = setting(table.METRICS_PATH)

    @property
    def workload_image(self) -> str:
        """The default image of workloads; empty if the operator sets none."""
        return self.runner_image or self.agent_image


def controller_settings(environment: Mapping[str, str]) -> ControllerSettings:
    """Read and validate the environment; raises BadSettings with every problem at once."""
    values, problems = read_values(ControllerSettings, environment)
    settings = ControllerSettings(**values)
    if values.keys() >= {"retry_period", "renew_deadline", "lease_duration"}:
        problems += _lease_problems(settings)
    if problems:
        raise BadSettings(problems)
    return settings


def startup_warnings(settings: ControllerSettings, environment: Mapping[str, str]) -> list[str]:
    """Warnings to log at startup: retention of zero, and unknown variable names."""
    return [*_zero_retention_warnings(settings), *_unknown_name_warnings(environment)]


def _lease_problems(settings: ControllerSettings) -> list[str]:
    if settings.retry_period < settings.renew_deadline < settings.lease_duration:
        return []
    retry, renew, duration = [
        f"{variable.name}={int(value.total_seconds())}"
        for variable, value in (
            (table.RETRY_PERIOD, settings.retry_period),
            (table.RENEW_DEADLINE, settings.renew_deadline),
            (table.LEASE_DURATION, settings.lease_duration),
        )
    ]
    return [f"{retry}, {renew}, {duration}: each must be less than the next"]


def _zero_retention_warnings(settings: ControllerSettings) -> list[str]:
    retentions = (
        (table.JOB_TTL, settings.job_ttl, "Jobs are deleted as soon as their outcome is recorded"),
        (
            table.AGENTRUN_RETENTION,
            settings.agentrun_retention,
            "runs are deleted as soon as they end",
        ),
        (
            table.ORCHESTRATION_RETENTION,
            settings.orchestration_retention,
            "OrchestrationRuns and ToolRuns are deleted as soon as they end",
        ),
        (table.LOG_RETENTION, settings.log_retention, "log tails are deleted as soon as a workload ends"),
        (table.HISTORY_RETENTION, settings.history_retention, "history is deleted soon after it is stored"),
    )
    return [
        f"{variable.name}=0: {meaning}; set it to never to keep them"
        for variable, keep, meaning in retentions
        if keep is not None and keep.seconds == 0
    ]


def _unknown_name_warnings(environment: Mapping[str, str]) -> list[str]:
    variables = (
        *variables_of(ControllerSettings).values(),
        *variables_of(ControlPlaneSettings).values(),
    )
    known = {variable.name for variable in variables}
    warnings = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            matches = get_close_matches(name, known, n=1, cutoff=0.85)
            warnings.append(
                f"{name} is set but is not a known setting"
                + (f"; did you mean {matches[0]}?" if matches else "")
            )
    return warnings
