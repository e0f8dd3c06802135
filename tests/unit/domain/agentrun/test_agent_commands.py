"""What a run of an agent starts, from what it names."""

import hashlib
import json

import pytest

from jangar.api.agents.agent import AgentSpec
from jangar.api.agents.agentrun import AgentRunSpec
from jangar.api.agents.implementation import ImplementationText
from jangar.api.agents.provider import AgentProviderSpec
from jangar.api.agents.vcs import VersionControlProviderSpec
from jangar.api.reasons import Reason
from jangar.domain.agentrun.command import RUN_PATH, RUNNER_PATH, AgentDefaults, AgentParts, agent_command
from jangar.domain.agentrun.task import task_of
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.observation import WorkHeld, WorkRejected
from jangar.domain.job_execution.outcome import artifacts_of, report_of
from jangar.domain.policies.verdicts import admission_blocker
from jangar.domain.toolrun import NoCommand

VCS = {
    "provider": "github",
    "auth": {"token": {"secretRef": {"name": "hub"}}},
    "repositoryPolicy": {"allow": ["acme/*"], "deny": ["acme/secret"]},
    "defaults": {"baseBranch": "main", "branchTemplate": "agents/{{ agentRun.name }}"},
}


def started(*, run=None, agent=None, provider=None, task=None, vcs=None, defaults=None):
    spec = AgentRunSpec.model_validate(
        {
            "agentRef": {"name": "coder"},
            "implementation": {"inline": {"text": "x"}},
            "runtime": {"type": "job"},
            **(run or {}),
        }
    )
    text = ImplementationText.model_validate({"text": "mend {{ parameters.what }}", **(task or {})})
    parts = AgentParts(
        name="mend",
        uid="u1",
        namespace="ci",
        spec=spec,
        agent=AgentSpec.model_validate({"providerRef": {"name": "codex"}, **(agent or {})}),
        provider=AgentProviderSpec.model_validate({"binary": "codex", **(provider or {})}),
        task=task_of(text, spec.parameters or {}),
        vcs=("hub", VersionControlProviderSpec.model_validate(vcs)) if vcs else None,
    )
    return agent_command(parts, defaults or AgentDefaults(image="jangar:1"))


def files(command):
    assert isinstance(command, Command), command
    return json.loads(command.files[RUN_PATH]), json.loads(command.files[RUNNER_PATH])


def test_the_runner_finds_the_task_and_the_filled_in_command():
    """With the field names of the runner's contract."""
    provider = {
        "argsTemplate": ["exec", "{{ implementation.text }}", "--model={{ agent.config.model }}"],
        "envTemplate": {"GOAL": "{{ goal.objective }}"},
        "inputFiles": [{"path": "notes.md", "content": "# {{ parameters.what }}"}],
        "outputArtifacts": [{"name": "patch", "path": "out.patch", "key": "{{ agentRun.uid }}/p"}],
        "secretEnv": [{"name": "OPENAI_API_KEY", "secretName": "openai", "key": "key"}],
    }
    command = started(
        run={"parameters": {"what": "it"}, "goal": {"objective": "green"}, "secrets": ["more"]},
        agent={"config": {"model": "big"}, "defaults": {"systemPrompt": "be kind"}},
        provider=provider,
    )
    run, runner = files(command)
    assert runner["schemaVersion"] == "agents.proompteng.ai/runner/v1"
    assert runner["adapter"]["exec"] == {
        "binary": "codex",
        "args": ["exec", "mend it", "--model=big"],
        "env": {"GOAL": "green"},
        "inputFiles": [{"path": "notes.md", "content": "# it"}],
        "outputArtifacts": [{"name": "patch", "path": "out.patch", "key": "u1/p"}],
    }
    assert runner["environment"] == {"pass": ["*"], "secret": ["OPENAI_API_KEY"]}
    assert (run["prompt"], run["systemPrompt"]) == ("mend it", "be kind")
    assert run["agentRun"] == {"name": "mend", "uid": "u1", "namespace": "ci"}
    assert command.secrets == ("more",)
    assert [(item.name, item.secret, item.key) for item in command.secret_env] == [
        ("OPENAI_API_KEY", "openai", "key")
    ]
    assert command.command == ("jangar", "runner")


