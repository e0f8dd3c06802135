"""Converts settings to the admission policy."""

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
from jangar.settings.controllers import ControllerSettings


def admission_policy(settings: ControllerSettings) -> AdmissionPolicy:
    """The admission policy for AgentRuns and ToolRuns that the settings describe."""
    concurrency = Concurrency(
        namespace=settings.concurrency_namespace,
        agent=settings.concurrency_agent,
        cluster=settings.concurrency_cluster,
    )
    queue = Queue(
        namespace=settings.queue_namespace, repo=settings.queue_repo, cluster=settings.queue_cluster
    )
    rate = Rate(
        window=settings.rate_window,
        namespace=settings.rate_namespace,
        repo=settings.rate_repo,
        cluster=settings.rate_cluster,
    )
    # The defaults are sized for agents; a limit that the operator set applies to ToolRuns as well.
    has_custom_limits = (concurrency, queue, rate) != (Concurrency(), Queue(), Rate())
    return AdmissionPolicy(
        concurrency=concurrency,
        queue=queue,
        rate=rate,
        counts_tool_runs=has_custom_limits
        if settings.toolrun_limits == "auto"
        else settings.toolrun_limits == "always",
        labels=Labels(
            required=settings.labels_required,
            allowed=settings.labels_allowed,
            denied=settings.labels_denied,
        ),
        images=Images(allowed=settings.images_allowed, denied=settings.images_denied),
        pods=Pods(
            service_accounts=settings.service_accounts_allowed,
            own_service_accounts=frozenset(settings.own_service_accounts),
            own_namespace=settings.pod_namespace,
            priority_classes=settings.priority_classes_allowed,
            tolerations=settings.tolerations_allowed,
            node_selectors=settings.node_selectors_allowed,
            runtime_classes=settings.runtime_classes_allowed,
            token_audiences=settings.token_audiences_allowed,
        ),
        provider_hosts=(*PROVIDER_HOSTS, *settings.provider_hosts_allowed),
        blocked_secrets=frozenset(settings.blocked_secrets),
        repositories=settings.repositories_allowed,
        default_image=settings.workload_image,
        default_service_account=settings.runner_service_account or "default",
    )
