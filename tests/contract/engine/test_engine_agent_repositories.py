"""Agents that work on a repository: how they sign in, and where the token must not appear."""

import hashlib
import json

import pytest

from support.github_api import APP, INSTALLATION, GitHubApi

SIGN_IN = """
echo "my token is $GH_TOKEN"
printf '{"sum": "%s", "repository": "%s", "user": "%s"}' "$(printf %s "$VCS_TOKEN" | sha256sum | cut -c1-64)" \
  "$VCS_REPOSITORY" "$GIT_ASKPASS_USERNAME" > "$JANGAR_RESULT_PATH"
"""


@pytest.fixture
def github():
    api = GitHubApi()
    yield api
    api.stop()


def sign_in(agents, github, *, key=None, **fields):
    """A provider that signs in as an app, and an agent that uses it."""
    agents.agent("coder", SIGN_IN)
    agents.api.create("Secret", "app", stringData={"privateKey": key or github.private_key})
    subjects = [{"kind": "Agent", "name": "coder"}]
    agents.api.create("SecretBinding", "app", {"subjects": subjects, "allowedSecrets": ["app"]})
    app = {"appId": int(APP), "installationId": int(INSTALLATION), "privateKeySecretRef": {"name": "app"}}
    host = {"provider": "github", "apiBaseUrl": github.url, "auth": {"app": app}, **fields}
    agents.api.create("VersionControlProvider", "hub", host)
    return {"vcsRef": {"name": "hub"}, "parameters": {"mark": "work", "repository": "acme/site"}}


def test_an_agent_gets_an_app_token_by_reference(agents, github):
    """Scoped to its repository and created for this Job; only a Secret of the run contains it."""
    spec = sign_in(agents, github)
    status = agents.ends(agents.run("coder", **spec), "Succeeded")
    (token,) = github.given
    assert status["outputs"] == {
        "sum": hashlib.sha256(token.encode()).hexdigest(),
        "repository": "acme/site",
        "user": "x-access-token",
    }
    assert github.requests == [{"repositories": ["site"]}]
    for kind in ("AgentRun", "Job", "Pod", "ConfigMap", "Event", "VersionControlProvider"):
        assert token not in json.dumps(agents.api.all(kind)), kind
    (pod,) = agents.api.all("Pod")
    assert "my token is ***" in agents.api.logs(pod["metadata"]["name"])
    (job,) = agents.api.all("Job")
    env = {item["name"]: item for item in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    made = agents.api.get("Secret", env["GITHUB_TOKEN"]["valueFrom"]["secretKeyRef"]["name"])
    assert made["metadata"]["ownerReferences"][0]["kind"] == "AgentRun"


def test_a_token_of_a_read_only_run_can_only_read(agents, github):
    """According to the run's own policy."""
    spec = sign_in(agents, github)
    agents.ends(agents.run("coder", **spec, vcsPolicy={"mode": "read-only"}), "Succeeded")
    assert github.requests == [{"repositories": ["site"], "permissions": {"contents": "read"}}]


@pytest.mark.rule("DAG-12")
def test_an_unavailable_host_is_retried(agents, github):
    """The run does not fail."""
    github.failures = 2
    spec = sign_in(agents, github)
    agents.ends(agents.run("coder", **spec), "Succeeded")
    assert len(github.given) == 1
    agents.namespace.await_executions(work=1)


def test_a_rejected_sign_in_says_what_to_check(agents, github):
    """After one attempt; nothing is started."""
    other = GitHubApi()
    spec = sign_in(agents, github, key=other.private_key)
    other.stop()
    status = agents.ends(agents.run("coder", **spec), "Failed")
    assert status["reason"] == "StartRefused"
    assert "answers 401: check appId" in status["message"]
    agents.api.merge("Secret", "app", {"stringData": {"privateKey": "no key"}})
    status = agents.ends(agents.run("coder", "again", **spec), "Failed")
    assert "is no RSA private key" in status["message"]
    assert agents.api.all("Job") == []
