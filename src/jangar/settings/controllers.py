"""The settings of `jangar controllers`, read from its environment and validated."""

# ruff: noqa: RUF009 (`setting` returns a dataclass field, not a value that instances share)

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from jangar.domain.policies.policy import (
    PROVIDER_HOSTS,
    AdmissionPolicy,
    Concurrency,
    Images,
    Labels,
    Pods,
    Queue,
    Rate,
)
from jangar.domain.retention import NEVER, Keep
from jangar.settings import forms
from jangar.settings.control_plane import ControlPlaneSettings
from jangar.settings.forms import Scope
from jangar.settings.laptop import LaptopSettings
from jangar.settings.policy import PolicySettings
from jangar.settings.shared import DATABASE_URL, LOG_FORMAT, ORCHESTRATION_NAMESPACES
from jangar.settings.variables import (
    BadSettings,
    group,
    read_values,
    retention,
    setting,
    shared,
    variables_of,
)

PREFIX = "JANGAR_"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Every setting of the process; unset ones have their defaults."""

    agents_enabled: bool = setting(
        "JANGAR_AGENTS_CONTROLLER_ENABLED",
        forms.switch(),
        True,
        "Enable the agents controller, which reconciles Agents and AgentRuns.",
        helm_value="controller.enabled",
    )
    agents_namespaces: Scope = setting(
        "JANGAR_AGENTS_CONTROLLER_NAMESPACES",
        forms.namespaces(),
        Scope(()),
        "Namespaces that the agents controller watches. Unset watches the namespace of the process.",
        helm_value="controller.namespaces",
    )
    orchestration_enabled: bool = setting(
        "JANGAR_ORCHESTRATION_CONTROLLER_ENABLED",
        forms.switch(),
        True,
        "Enable the orchestration controller, which reconciles Orchestrations and OrchestrationRuns.",
        helm_value="orchestrationController.enabled",
    )
    orchestration_namespaces: Scope = shared(ORCHESTRATION_NAMESPACES)
    supporting_enabled: bool = setting(
        "JANGAR_SUPPORTING_CONTROLLER_ENABLED",
        forms.switch(),
        True,
        "Enable the supporting controller, which reconciles Tools, ToolRuns and the other kinds that runs reference.",
        helm_value="supportingController.enabled",
    )
    supporting_namespaces: Scope = setting(
        "JANGAR_SUPPORTING_CONTROLLER_NAMESPACES",
        forms.namespaces(),
        Scope(()),
        "Namespaces that the supporting controller watches. Unset watches the namespace of the process.",
        helm_value="supportingController.namespaces",
    )
    share_processes: bool = setting(
        "JANGAR_TOOL_SHARE_PROCESS_NAMESPACE",
        forms.switch(),
        True,
        "Set shareProcessNamespace on the pods of Tools. SIGTERM then also ends programs that do not handle it.",
        helm_value="supportingController.shareProcessNamespace",
    )
    cancel_enabled: bool = setting(
        "JANGAR_ORCHESTRATION_CANCEL_ENABLED",
        forms.switch(),
        True,
        "Process requests to cancel runs. While disabled, requests stay pending until it is enabled again.",
        helm_value="orchestrationController.cancel.enabled",
    )
    cancel_timeout: timedelta = setting(
        "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS",
        forms.milliseconds(minimum=1000),
        timedelta(seconds=60),
        "Maximum time to stop a run. Then the run is Cancelled and its status lists what may still run.",
        helm_value="orchestrationController.cancel.timeoutMs",
    )
    job_ttl: Keep | None = retention(
        "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS",
        None,
        "Time to keep a Job after its outcome is recorded.",
        helm_value="controller.jobTtlSecondsAfterFinished",
        effective_default="600",
    )
    agentrun_retention: Keep | None = retention(
        "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
        None,
        "Time to keep finished runs of every kind.",
        helm_value="controller.agentRunRetentionSeconds",
        effective_default="2592000",
    )
    orchestration_retention: Keep | None = retention(
        "JANGAR_ORCHESTRATION_CONTROLLER_RETENTION_SECONDS",
        None,
        "Time to keep finished OrchestrationRuns and ToolRuns, if it differs from AgentRuns.",
        helm_value="orchestrationController.retentionSeconds",
    )
    log_retention: Keep = retention(
        "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS",
        Keep(duration=timedelta(days=7)),
        "Time to keep the log tails of workloads.",
        helm_value="controller.logRetentionSeconds",
    )
    history_retention: Keep = retention(
        "JANGAR_HISTORY_RETENTION_SECONDS",
        NEVER,
        "Time to keep a run in the history database after it ends, with its records and idempotency key.",
        helm_value="controller.historyRetentionSeconds",
    )
    runner_image: str = setting(
        "JANGAR_AGENT_RUNNER_IMAGE",
        forms.text(),
        "",
        "Default image of workloads.",
        helm_value="runner.image",
    )
    agent_image: str = setting(
        "JANGAR_AGENT_IMAGE",
        forms.text(),
        "",
        "Default image of workloads if JANGAR_AGENT_RUNNER_IMAGE is unset.",
        helm_value="runtime.agentImage",
    )
    runner_service_account: str = setting(
        "JANGAR_AGENT_RUNNER_SERVICE_ACCOUNT",
        forms.object_name(),
        "",
        "Default service account of workloads.",
        helm_value="controller.defaultWorkload.serviceAccountName",
    )
    runner_node_selector: Mapping[str, Any] | None = setting(
        "JANGAR_AGENT_RUNNER_NODE_SELECTOR",
        forms.json_object(),
        None,
        "Default node selector of workloads.",
        helm_value="controller.defaultWorkload.nodeSelector",
    )
    runner_tolerations: Sequence[Any] = setting(
        "JANGAR_AGENT_RUNNER_TOLERATIONS",
        forms.json_list(),
        (),
        "Default tolerations of workloads.",
        helm_value="controller.defaultWorkload.tolerations",
    )
    runner_topology_spread: Sequence[Any] = setting(
        "JANGAR_AGENT_RUNNER_TOPOLOGY_SPREAD_CONSTRAINTS",
        forms.json_list(),
        (),
        "Default topology spread constraints of workloads.",
        helm_value="controller.defaultWorkload.topologySpreadConstraints",
    )
    runner_affinity: Mapping[str, Any] | None = setting(
        "JANGAR_AGENT_RUNNER_AFFINITY",
        forms.json_object(),
        None,
        "Default affinity of workloads.",
        helm_value="controller.defaultWorkload.affinity",
    )
    runner_pod_security_context: Mapping[str, Any] | None = setting(
        "JANGAR_AGENT_RUNNER_POD_SECURITY_CONTEXT",
        forms.json_object(),
        None,
        "Pod security context of workloads, instead of the restricted one.",
        helm_value="controller.defaultWorkload.podSecurityContext",
    )
    runner_resources: Mapping[str, Any] | None = setting(
        "JANGAR_AGENT_RUNNER_RESOURCES",
        forms.json_object(),
        None,
        "Default resource requests and limits of workloads.",
        helm_value="controller.defaultWorkload.resources",
    )
    runner_image_pull_secrets: Sequence[Any] = setting(
        "JANGAR_AGENT_RUNNER_IMAGE_PULL_SECRETS",
        forms.json_list(),
        (),
        "Default image pull secrets of workloads.",
        helm_value="controller.defaultWorkload.imagePullSecrets",
    )
    runner_priority_class: str = setting(
        "JANGAR_AGENT_RUNNER_PRIORITY_CLASS",
        forms.object_name(),
        "",
        "Default priority class of workloads.",
        helm_value="controller.defaultWorkload.priorityClassName",
    )
    runner_scheduler_name: str = setting(
        "JANGAR_AGENT_RUNNER_SCHEDULER_NAME",
        forms.object_name(),
        "",
        "Default scheduler of workloads.",
        helm_value="controller.defaultWorkload.schedulerName",
    )
    policy: PolicySettings = group(PolicySettings)
    pod_namespace: str = setting(
        "JANGAR_POD_NAMESPACE",
        forms.object_name(),
        "",
        "Namespace that the process runs in. The chart sets it.",
    )
    leader_election_enabled: bool = setting(
        "JANGAR_LEADER_ELECTION_ENABLED",
        forms.switch(),
        True,
        "Enable leader election among replicas. Without it, run exactly one replica.",
        helm_value="controller.leaderElection.enabled",
    )
    lease_name: str = setting(
        "JANGAR_LEADER_ELECTION_LEASE_NAME",
        forms.object_name(),
        "agents-controller-leader",
        "Name of the leader election Lease, and prefix of the names of the shard Leases.",
        helm_value="controller.leaderElection.leaseName",
    )
    lease_namespace: str = setting(
        "JANGAR_LEADER_ELECTION_LEASE_NAMESPACE",
        forms.object_name(),
        "",
        "Namespace of the leader election Leases. Unset uses the namespace of the process.",
        helm_value="controller.leaderElection.leaseNamespace",
    )
    lease_duration: timedelta = setting(
        "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS",
        forms.seconds(minimum=1),
        timedelta(seconds=30),
        "Time after the last renewal at which another process may take a Lease over.",
        helm_value="controller.leaderElection.leaseDurationSeconds",
    )
    renew_deadline: timedelta = setting(
        "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS",
        forms.seconds(minimum=1),
        timedelta(seconds=20),
        "Time without a successful renewal after which a holder stops acting; less than the lease duration.",
        helm_value="controller.leaderElection.renewDeadlineSeconds",
    )
    retry_period: timedelta = setting(
        "JANGAR_LEADER_ELECTION_RETRY_PERIOD_SECONDS",
        forms.seconds(minimum=1),
        timedelta(seconds=5),
        "Interval at which a holder renews its Lease and others check it; less than the renew deadline.",
        helm_value="controller.leaderElection.retryPeriodSeconds",
    )
    controller_shards: int = setting(
        "JANGAR_CONTROLLER_SHARDS",
        forms.integer(minimum=1, maximum=1024),
        12,
        "Number of controller shards when the Lease is created; later the number in the Lease applies.",
        helm_value="controller.shards",
    )
    database_url: str = shared(DATABASE_URL)
    health_address: str = setting(
        "JANGAR_HEALTH_ADDRESS",
        forms.address(),
        "",
        "Address that serves /livez, /readyz and the metrics, as ADDRESS:PORT. Unset serves none.",
    )
    metrics_enabled: bool = setting(
        "JANGAR_PROMETHEUS_METRICS_ENABLED",
        forms.switch(),
        True,
        "Serve Prometheus metrics.",
        helm_value="metrics.enabled",
    )
    metrics_path: str = setting(
        "JANGAR_PROMETHEUS_METRICS_PATH",
        forms.path(),
        "/metrics",
        "URL path of the metrics.",
        helm_value="metrics.path",
    )
    log_format: str = shared(LOG_FORMAT)

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


def admission_policy(settings: ControllerSettings) -> AdmissionPolicy:
    """The admission policy for AgentRuns and ToolRuns that the settings describe."""
    limits = settings.policy
    concurrency = Concurrency(
        namespace=limits.concurrency_namespace,
        agent=limits.concurrency_agent,
        cluster=limits.concurrency_cluster,
    )
    queue = Queue(namespace=limits.queue_namespace, repo=limits.queue_repo, cluster=limits.queue_cluster)
    rate = Rate(
        window=limits.rate_window,
        namespace=limits.rate_namespace,
        repo=limits.rate_repo,
        cluster=limits.rate_cluster,
    )
    # The defaults are sized for agents; a limit that the operator set applies to ToolRuns as well.
    has_custom_limits = (concurrency, queue, rate) != (Concurrency(), Queue(), Rate())
    return AdmissionPolicy(
        concurrency=concurrency,
        queue=queue,
        rate=rate,
        counts_tool_runs=has_custom_limits
        if limits.toolrun_limits == "auto"
        else limits.toolrun_limits == "always",
        labels=Labels(
            required=limits.labels_required,
            allowed=limits.labels_allowed,
            denied=limits.labels_denied,
        ),
        images=Images(allowed=limits.images_allowed, denied=limits.images_denied),
        pods=Pods(
            service_accounts=limits.service_accounts_allowed,
            own_service_accounts=frozenset(limits.own_service_accounts),
            own_namespace=settings.pod_namespace,
            priority_classes=limits.priority_classes_allowed,
            tolerations=limits.tolerations_allowed,
            node_selectors=limits.node_selectors_allowed,
            runtime_classes=limits.runtime_classes_allowed,
            token_audiences=limits.token_audiences_allowed,
        ),
        provider_hosts=(*PROVIDER_HOSTS, *limits.provider_hosts_allowed),
        blocked_secrets=frozenset(limits.blocked_secrets),
        repositories=limits.repositories_allowed,
        default_image=settings.workload_image,
        default_service_account=settings.runner_service_account or "default",
    )


def startup_warnings(settings: ControllerSettings, environment: Mapping[str, str]) -> list[str]:
    """Warnings to log at startup: retention of zero, and unknown variable names."""
    return [*_zero_retention_warnings(settings), *_unknown_name_warnings(environment)]


def _lease_problems(settings: ControllerSettings) -> list[str]:
    if settings.retry_period < settings.renew_deadline < settings.lease_duration:
        return []
    variables = variables_of(ControllerSettings)
    retry, renew, duration = [
        f"{variables[name].name}={int(getattr(settings, name).total_seconds())}"
        for name in ("retry_period", "renew_deadline", "lease_duration")
    ]
    return [f"{retry}, {renew}, {duration}: each must be less than the next"]


_MEANING_OF_ZERO = {
    "job_ttl": "Jobs are deleted as soon as their outcome is recorded",
    "agentrun_retention": "runs are deleted as soon as they end",
    "orchestration_retention": "OrchestrationRuns and ToolRuns are deleted as soon as they end",
    "log_retention": "log tails are deleted as soon as a workload ends",
    "history_retention": "history is deleted soon after it is stored",
}


def _zero_retention_warnings(settings: ControllerSettings) -> list[str]:
    variables = variables_of(ControllerSettings)
    return [
        f"{variables[name].name}=0: {meaning}; set it to never to keep them"
        for name, meaning in _MEANING_OF_ZERO.items()
        if (keep := getattr(settings, name)) is not None and keep.seconds == 0
    ]


def _unknown_name_warnings(environment: Mapping[str, str]) -> list[str]:
    known = {
        variable.name
        for settings in (ControllerSettings, ControlPlaneSettings, LaptopSettings)
        for variable in variables_of(settings).values()
    }
    warnings = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            matches = get_close_matches(name, known, n=1, cutoff=0.85)
            warnings.append(
                f"{name} is set but is not a known setting"
                + (f"; did you mean {matches[0]}?" if matches else "")
            )
    return warnings
