"""Each variable of admission changes what is decided: from its text in the environment to the verdict about a run."""

from datetime import UTC, datetime, timedelta

import pytest

from jangar.domain.policies.admit import Admitted, LiveRun, Observation, WaitingRun, admit
from jangar.domain.policies.request import AgentTerms, RunRequest, SecretUse
from jangar.domain.policies.verdicts import Allow, Deny, Hold
from jangar.settings.controllers import admission_policy, controller_settings

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
PREFIX = "JANGAR_AGENTS_CONTROLLER_"


def waiting(name="r", namespace="team", age=1, **ask):
    given = {"agent": "coder", "images": ("ghcr.io/team/agent:1",), "labels": ("team",)} | ask
    return WaitingRun(
        uid=name,
        name=name,
        namespace=namespace,
        created_at=NOON - timedelta(seconds=age),
        request=RunRequest(**given),
    )


def verdict(run, others=(), *, live=(), admitted=(), **variables):
    """About one run, with what the environment says."""
    policy = admission_policy(controller_settings(variables))
    seen = Observation(waiting=[run, *others], live=live, admitted=admitted)
    return admit(seen, policy, NOON)[run.uid]


ELSEWHERE = [LiveRun(namespace="other", agent="x")]
HERE = [LiveRun(namespace="team", agent="x")]
SAME = [LiveRun(namespace="team", agent="coder")]
REPO = {"repositories": ("acme/app",)}
JUST_NOW = {"at": NOON - timedelta(seconds=30)}
TOKEN = {"secrets": (SecretUse("token", "spec.secrets"),), "bound_secrets": frozenset({"token"})}
FULL = {f"{PREFIX}CONCURRENCY_CLUSTER": "1"}


@pytest.mark.parametrize(
    ("name", "value", "situation", "reason"),
    [
        ("CONCURRENCY_NAMESPACE", "1", {"live": HERE}, "ConcurrencyLimit"),
        ("CONCURRENCY_AGENT", "1", {"live": SAME}, "ConcurrencyLimit"),
        ("CONCURRENCY_CLUSTER", "1", {"live": ELSEWHERE}, "ConcurrencyLimit"),
        (
            "RATE_NAMESPACE",
            "1",
            {"admitted": [Admitted(namespace="team", repository=None, **JUST_NOW)]},
            "RateLimit",
        ),
        (
            "RATE_REPO",
            "1",
            {"ask": REPO, "admitted": [Admitted(namespace="x", repository="acme/app", **JUST_NOW)]},
            "RateLimit",
        ),
        (
            "RATE_CLUSTER",
            "1",
            {"admitted": [Admitted(namespace="x", repository=None, **JUST_NOW)]},
            "RateLimit",
        ),
        (
            "RATE_WINDOW_SECONDS",
            "120",
            {
                "admitted": [Admitted(namespace="x", repository=None, at=NOON - timedelta(seconds=90))],
                "other_settings": {f"{PREFIX}RATE_CLUSTER": "1"},
            },
            "RateLimit",
        ),
        ("LABELS_REQUIRED", "owner", {}, "MissingRequiredLabels"),
        ("LABELS_ALLOWED", "owner,cost-*", {}, "LabelNotAllowed"),
        ("LABELS_DENIED", "te*", {}, "LabelBlocked"),
        ("IMAGES_ALLOWED", "ghcr.io.example.com/team/*", {}, "ImageNotAllowed"),
        ("IMAGES_DENIED", "ghcr.io/team/*", {}, "ImageBlocked"),
        ("BLOCKED_SECRETS", "token", {"ask": TOKEN}, "SecretBlocked"),
        ("JANGAR_GITHUB_REPOS_ALLOWED", "acme/lib,other/*", {"ask": REPO}, "RepositoryNotAllowed"),
    ],
)
def test_a_variable_changes_the_verdict(name, value, situation, reason):
    """Allowed without it, and not with it."""
    variable = name if name.startswith("JANGAR") else PREFIX + name
    given = dict(situation)
    ask, other_settings = given.pop("ask", {}), given.pop("other_settings", {})
    assert isinstance(verdict(waiting(**ask), **given, **other_settings), Allow)
    found = verdict(waiting(**ask), **given, **other_settings, **{variable: value})
    assert (type(found) in {Hold, Deny}, found.reason) == (True, reason)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("QUEUE_NAMESPACE", waiting("first", age=9)),
        ("QUEUE_REPO", waiting("first", "a-team", age=9, **REPO)),
        ("QUEUE_CLUSTER", waiting("first", "a-team", age=9)),
    ],
)
def test_a_queue_has_so_many_places(name, other):
    """The next run waits without a queue position; 0 means no limit."""
    run = waiting("last", **REPO)
    for unbounded in ({}, {PREFIX + name: "0"}):
        found = verdict(run, [other], live=ELSEWHERE, **FULL, **unbounded)
        assert (found.reason, found.position is None) == ("ConcurrencyLimit", False)
    bounded = verdict(run, [other], live=ELSEWHERE, **FULL, **{PREFIX + name: "1"})
    assert (bounded.reason, bounded.position) == ("QueueLimit", None)


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (TOKEN | {"terms": AgentTerms(secrets=("other",))}, "SecretNotAllowed"),
        ({"terms": AgentTerms(service_accounts=("robot",))}, "ServiceAccountNotAllowed"),
        (
            {"source_providers": ("manual",), "terms": AgentTerms(source_providers=("github",))},
            "ImplementationSourceProviderNotAllowed",
        ),
        (TOKEN | {"bound_secrets": frozenset()}, "SecretNotBound"),
    ],
)
def test_agents_and_bindings_decide_too(ask, reason):
    """Each of `security.*` of the Agent, and the SecretBinding: a denial for good that says what to do."""
    found = verdict(waiting(**ask))
    assert isinstance(found, Deny)
    assert found.reason == reason
    assert len(found.message) > 20


def test_the_runners_service_account_is_the_one_that_counts_where_none_is_named():
    """As pods get it."""
    run = waiting(terms=AgentTerms(service_accounts=("robot",)))
    assert isinstance(verdict(run), Deny)
    assert isinstance(verdict(run, JANGAR_AGENT_RUNNER_SERVICE_ACCOUNT="robot"), Allow)
