"""The table of variables: every one that a process reads, with its default, its Helm value and its meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from jangar.domain.retention.values import NEVER, Keep
from jangar.settings import forms
from jangar.settings.forms import Form, Scope
from jangar.settings.variable import BOTH, Variable


def _scope(name: str, helm_value: str, sentence: str) -> Variable[Scope]:
    return Variable(
        name=name,
        form=forms.namespaces(),
        default=Scope(()),
        shown_default="",
        helm_value=helm_value,
        sentence=sentence,
    )


def _switch(name: str, default: bool, helm_value: str, sentence: str) -> Variable[bool]:
    return Variable(
        name=name,
        form=forms.switch(),
        default=default,
        shown_default="true" if default else "false",
        helm_value=helm_value,
        sentence=sentence,
    )


def _text(
    name: str, helm_value: str, sentence: str, *, form: Form[str] | None = None, default: str = ""
) -> Variable[str]:
    return Variable(
        name=name,
        form=form or forms.text(),
        default=default,
        shown_default=default,
        helm_value=helm_value,
        sentence=sentence,
    )


def _keep(name: str, shown_default: str, helm_value: str, sentence: str) -> Variable[Keep | None]:
    # None is "not set": whether a value or the default decided is told in `status.retention`.
    return Variable(
        name=name,
        form=forms.retention(name),
        default=None,
        shown_default=shown_default,
        helm_value=helm_value,
        sentence=sentence,
    )


def _seconds(name: str, default: int, helm_value: str, sentence: str) -> Variable[timedelta]:
    return Variable(
        name=name,
        form=forms.seconds(least=1),
        default=timedelta(seconds=default),
        shown_default=str(default),
        helm_value=helm_value,
        sentence=sentence,
    )


def _object(name: str, helm_value: str, sentence: str) -> Variable[Mapping[str, Any] | None]:
    return Variable(
        name=name,
        form=forms.json_object(),
        default=None,
        shown_default="",
        helm_value=helm_value,
        sentence=sentence,
    )


def _list(name: str, helm_value: str, sentence: str) -> Variable[Sequence[Any]]:
    return Variable(
        name=name,
        form=forms.json_list(),
        default=(),
        shown_default="",
        helm_value=helm_value,
        sentence=sentence,
    )


AGENTS_ENABLED = _switch(
    "JANGAR_AGENTS_CONTROLLER_ENABLED",
    True,
    "controller.enabled",
    "Whether this process looks after Agents and AgentRuns.",
)
AGENTS_NAMESPACES = _scope(
    "JANGAR_AGENTS_CONTROLLER_NAMESPACES",
    "controller.namespaces",
    "The namespaces whose Agents and AgentRuns it looks after; not set, its own.",
)
ORCHESTRATION_ENABLED = _switch(
    "JANGAR_ORCHESTRATION_CONTROLLER_ENABLED",
    True,
    "orchestrationController.enabled",
    "Whether this process looks after Orchestrations and OrchestrationRuns.",
)
ORCHESTRATION_NAMESPACES = replace(
    _scope(
        "JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES",
        "orchestrationController.namespaces",
        "The namespaces whose Orchestrations and OrchestrationRuns it looks after, or shows; not set, its own.",
    ),
    processes=BOTH,
)
SUPPORTING_ENABLED = _switch(
    "JANGAR_SUPPORTING_CONTROLLER_ENABLED",
    True,
    "supportingController.enabled",
    "Whether this process looks after Tools, ToolRuns and the other kinds that runs refer to.",
)
SUPPORTING_NAMESPACES = _scope(
    "JANGAR_SUPPORTING_CONTROLLER_NAMESPACES",
    "supportingController.namespaces",
    "The namespaces whose Tools, ToolRuns and other supporting kinds it looks after; not set, its own.",
)
SHARE_PROCESSES = _switch(
    "JANGAR_TOOL_SHARE_PROCESS_NAMESPACE",
    True,
    "supportingController.shareProcessNamespace",
    "Set shareProcessNamespace on pods of Tools, so that SIGTERM ends programs that do not handle it.",
)
CANCEL_ENABLED = _switch(
    "JANGAR_ORCHESTRATION_CANCEL_ENABLED",
    True,
    "orchestrationController.cancel.enabled",
    "Whether requests to cancel a run are acted on; switched on again, pending requests are.",
)
CANCEL_TIMEOUT = Variable(
    name="JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS",
    form=forms.milliseconds(least=1000),
    default=timedelta(seconds=60),
    shown_default="60000",
    helm_value="orchestrationController.cancel.timeoutMs",
    sentence="How long stopping may take before a run is Cancelled all the same and what may still run is listed.",
)
JOB_TTL = _keep(
    "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS",
    "600",
    "controller.jobTtlSecondsAfterFinished",
    "How long a Job is kept after its outcome is recorded.",
)
AGENTRUN_RETENTION = _keep(
    "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
    "2592000",
    "controller.agentRunRetentionSeconds",
    "How long finished runs of every kind are kept.",
)
ORCHESTRATION_RETENTION = _keep(
    "JANGAR_ORCHESTRATION_CONTROLLER_RETENTION_SECONDS",
    "",
    "orchestrationController.retentionSeconds",
    "How long finished OrchestrationRuns and ToolRuns are kept, where that differs from AgentRuns.",
)
LOG_RETENTION: Variable[Keep] = Variable(
    name="JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS",
    form=forms.retention("JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS"),
    default=Keep(duration=timedelta(days=7)),
    shown_default="604800",
    helm_value="controller.logRetentionSeconds",
    sentence="How long the last lines that work has written are kept.",
)
HISTORY_RETENTION: Variable[Keep] = Variable(
    name="JANGAR_HISTORY_RETENTION_SECONDS",
    form=forms.retention("JANGAR_HISTORY_RETENTION_SECONDS"),
    default=NEVER,
    shown_default="never",
    helm_value="controller.historyRetentionSeconds",
    sentence="How long history keeps a run after its end, with all that is stored of it and the idempotency key that "
    "it was made with.",
)
RUNNER_IMAGE = _text(
    "JANGAR_AGENT_RUNNER_IMAGE", "runner.image", "The image of work that names none of its own."
)
AGENT_IMAGE = _text(
    "JANGAR_AGENT_IMAGE", "runtime.agentImage", "The same, for when JANGAR_AGENT_RUNNER_IMAGE is not set."
)
RUNNER_SERVICE_ACCOUNT = _text(
    "JANGAR_AGENT_RUNNER_SERVICE_ACCOUNT",
    "controller.defaultWorkload.serviceAccountName",
    "The service account of work that names none of its own.",
    form=forms.object_name(),
)
RUNNER_NODE_SELECTOR = _object(
    "JANGAR_AGENT_RUNNER_NODE_SELECTOR",
    "controller.defaultWorkload.nodeSelector",
    "The node selector of work that has none of its own.",
)
RUNNER_TOLERATIONS = _list(
    "JANGAR_AGENT_RUNNER_TOLERATIONS",
    "controller.defaultWorkload.tolerations",
    "The tolerations of work that has none of its own.",
)
RUNNER_TOPOLOGY_SPREAD = _list(
    "JANGAR_AGENT_RUNNER_TOPOLOGY_SPREAD_CONSTRAINTS",
    "controller.defaultWorkload.topologySpreadConstraints",
    "The topology spread constraints of work that has none of its own.",
)
RUNNER_AFFINITY = _object(
    "JANGAR_AGENT_RUNNER_AFFINITY",
    "controller.defaultWorkload.affinity",
    "The affinity of work that has none of its own.",
)
RUNNER_POD_SECURITY_CONTEXT = _object(
    "JANGAR_AGENT_RUNNER_POD_SECURITY_CONTEXT",
    "controller.defaultWorkload.podSecurityContext",
    "The pod security context of work, in place of the restricted one.",
)
RUNNER_RESOURCES = _object(
    "JANGAR_AGENT_RUNNER_RESOURCES",
    "controller.defaultWorkload.resources",
    "The requests and limits of work that has none of its own.",
)
RUNNER_IMAGE_PULL_SECRETS = _list(
    "JANGAR_AGENT_RUNNER_IMAGE_PULL_SECRETS",
    "controller.defaultWorkload.imagePullSecrets",
    "The image pull secrets of work that has none of its own.",
)
RUNNER_PRIORITY_CLASS = _text(
    "JANGAR_AGENT_RUNNER_PRIORITY_CLASS",
    "controller.defaultWorkload.priorityClassName",
    "The priority class of work that has none of its own.",
    form=forms.object_name(),
)
RUNNER_SCHEDULER_NAME = _text(
    "JANGAR_AGENT_RUNNER_SCHEDULER_NAME",
    "controller.defaultWorkload.schedulerName",
    "The scheduler of work that names none of its own.",
    form=forms.object_name(),
)
POD_NAMESPACE = _text(
    "JANGAR_POD_NAMESPACE",
    "",
    "The namespace that this process runs in; the chart fills it in.",
    form=forms.object_name(),
)
LEADER_ELECTION_ENABLED = _switch(
    "JANGAR_LEADER_ELECTION_ENABLED",
    True,
    "controller.leaderElection.enabled",
    "Whether several processes agree on which of them acts on what; without it there must be one only.",
)
LEASE_NAME = _text(
    "JANGAR_LEADER_ELECTION_LEASE_NAME",
    "controller.leaderElection.leaseName",
    "What the Leases that they agree by are called, and what the names of the shards' begin with.",
    form=forms.object_name(),
    default="agents-controller-leader",
)
LEASE_NAMESPACE = _text(
    "JANGAR_LEADER_ELECTION_LEASE_NAMESPACE",
    "controller.leaderElection.leaseNamespace",
    "The namespace of these Leases; not set, the one that the process runs in.",
    form=forms.object_name(),
)
LEASE_DURATION = _seconds(
    "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS",
    30,
    "controller.leaderElection.leaseDurationSeconds",
    "How long a silent holder is waited for.",
)
RENEW_DEADLINE = _seconds(
    "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS",
    20,
    "controller.leaderElection.renewDeadlineSeconds",
    "How long a holder goes on without a renewal; less than the duration.",
)
RETRY_PERIOD = _seconds(
    "JANGAR_LEADER_ELECTION_RETRY_PERIOD_SECONDS",
    5,
    "controller.leaderElection.retryPeriodSeconds",
    "How often a holder renews and others look; less than the renew deadline.",
)
CONTROLLER_SHARDS: Variable[int] = Variable(
    name="JANGAR_CONTROLLER_SHARDS",
    form=forms.whole_number(least=1, most=1024),
    default=12,
    shown_default="12",
    helm_value="controller.shards",
    sentence="How many shards the work is shared in, where no process has said so before; afterwards the Lease counts.",
)
DATABASE_URL: Variable[str] = Variable(
    name="DATABASE_URL",
    form=forms.text(),
    default="",
    shown_default="",
    helm_value="database.url",
    processes=BOTH,
    sentence="Where history is kept, as postgresql://USER:PASSWORD@HOST:PORT/NAME; not set, nowhere. jangar up does "
    "not read it: it has a file of its own.",
    is_secret=True,
)
HEALTH_ADDRESS = _text(
    "JANGAR_HEALTH_ADDRESS",
    "",
    "Where /livez, /readyz and the metrics are served, as address:port; not set, nowhere.",
    form=forms.address(),
)
METRICS_ENABLED = _switch(
    "JANGAR_PROMETHEUS_METRICS_ENABLED", True, "metrics.enabled", "Whether metrics are served."
)
METRICS_PATH = _text(
    "JANGAR_PROMETHEUS_METRICS_PATH",
    "metrics.path",
    "Where metrics are served.",
    form=forms.path(),
    default="/metrics",
)