def test_a_repository_comes_as_variables_and_its_token_by_name():
    """No value of a Secret is read."""
    command = started(run={"parameters": {"what": "it", "repo": "acme/site"}}, vcs=VCS)
    assert isinstance(command, Command)
    assert command.env["VCS_REPOSITORY"] == "acme/site"
    assert command.env["VCS_HEAD_BRANCH"] == "agents/mend"
    assert {(item.name, item.secret, item.key) for item in command.secret_env} == {
        (name, "hub", "token") for name in ("VCS_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
    }


def test_the_status_records_repository_contract_prompt_and_spec():
    """As clients of the legacy API read it; of a spec only what does not change."""
    reported = started(run={"parameters": GIVEN, "systemPrompt": "be kind"}, vcs=VCS).status_fields
    assert (reported["vcs"]["repository"], reported["vcs"]["mode"]) == ("acme/site", "read-write")
    assert reported["systemPromptHash"] == hashlib.sha256(b"be kind").hexdigest()
    stopping = started(run={"parameters": GIVEN, "systemPrompt": "be kind", "cancel": True}, vcs=VCS)
    assert stopping.status_fields["specHash"] == reported["specHash"]
    assert started(run={"parameters": GIVEN}, vcs=VCS).status_fields["specHash"] != reported["specHash"]


GIVEN = {"what": "it", "repo": "acme/site"}
APP = {"appId": 4711, "installationId": "42", "privateKeySecretRef": {"name": "app"}}


def signed_in(app=None, **fields):
    vcs = {**VCS, "auth": {"method": "app", "app": APP if app is None else app}, **fields}
    run = {"parameters": GIVEN, "vcsPolicy": {"required": True}}
    return started(run=run, vcs=vcs)


def test_an_app_signs_in_with_a_token_that_is_made_later():
    """For the one repository; the runner gets the names of its variables, and no object holds its value."""
    command = signed_in(apiBaseUrl="https://ghe.example/api/v3/")
    token = command.app_token
    assert token.url == "https://ghe.example/api/v3/app/installations/42/access_tokens"
    assert (token.app_id, token.secret, token.key) == ("4711", "app", "privateKey")
    assert token.body == {"repositories": ["site"]}
    assert command.secret_env == ()
    assert command.env["GIT_ASKPASS_USERNAME"] == "x-access-token"
    spec = json.loads(command.files["/workspace/agent-runner.json"])
    assert {"VCS_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"} <= set(spec["environment"]["secret"])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"app": {"appId": 1}}, "needs appId, installationId", id="incomplete"),
        pytest.param({"app": {**APP, "installationId": "../../x"}}, "is not a number", id="path"),
        pytest.param({"apiBaseUrl": "http://ghe.example"}, "is not https", id="in-the-open"),
        pytest.param({"apiBaseUrl": "http://127.0.0.1@ghe.example"}, "is not a URL", id="user"),
        pytest.param({"apiBaseUrl": "https://ghe.example?x="}, "is not a URL", id="query"),
        pytest.param({"provider": "gitlab"}, "only for github", id="other-host"),
    ],
)
def test_a_required_sign_in_that_is_unavailable_is_refused(fields, words):
    """And says what is missing."""
    found = signed_in(**fields)
    assert isinstance(found, NoCommand)
    assert words in found.message


@pytest.mark.parametrize("repository", ["acme/secret", "other/site"])
def test_a_repository_that_the_provider_forbids_is_denied(repository):
    """Whether one is required or not; deny wins over allow."""
    found = started(run={"parameters": {"what": "x", "repository": repository}}, vcs=VCS)
    assert isinstance(found, NoCommand)
    assert found.reason is Reason.POLICY_DENIED


