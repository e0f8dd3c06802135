"""The admission policy is read from the environment, and invalid values stop the process."""

from datetime import timedelta

import pytest

from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Queue, Rate
from jangar.settings.controllers import BadSettings, admission_policy, controller_settings

PREFIX = "JANGAR_AGENTS_CONTROLLER_"


def test_an_empty_environment_gives_the_default_limits():
    """10, 5 and 100 live; 200, 50 and 1000 queued; 120, 30 and 600 a minute; and no lists."""
    assert admission_policy(controller_settings({})) == AdmissionPolicy(
        concurrency=Concurrency(namespace=10, agent=5, cluster=100),
        queue=Queue(namespace=200, repo=50, cluster=1000),
        rate=Rate(window=timedelta(seconds=60), namespace=120, repo=30, cluster=600),
    )


def test_every_limit_and_list_comes_from_its_variable():
    """Lists as the chart renders them, JSON, or as people write them, by commas."""
    policy = admission_policy(
        controller_settings(
            {
                f"{PREFIX}CONCURRENCY_NAMESPACE": "5",
                f"{PREFIX}CONCURRENCY_AGENT": "3",
                f"{PREFIX}CONCURRENCY_CLUSTER": "10",
                f"{PREFIX}QUEUE_NAMESPACE": "0",
                f"{PREFIX}RATE_WINDOW_SECONDS": "30",
                f"{PREFIX}LABELS_REQUIRED": '["team", "cost-center"]',
                f"{PREFIX}LABELS_ALLOWED": "[]",
                f"{PREFIX}LABELS_DENIED": "evil.example.com/*",
                f"{PREFIX}IMAGES_ALLOWED": "ghcr.io/team/*, python:3.*",
                f"{PREFIX}BLOCKED_SECRETS": "root-token",
                "JANGAR_GITHUB_REPOS_ALLOWED": "proompteng/Lab",
                "JANGAR_AGENT_RUNNER_IMAGE": "runner",
                "JANGAR_AGENT_RUNNER_SERVICE_ACCOUNT": "bot",
            }
        )
    )
    assert policy.concurrency == Concurrency(namespace=5, agent=3, cluster=10)
    assert policy.queue.namespace == 0
    assert policy.rate.window == timedelta(seconds=30)
    assert policy.labels.required == ("team", "cost-center")
    assert (policy.labels.allowed, policy.labels.denied) == ((), ("evil.example.com/*",))
    assert [item.host for item in policy.images.allowed] == ["ghcr.io", "docker.io"]
    assert policy.blocked_secrets == {"root-token"}
    assert policy.repositories == ("proompteng/lab",)
    assert (policy.default_image, policy.default_service_account) == ("runner", "bot")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (f"{PREFIX}CONCURRENCY_CLUSTER", "0"),
        (f"{PREFIX}QUEUE_REPO", "-1"),
        (f"{PREFIX}RATE_WINDOW_SECONDS", "0"),
        (f"{PREFIX}RATE_CLUSTER", "2.5"),
        (f"{PREFIX}LABELS_REQUIRED", "team*"),
        (f"{PREFIX}LABELS_DENIED", "a b"),
        (f"{PREFIX}IMAGES_ALLOWED", "docker.io*"),
        (f"{PREFIX}IMAGES_DENIED", "*.example.com/app"),
        (f"{PREFIX}BLOCKED_SECRETS", "a,,b"),
        ("JANGAR_GITHUB_REPOS_ALLOWED", "proompteng"),
    ],
)
def test_a_bad_value_stops_the_process_with_the_variables_name(name, value):
    """The process must not run with a policy that the operator did not intend."""
    with pytest.raises(BadSettings, match=name):
        controller_settings({name: value})
