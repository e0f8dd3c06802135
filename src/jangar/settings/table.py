"""Environment variables of the controllers, with default, Helm value and description."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from jangar.domain.retention import NEVER, Keep
from jangar.settings import forms
from jangar.settings.forms import Form, Scope
from jangar.settings.variable import BOTH, Variable


def _scope(name: str, helm_value: str, description: str) -> Variable[Scope]:
    return Variable(
        name=name,
        form=forms.namespaces(),
        default=Scope(()),
        shown_default="",
        helm_value=helm_value,
        description=description,
    )


def _switch(name: str, default: bool, helm_value: str, description: str) -> Variable[bool]:
    return Variable(
        name=name,
        form=forms.switch(),
        default=default,
        shown_default="true" if default else "false",
        helm_value=helm_value,
        description=description,
    )


def _text(
    name: str, helm_value: str, description: str, *, form: Form[str] | None = None, default: str = ""
) -> Variable[str]:
    return Variable(
        name=name,
        form=form or forms.text(),
        default=default,
        shown_default=default,
        helm_value=helm_value,
        description=description,
    )


def _keep(name: str, shown_default: str, helm_value: str, description: str) -> Variable[Keep | None]:
    # None means unset: `status.retention` reports whether a setting or the default applies.
    return Variable(
        name=name,
        form=forms.retention(name),
        default=None,
        shown_default=shown_default,
        helm_value=helm_value,
        description=description,
    )


def _seconds(name: str, default: int, helm_value: str, description: str) -> Variable[timedelta]:
    return Variable(
        name=name,
        form=forms.seconds(minimum=1),
        default=timedelta(seconds=default),
        shown_default=str(default),
        helm_value=helm_value,
        description=description,
    )


def _object(name: str, helm_value: str, description: str) -> Variable[Mapping[str, Any] | None]:
    return Variable(
        name=name,
        form=forms.json_object(),
        default=None,
        shown_default="",
        helm_value=helm_value,
        description=description,
    )


def _list(name: str, helm_value: str, description: str) -> Variable[Sequence[Any]]:
    return Variable(
        name=name,
        form=forms.json_list(),
        default=(),
        shown_default="",
        helm_value=helm_value,
        description=description,
    )


AGENTS_ENABLED = _switch(
    "JANGAR_AGENTS_CONTROLLER_ENABLED",
    True,
    "controller.enabled",
    "Enable the agents controller, which reconciles Agents and AgentRuns.",
)
AGENTS_NAMESPACES = _scope(
    "JANGAR_AGENTS_CONTROLLER_NAMESPACES",
    "controller.namespaces",
    "Namespaces that the agents controller watches. Unset watches the namespace of the process.",
)
ORCHESTRATION_ENABLED = _switch(
    "JANGAR_ORCHESTRATION_CONTROLLER_ENABLED",
    True,
    "orchestrationController.enabled",
    "Enable the orchestration controller, which reconciles Orchestrations and OrchestrationRuns.",
)
ORCHESTRATION_NAMESPACES = replace(
    _scope(
        "JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES",
        "orchestrationController.namespaces",
        "Namespaces that the orchestration controller watches and the control plane shows. Unset uses the namespace "
        "of the process.",
    ),
    processes=BOTH,
)
SUPPORTING_ENABLED = _switch(
    "JANGAR_SUPPORTING_CONTROLLER_ENABLED",
    True,
    "supportingController.enabled",
    "Enable the supporting controller, which reconciles Tools, ToolRuns and the other kinds that runs reference.",
)
SUPPORTING_NAMESPACES = _scope(
    "JANGAR_SUPPORTING_CONTROLLER_NAMESPACES",
    "supportingController.namespaces",
    "Namespaces that the supporting controller watches. Unset watches the namespace of the process.",
)
SHARE_PROCESSES = _switch(
    "JANGAR_TOOL_SHARE_PROCESS_NAMESPACE",
    True,
    "supportingController.shareProcessNamespace",
    "Set shareProcessNamespace on the pods of Tools. SIGTERM then also ends programs that do not handle it.",
)
CANCEL_ENABLED = _switch(
    "JANGAR_ORCHESTRATION_CANCEL_ENABLED",
    True,
    "orchestrationController.cancel.enabled",
    "Process requests to cancel runs. While disabled, requests stay pending until it is enabled again.",
)
CANCEL_TIMEOUT = Variable(
    name="JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS",
    form=forms.milliseconds(minimum=1000),
    default=timedelta(seconds=60),
    shown_default="60000",
    helm_value="orchestrationController.cancel.timeoutMs",
    description="Maximum time to stop a run. Then the run is Cancelled and its status lists what may still run.",
)
JOB_TTL = _keep(
    "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS",
    "600",
    "controller.jobTtlSecondsAfterFinished",
    "Time to keep a Job after its outcome is recorded.",
)
AGENTRUN_RETENTION = _keep(
    "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
    "2592000",
    "controller.agentRunRetentionSeconds",
    "Time to keep finished runs of every kind.",
)
ORCHESTRATION_RETENTION = _keep(
    "JANGAR_ORCHESTRATION_CONTROLLER_RETENTION_SECONDS",
    "",
    "orchestrationController.retentionSeconds",
    "Time to keep finished OrchestrationRuns and ToolRuns, if it differs from AgentRuns.",
)
LOG_RETENTION: Variable[Keep] = Variable(
    name="JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS",
    form=forms.retention("JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS"),
    default=Keep(duration=timedelta(days=7)),
    shown_default="604800",
    helm_value="controller.logRetentionSeconds",
    description="Time to keep the log tails of workloads.",
)
HISTORY_RETENTION: Variable[Keep] = Variable(
    name="JANGAR_HISTORY_RETENTION_SECONDS",
    form=forms.retention("JANGAR_HISTORY_RETENTION_SECONDS"),
    default=NEVER,
    shown_default="never",
    helm_value="controller.historyRetentionSeconds",
    description="Time to keep a run in the history database after it ends, with its records and idempotency key.",
)
RUNNER_IMAGE = _text("JANGAR_AGENT_RUNNER_IMAGE", "runner.image", "Default image of workloads.")
AGENT_IMAGE = _text(
    "JANGAR_AGENT_IMAGE",
    "runtime.agentImage",
    "Default image of workloads if JANGAR_AGENT_RUNNER_IMAGE is unset.",
)
RUNNER_SERVICE_ACCOUNT = _text(
    "JANGAR_AGENT_RUNNER_SERVICE_ACCOUNT",
    "controller.defaultWorkload.serviceAccountName",
    "Default service account of workloads.",
    form=forms.object_name(),
)
RUNNER_NODE_SELECTOR = _object(
    "JANGAR_AGENT_RUNNER_NODE_SELECTOR",
    "controller.defaultWorkload.nodeSelector",
    "Default node selector of workloads.",
)
RUNNER_TOLERATIONS = _list(
    "JANGAR_AGENT_RUNNER_TOLERATIONS",
    "controller.defaultWorkload.tolerations",
    "Default tolerations of workloads.",
)
RUNNER_TOPOLOGY_SPREAD = _list(
    "JANGAR_AGENT_RUNNER_TOPOLOGY_SPREAD_CONSTRAINTS",
    "controller.defaultWorkload.topologySpreadConstraints",
    "Default topology spread constraints of workloads.",
)
RUNNER_AFFINITY = _object(
    "JANGAR_AGENT_RUNNER_AFFINITY",
    "controller.defaultWorkload.affinity",
    "Default affinity of workloads.",
)
RUNNER_POD_SECURITY_CONTEXT = _object(
    "JANGAR_AGENT_RUNNER_POD_SECURITY_CONTEXT",
    "controller.defaultWorkload.podSecurityContext",
    "Pod security context of workloads, instead of the restricted one.",
)
RUNNER_RESOURCES = _object(
    "JANGAR_AGENT_RUNNER_RESOURCES",
    "controller.defaultWorkload.resources",
    "Default resource requests and limits of workloads.",
)
RUNNER_IMAGE_PULL_SECRETS = _list(
    "JANGAR_AGENT_RUNNER_IMAGE_PULL_SECRETS",
    "controller.defaultWorkload.imagePullSecrets",
    "Default image pull secrets of workloads.",
)
RUNNER_PRIORITY_CLASS = _text(
    "JANGAR_AGENT_RUNNER_PRIORITY_CLASS",
    "controller.defaultWorkload.priorityClassName",
    "Default priority class of workloads.",
    form=forms.object_name(),
)
RUNNER_SCHEDULER_NAME = _text(
    "JANGAR_AGENT_RUNNER_SCHEDULER_NAME",
    "controller.defaultWorkload.schedulerName",
    "Default scheduler of workloads.",
    form=forms.object_name(),
)
POD_NAMESPACE = _text(
    "JANGAR_POD_NAMESPACE",
    "",
    "Namespace that the process runs in. The chart sets it.",
    form=forms.object_name(),
)
LEADER_ELECTION_ENABLED = _switch(
    "JANGAR_LEADER_ELECTION_ENABLED",
    True,
    "controller.leaderElection.enabled",
    "Enable leader election among replicas. Without it, run exactly one replica.",
)
LEASE_NAME = _text(
    "JANGAR_LEADER_ELECTION_LEASE_NAME",
    "controller.leaderElection.leaseName",
    "Name of the leader election Lease, and prefix of the names of the shard Leases.",
    form=forms.object_name(),
    default="agents-controller-leader",
)
LEASE_NAMESPACE = _text(
    "JANGAR_LEADER_ELECTION_LEASE_NAMESPACE",
    "controller.leaderElection.leaseNamespace",
    "Namespace of the leader election Leases. Unset uses the namespace of the process.",
    form=forms.object_name(),
)
LEASE_DURATION = _seconds(
    "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS",
    30,
    "controller.leaderElection.leaseDurationSeconds",
    "Time after the last renewal at which another process may take a Lease over.",
)
RENEW_DEADLINE = _seconds(
    "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS",
    20,
    "controller.leaderElection.renewDeadlineSeconds",
    "Time without a successful renewal after which a holder stops acting; less than the lease duration.",
)
RETRY_PERIOD = _seconds(
    "JANGAR_LEADER_ELECTION_RETRY_PERIOD_SECONDS",
    5,
    "controller.leaderElection.retryPeriodSeconds",
    "Interval at which a holder renews its Lease and others check it; less than the renew deadline.",
)
CONTROLLER_SHARDS: Variable[int] = Variable(
    name="JANGAR_CONTROLLER_SHARDS",
    form=forms.integer(minimum=1, maximum=1024),
    default=12,
    shown_default="12",
    helm_value="controller.shards",
    description="Number of controller shards when the Lease is created; later the number in the Lease applies.",
)
DATABASE_URL: Variable[str] = Variable(
    name="DATABASE_URL",
    form=forms.text(),
    default="",
    shown_default="",
    helm_value="database.url",
    processes=BOTH,
    description="History database, as postgresql://USER:PASSWORD@HOST:PORT/NAME. Unset disables history. "
    "jangar up ignores it and uses a SQLite file.",
    is_secret=True,
)
HEALTH_ADDRESS = _text(
    "JANGAR_HEALTH_ADDRESS",
    "",
    "Address that serves /livez, /readyz and the metrics, as ADDRESS:PORT. Unset serves none.",
    form=forms.address(),
)
METRICS_ENABLED = _switch(
    "JANGAR_PROMETHEUS_METRICS_ENABLED", True, "metrics.enabled", "Serve Prometheus metrics."
)
METRICS_PATH = _text(
    "JANGAR_PROMETHEUS_METRICS_PATH",
    "metrics.path",
    "URL path of the metrics.",
    form=forms.path(),
    default="/metrics",
)