@pytest.mark.parametrize(
    ("given", "reason", "words"),
    [
        pytest.param({"task": {"contract": {"requiredKeys": ["who"]}}}, "MissingInput", "who", id="contract"),
        pytest.param({"provider": {"argsTemplate": ["{{ x }}"]}}, "InvalidSpec", "undefined", id="template"),
        pytest.param({"defaults": AgentDefaults()}, "InvalidSpec", "image", id="no-image"),
        pytest.param({"run": {"parameters": {"p": "x" * 2049}}}, "InvalidSpec", "2048", id="too-long"),
        pytest.param({"run": {"vcsPolicy": {"required": True}}}, "InvalidSpec", "repository", id="no-vcs"),
    ],
)
def test_what_cannot_be_started_says_why(given, reason, words):
    """And nothing is started."""
    found = started(**given)
    assert isinstance(found, NoCommand)
    assert found.reason == reason
    assert words in found.message


def test_the_token_of_a_provider_is_for_its_own_account_alone():
    """A run that could name another account would get a token of that."""
    workload = {
        "serviceAccountName": "coder",
        "serviceAccountToken": {"audience": "mcp", "expirationSeconds": 600, "mountPath": "/var/run/t/token"},
    }
    other = {"runtime": {"type": "job", "config": {"serviceAccount": "controllers"}}}
    assert isinstance(started(provider={"workload": workload}), Command)
    assert isinstance(started(run=other, provider={"workload": workload}), NoCommand)


def test_resources_come_from_the_nearest_that_names_them():
    """Operators, provider, run: value by value."""
    command = started(
        run={"workload": {"resources": {"limits": {"cpu": "2"}}}},
        provider={"workload": {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}},
        defaults=AgentDefaults(image="x", resources={"requests": {"cpu": "100m"}}),
    )
    assert isinstance(command, Command)
    assert command.resources is not None
    assert command.resources.limits == {"cpu": "2", "memory": "1Gi"}
    assert command.resources.requests == {"cpu": "100m"}


def test_a_github_task_says_its_repository_and_issue():
    """Unless the run says it itself; mappings fill what is empty."""
    text = ImplementationText.model_validate(
        {
            "text": "t",
            "source": {"provider": "github", "externalId": "acme/site#12"},
            "contract": {"requiredKeys": ["ticket"], "mappings": [{"from": "issueNumber", "to": "ticket"}]},
        }
    )
    task = task_of(text, {})
    assert (task.facts["repository"], task.facts["ticket"], task.missing) == ("acme/site", "12", ())


@pytest.mark.parametrize(
    ("admission", "expected"),
    [
        pytest.param({"phase": "Admitted"}, None, id="admitted"),
        pytest.param(
            {"phase": "Held", "reason": "QueueLimit", "message": "full"},
            WorkHeld(reason="QueueLimit", message="full"),
            id="held",
        ),
        pytest.param(
            {"phase": "Held", "reason": "RateLimit", "message": "slow", "position": 5},
            WorkHeld(reason="RateLimit", message="slow, at position 5 or earlier in its namespace's queue"),
            id="held-in-the-queue",
        ),
        pytest.param(
            {"phase": "Denied", "reason": "ImageBlocked"},
            WorkRejected(reason="ImageBlocked", message=""),
            id="denied",
        ),
        pytest.param(
            None, WorkHeld(reason="Pending", message="waiting for admission", by_policy=False), id="not-yet"
        ),
    ],
)
def test_admission_is_waited_for(admission, expected):
    """Held and denied carry admission's own words."""
    assert admission_blocker(admission) == expected


def test_the_runners_word_is_taken_as_data():
    """What cannot be read says nothing."""
    result = json.dumps(
        {"answer": "x", "runner": {"exitCode": 0, "artifacts": [{"name": "a", "url": "u" * 3000}, 7]}}
    )
    report = report_of(result)
    assert report is not None
    assert artifacts_of(report) == [{"name": "a"}]
    assert report_of("[" * 100000) is None
    assert report_of('{"runner": 3}') is None
    assert report_of(None) is None
