"""From settings to the policy of admission. Knows both, decides nothing."""

from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Images, Labels, Queue, Rate
from jangar.settings.controllers import ControllerSettings


def admission_policy(settings: ControllerSettings) -> AdmissionPolicy:
    """What the operator lets AgentRuns do."""
    return AdmissionPolicy(
        concurrency=Concurrency(
            namespace=settings.concurrency_namespace,
            agent=settings.concurrency_agent,
            cluster=settings.concurrency_cluster,
        ),
        queue=Queue(
            namespace=settings.queue_namespace, repo=settings.queue_repo, cluster=settings.queue_cluster
        ),
        rate=Rate(
            window=settings.rate_window,
            namespace=settings.rate_namespace,
            repo=settings.rate_repo,
            cluster=settings.rate_cluster,
        ),
        labels=Labels(
            required=settings.labels_required,
            allowed=settings.labels_allowed,
            denied=settings.labels_denied,
        ),
        images=Images(allowed=settings.images_allowed, denied=settings.images_denied),
        blocked_secrets=frozenset(settings.blocked_secrets),
        repositories=settings.repositories_allowed,
        default_image=settings.workload_image,
        default_service_account=settings.runner_service_account or "default",
    )
