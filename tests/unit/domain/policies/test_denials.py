"""Whether a run may run at all: each rule, and the words that say what to do."""

import pytest

from jangar.api.reasons import DENIALS, NEVER_RETRIED, Reason
from jangar.domain.policies.patterns import parse_pattern
from jangar.domain.policies.policy import AdmissionPolicy, Images, Labels
from jangar.domain.policies.policy_checks import policy_violation
from jangar.domain.policies.request import AgentTerms, RunRequest, SecretUse
from jangar.domain.policies.verdicts import Deny, Hold

TOKEN = SecretUse("token", "spec.secrets")


def an_ask(**more):
    return RunRequest(agent="coder", **more)


def patterns(*written):
    return tuple(map(parse_pattern, written))


CASES = [
    pytest.param(
        an_ask(labels=("team",)),
        AdmissionPolicy(labels=Labels(required=("team", "cost"))),
        Reason.MISSING_REQUIRED_LABELS,
        id="required",
    ),
    pytest.param(
        an_ask(labels=("x/a",)),
        AdmissionPolicy(labels=Labels(denied=("x/*",))),
        Reason.LABEL_BLOCKED,
        id="denied",
    ),
    pytest.param(
        an_ask(labels=("x",)),
        AdmissionPolicy(labels=Labels(allowed=("y",))),
        Reason.LABEL_NOT_ALLOWED,
        id="allowed",
    ),
    pytest.param(
        an_ask(images=("python",)),
        AdmissionPolicy(images=Images(denied=patterns("docker.io/*"))),
        Reason.IMAGE_BLOCKED,
        id="image-blocked",
    ),
    pytest.param(
        an_ask(images=("docker.io.evil.com/x",)),
        AdmissionPolicy(images=Images(allowed=patterns("docker.io/*"))),
        Reason.IMAGE_NOT_ALLOWED,
        id="image-not-allowed",
    ),
    pytest.param(
        an_ask(images=("no image",)),
        AdmissionPolicy(images=Images(denied=patterns("docker.io/*"))),
        Reason.IMAGE_NOT_ALLOWED,
        id="no-image",
    ),
    pytest.param(
        an_ask(terms=AgentTerms(service_accounts=("bot",))),
        AdmissionPolicy(),
        Reason.SERVICE_ACCOUNT_NOT_ALLOWED,
        id="default-service-account",
    ),
    pytest.param(
        an_ask(source_providers=("manual",), terms=AgentTerms(source_providers=("github",))),
        AdmissionPolicy(),
        Reason.IMPLEMENTATION_SOURCE_PROVIDER_NOT_ALLOWED,
        id="source",
    ),
    pytest.param(
        an_ask(repositories=("good/lab", "evil/lab")),
        AdmissionPolicy(repositories=("good/*",)),
        Reason.REPOSITORY_NOT_ALLOWED,
        id="second-repository",
    ),
    pytest.param(
        an_ask(repositories=("good/lab/../../evil/lab",)),
        AdmissionPolicy(repositories=("good/*",)),
        Reason.REPOSITORY_NOT_ALLOWED,
        id="path-trick",
    ),
    pytest.param(
        an_ask(secrets=(TOKEN,), bound_secrets=frozenset({"token"}), terms=AgentTerms(secrets=("token",))),
        AdmissionPolicy(blocked_secrets=frozenset({"token"})),
        Reason.SECRET_BLOCKED,
        id="blocked-whatever-is-bound",
    ),
    pytest.param(
        an_ask(secrets=(TOKEN,), bound_secrets=frozenset({"token"}), terms=AgentTerms(secrets=("other",))),
        AdmissionPolicy(),
        Reason.SECRET_NOT_ALLOWED,
        id="agent-does-not-allow",
    ),
    pytest.param(an_ask(secrets=(TOKEN,)), AdmissionPolicy(), Reason.SECRET_NOT_BOUND, id="unbound"),
]


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize(("run_request", "policy", "reason"), CASES)
def test_a_run_that_breaks_a_rule_is_denied_with_its_reason(run_request, policy, reason):
    """The reason is one of denials, and a step is never retried over it."""
    found = policy_violation(run_request, policy)
    assert isinstance(found, Deny)
    assert found.reason is reason
    assert found.reason in DENIALS <= NEVER_RETRIED


def test_an_unbound_secret_is_named_with_the_fix():
    """What to make, where, for whom."""
    found = policy_violation(an_ask(secrets=(TOKEN,)), AdmissionPolicy())
    assert found.message == (
        "no SecretBinding permits the Secret token, named by spec.secrets: create one in the same namespace with the "
        "subject Agent coder and token in allowedSecrets, then start a new run"
    )


def test_a_run_within_all_rules_has_nothing_against_it():
    """Jangar's own labels need no permission; the GitHub list does not apply to other hosts."""
    run_request = an_ask(
        labels=("team", "jangar.proompteng.ai/step", "app.kubernetes.io/managed-by"),
        images=("ghcr.io/team/app",),
        secrets=(TOKEN,),
        bound_secrets=frozenset({"token"}),
        repositories=("group/sub/project",),
        on_github=False,
    )
    policy = AdmissionPolicy(
        labels=Labels(required=("team",), allowed=("te*",), denied=("*evil*",)),
        images=Images(allowed=patterns("ghcr.io/team/*")),
        repositories=("owner/*",),
    )
    assert policy_violation(run_request, policy) is None


def test_what_does_not_exist_yet_is_waited_for_unless_the_run_is_denied_anyway():
    """A missing Agent is no mistake; a blocked Secret is one whatever else is missing."""
    missing = policy_violation(an_ask(missing=("Agent coder", "AgentProvider any")), AdmissionPolicy())
    assert missing == Hold(
        reason=Reason.REFERENCE_NOT_FOUND, message="Agent coder, AgentProvider any do not exist yet"
    )
    blocked = AdmissionPolicy(blocked_secrets=frozenset({"token"}))
    assert isinstance(policy_violation(an_ask(missing=("Agent coder",), secrets=(TOKEN,)), blocked), Deny)
