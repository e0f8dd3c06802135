"""What a run asks for is found wherever it stands: in the run and its steps, and in everything that they name."""

import pytest

from jangar.domain.policies.patterns import canonical_repository, is_allowed, parse_repository_pattern
from jangar.domain.policies.request import NamedObjects, SecretUse, agent_run_request

OBJECTS = {
    ("Agent", "coder"): {
        "providerRef": {"name": "codex"},
        "vcsRef": {"name": "github"},
        "memoryRef": {"name": "notes"},
        "security": {"allowedSecrets": ["s"], "allowedServiceAccounts": ["bot"]},
        "defaults": {"systemPromptRef": {"kind": "Secret", "name": "prompt", "key": "text"}},
    },
    ("AgentProvider", "codex"): {
        "binary": "codex",
        "secretEnv": [{"name": "KEY", "secretName": "provider-key", "key": "k"}],
        "workload": {"image": "ghcr.io/team/codex", "serviceAccountName": "bot"},
    },
    ("VersionControlProvider", "github"): {
        "provider": "github",
        "auth": {
            "method": "app",
            "token": {"secretRef": {"name": "unused"}},
            "app": {"privateKeySecretRef": {"name": "app-key"}},
        },
    },
    ("Memory", "notes"): {"type": "redis", "connection": {"secretRef": {"name": "memory-url"}}},
    ("ImplementationSpec", "fix"): {
        "text": "x",
        "source": {"provider": "github", "externalId": "Owner/Repo#12"},
    },
}


def find(kind, name):
    spec = OBJECTS.get((kind, name))
    return None if spec is None else {"spec": spec}


def a_run(**spec):
    return {
        "metadata": {"name": "run", "namespace": "team", "labels": {"a": "b"}},
        "spec": {
            "agentRef": {"name": "coder"},
            "implementationSpecRef": {"name": "fix"},
            "runtime": {"type": "job"},
            **spec,
        },
    }


def binding(*secrets, **subject):
    return {"spec": {"subjects": [subject], "allowedSecrets": list(secrets)}}


def names(run_request):
    return {use.name for use in run_request.secrets}


def test_every_secret_is_found_with_who_names_it():
    """Environment, volumes of the run and of steps, pull secrets, prompt, provider, memory, and the host's sign-in."""
    volume = {"type": "secret", "name": "v", "mountPath": "/v", "secretName": "mounted"}
    step_volume = volume | {"secretName": "mounted-by-step"}
    run = a_run(
        secrets=["env"],
        workload={"volumes": [volume, {"type": "emptyDir", "name": "e", "mountPath": "/e"}]},
        workflow={"steps": [{"name": "one", "workload": {"volumes": [step_volume]}}]},
        runtime={"type": "workflow", "config": {"imagePullSecrets": [{"name": "pull"}, 7]}},
    )
    run_request = agent_run_request(run, NamedObjects(find=find))
    assert names(run_request) == {
        *(
            "env",
            "mounted",
            "mounted-by-step",
            "pull",
            "7",
            "prompt",
            "provider-key",
            "memory-url",
            "app-key",
        ),
    }
    assert SecretUse("provider-key", "AgentProvider codex") in run_request.secrets


def test_what_is_not_used_is_not_requested():
    """Its own prompt, no repository, another sign-in."""
    run_request = agent_run_request(
        a_run(systemPrompt="hi", vcsPolicy={"mode": "none"}), NamedObjects(find=find)
    )
    assert names(run_request) == {"provider-key", "memory-url"}


def test_runs_that_name_no_memory_request_the_default():
    """Its Secret is given to them, so it must be allowed."""
    bare = {
        ("Agent", "coder"): {"providerRef": {"name": "codex"}},
        ("AgentProvider", "codex"): {"binary": "x"},
    }
    memory = {"spec": {"default": True, "connection": {"secretRef": {"name": "shared"}}}}
    around = NamedObjects(
        find=lambda kind, name: {"spec": bare[kind, name]} if (kind, name) in bare else {"spec": {}},
        memories=[memory],
    )
    assert names(agent_run_request(a_run(), around)) == {"shared"}


def test_a_binding_permits_for_its_subjects_alone():
    """By Agent, run or proven Orchestration, and by namespace where one is named."""
    around = NamedObjects(
        find=find,
        bindings=[
            binding("one", kind="Agent", name="coder"),
            binding("two", kind="Agent", name="coder", namespace="team"),
            binding("three", kind="AgentRun", name="run"),
            binding("four", kind="Agent", name="coder", namespace="other"),
            binding("five", kind="Agent", name="somebody"),
            binding("six", kind="Orchestration", name="coder"),
            {"spec": {"allowedSecrets": ["seven"]}},
        ],
    )
    assert agent_run_request(a_run(), around).bound_secrets == {"one", "two", "three"}
    within = NamedObjects(
        find=find, bindings=[binding("x", kind="Orchestration", name="o")], orchestration="o"
    )
    assert agent_run_request(a_run(), within).bound_secrets == {"x"}


def test_images_are_those_that_would_be_pulled():
    """A step's workload replaces the run's; without an image the provider's counts, then the operator's."""
    run = a_run(
        workload={"image": "own"},
        runtime={"type": "workflow"},
        workflow={
            "steps": [
                {"name": "a"},
                {"name": "b", "workload": {"image": "step"}},
                {"name": "c", "workload": {"resources": {}}},
            ]
        },
    )
    run_request = agent_run_request(run, NamedObjects(find=find, default_image="operator"))
    assert set(run_request.images) == {"own", "step", "ghcr.io/team/codex"}
    unknown = agent_run_request(
        a_run(agentRef={"name": "nobody"}), NamedObjects(find=find, default_image="operator")
    )
    assert unknown.images == ("operator",)
    assert unknown.missing == ("Agent nobody",)


def test_every_repository_that_is_named_counts():
    """Parameters by either name, of the run and its steps, and the task's own; first what the agent works on."""
    run = a_run(
        parameters={"repo": "https://github.com/Evil/One.git", "repository": "good/lab"},
        runtime={"type": "workflow"},
        workflow={"steps": [{"name": "a", "parameters": {"repository": "evil/two"}}]},
    )
    assert agent_run_request(run, NamedObjects(find=find)).repositories == (
        "good/lab",
        "evil/two",
        "evil/one",
        "owner/repo",
    )


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("Owner/Name", "owner/name"),
        ("https://github.com/owner/name.git", "owner/name"),
        ("git@github.com:owner/name.git", "owner/name"),
        ("https://github.com.evil.com/owner/name", "https://github.com.evil.com/owner/name"),
        ("gitlab.com/owner/name", "gitlab.com/owner/name"),
        ("owner/../name", "owner/../name"),
        ("../name", "../name"),
        ("owner/..", "owner/.."),
    ],
)
def test_a_repository_is_known_however_it_is_written(written, canonical):
    """What is none of GitHub's stays as it is, and no list allows it."""
    assert canonical_repository(written) == canonical
    assert is_allowed(["owner/*"], canonical) == (canonical == "owner/name")


@pytest.mark.parametrize("text", ["owner", "a/b/c", "", "owner/na me", "/x"])
def test_a_pattern_of_repositories_has_an_owner_and_a_name(text):
    """Else the process does not start."""
    with pytest.raises(ValueError, match="not a repository"):
        parse_repository_pattern(text)


def test_the_service_account_is_the_first_that_is_named():
    """The run's, then the provider's."""
    config = {"type": "job", "config": {"serviceAccount": "mine"}}
    assert agent_run_request(a_run(runtime=config), NamedObjects(find=find)).service_account == "mine"
    assert agent_run_request(a_run(), NamedObjects(find=find)).service_account == "bot"
