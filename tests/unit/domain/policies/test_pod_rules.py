"""What runs may ask of their pods, and whom the controllers sign in to: safe without any setting (E7, E9, E14)."""

import pytest

from jangar.domain.policies.patterns import parse_pattern
from jangar.domain.policies.policy import AdmissionPolicy, Images, Labels, Pods
from jangar.domain.policies.policy_checks import (
    allows_node_label,
    allows_toleration,
    parse_node_label_pattern,
    parse_toleration_pattern,
    policy_violation,
)
from jangar.domain.policies.request import (
    NamedObjects,
    RunRequest,
    agent_run_request,
    node_labels_in,
    tolerations_in,
    tool_run_request,
)


def reason_of(run_request, **pods):
    found = policy_violation(run_request, AdmissionPolicy(pods=Pods(**pods)))
    return str(found.reason) if found else None


def agent_run(config=None, provider=None, vcs=None):
    """What an AgentRun with this `runtime.config`, provider and host of repositories asks for."""
    objects = {
        ("Agent", "coder"): {"providerRef": {"name": "p"}, **({"vcsRef": {"name": "v"}} if vcs else {})},
        ("AgentProvider", "p"): provider or {},
        ("VersionControlProvider", "v"): vcs or {},
    }

    def find(kind, name):
        return {"spec": objects[kind, name]}

    run = {
        "metadata": {"name": "run", "namespace": "team"},
        "spec": {
            "agentRef": {"name": "coder"},
            "runtime": {"type": "job", "config": config or {}},
            "implementation": {"inline": {"text": "x"}},
        },
    }
    return agent_run_request(run, NamedObjects(find=find))


NODE_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "role", "operator": "In", "values": ["control-plane"]}]}
            ]
        }
    }
}


@pytest.mark.parametrize(
    ("requested", "reason"),
    [
        pytest.param({"priorityClassName": "system-node-critical"}, "PriorityClassNotAllowed", id="priority"),
        pytest.param({"priorityClassName": "batch"}, None, id="ordinary priority"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, "TolerationNotAllowed", id="every taint"),
        pytest.param({"tolerations": ["gpu"]}, "TolerationNotAllowed", id="no toleration at all"),
        pytest.param({"nodeSelector": {"role": "control-plane"}}, "NodeSelectorNotAllowed", id="selector"),
        pytest.param({"affinity": NODE_AFFINITY}, "NodeSelectorNotAllowed", id="affinity"),
        pytest.param({"runtimeClassName": "host"}, "RuntimeClassNotAllowed", id="runtime class"),
        pytest.param({"affinity": {"podAntiAffinity": {}}}, None, id="apart from other pods"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_without_a_setting_a_run_cannot_take_nodes_or_priority_from_others(requested, reason):
    """E7: `runtime.config` is free-form, and what it asks for is refused unless the operator lists it."""
    assert reason_of(agent_run(requested)) == reason


@pytest.mark.parametrize(
    ("requested", "pods"),
    [
        ({"priorityClassName": "system-node-critical"}, {"priority_classes": ("system-node-*",)}),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, {"tolerations": ("gpu",)}),
        ({"nodeSelector": {"disk": "fast"}}, {"node_selectors": ("disk=fast",)}),
        ({"affinity": NODE_AFFINITY}, {"node_selectors": ("role=*",)}),
        ({"runtimeClassName": "gvisor"}, {"runtime_classes": ("gvisor",)}),
    ],
)
def test_what_the_operator_lists_is_allowed(requested, pods):
    """E7: each list opens what it names."""
    assert reason_of(agent_run(requested), **pods) is None


OWN = {"own_service_accounts": frozenset({"agents-controllers"}), "own_namespace": "team"}


@pytest.mark.parametrize(
    "run_request",
    [
        pytest.param(agent_run({"serviceAccount": "agents-controllers"}), id="run"),
        pytest.param(agent_run({"serviceAccountName": "agents-controllers"}), id="run, other field"),
        pytest.param(
            agent_run(provider={"workload": {"serviceAccountName": "agents-controllers"}}), id="provider"
        ),
        pytest.param(
            tool_run_request(
                {"metadata": {"name": "t", "namespace": "team"}}, {"serviceAccount": "agents-controllers"}
            ),
            id="tool",
        ),
    ],
)
def test_the_controllers_own_account_is_never_a_runs(run_request):
    """E7: regardless of who names it and of the allowlist."""
    assert reason_of(run_request, **OWN) == "ServiceAccountNotAllowed"
    assert reason_of(run_request, service_accounts=("*",), **OWN) == "ServiceAccountNotAllowed"
    assert reason_of(run_request, **(OWN | {"own_namespace": ""})) == "ServiceAccountNotAllowed"
    # Another namespace's account of that name is another account.
    assert reason_of(run_request, **(OWN | {"own_namespace": "elsewhere"})) is None


@pytest.mark.parametrize(
    ("audience", "allowed", "reason"),
    [
        ("vault", (), "TokenAudienceNotAllowed"),
        ("vault", ("vault",), None),
        ("https://kubernetes.default.svc", ("*",), "TokenAudienceNotAllowed"),
        ("https://kubernetes.default.svc.cluster.local", ("*",), "TokenAudienceNotAllowed"),
        ("k3s", ("k3s",), "TokenAudienceNotAllowed"),
    ],
)
def test_a_token_for_the_kubernetes_api_is_never_handed_out(audience, allowed, reason):
    """E7: other audiences need the operator's list."""
    provider = {"workload": {"serviceAccountToken": {"audience": audience}}}
    assert reason_of(agent_run(provider=provider), token_audiences=allowed) == reason


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        (None, True),
        ("https://api.github.com", True),
        ("https://API.GitHub.com/", True),
        ("https://api.github.com.evil.example", False),
        ("https://evil.example/api.github.com", False),
        ("https://api.github.com@evil.example", False),
        ("http://127.0.0.1:8080", False),
        ("https://ghe.example/api/v3", False),
    ],
)
@pytest.mark.parametrize("method", ["app", None])
def test_an_app_signs_in_to_hosts_that_the_operator_allows(address, is_allowed, method):
    """E14: the host of `apiBaseUrl` gets a token of the app, so users do not choose it."""
    auth = {"app": {"privateKeySecretRef": {"name": "key"}}, **({"method": method} if method else {})}
    vcs = {"provider": "github", "auth": auth, **({"apiBaseUrl": address} if address else {})}
    run_request = agent_run(vcs=vcs)
    found = policy_violation(run_request, AdmissionPolicy())
    assert (found.reason == "HostNotAllowed") is not is_allowed
    listed = AdmissionPolicy(provider_hosts=("ghe.example",))
    if address == "https://ghe.example/api/v3":
        assert policy_violation(run_request, listed).reason == "SecretNotBound"


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (AdmissionPolicy(images=Images(denied=(parse_pattern("busybox"),))), "ImageBlocked"),
        (AdmissionPolicy(images=Images(allowed=(parse_pattern("ghcr.io/team/*"),))), "ImageNotAllowed"),
        (AdmissionPolicy(labels=Labels(required=("team",))), "MissingRequiredLabels"),
        (AdmissionPolicy(labels=Labels(denied=("x*",))), "LabelBlocked"),
        (AdmissionPolicy(pods=Pods(service_accounts=("worker",))), "ServiceAccountNotAllowed"),
        (AdmissionPolicy(), None),
    ],
)
def test_the_same_rules_hold_for_tool_runs(policy, reason):
    """E9: a Tool is no way around what operators say about images, labels and service accounts."""
    run = {"metadata": {"name": "t", "namespace": "team", "labels": {"x": "y"}}}
    found = policy_violation(tool_run_request(run, {"image": "busybox", "serviceAccount": "other"}), policy)
    assert (str(found.reason) if found else None) == reason


@pytest.mark.parametrize(
    ("pattern", "requested", "is_allowed"),
    [
        ("gpu", "gpu=a:NoSchedule", True),
        ("gpu=a", "gpu=b:NoSchedule", False),
        ("gpu=a", "gpu=*:*", False),
        ("gpu=a:NoSchedule", "gpu=a:NoExecute", False),
        ("gpu=a:NoSchedule", "gpu=a:*", False),
        ("*", "*=*:*", True),
        ("gpu", "*=*:*", False),
    ],
)
def test_a_toleration_of_more_needs_a_pattern_of_more(pattern, requested, is_allowed):
    """E7: one that leaves key, value or effect away tolerates any of them."""
    assert allows_toleration((parse_toleration_pattern(pattern),), requested) is is_allowed


def test_every_way_to_choose_a_node_is_seen():
    """E7: selectors, affinities at any depth, operators that choose any value, and what is of no known form."""
    hidden = {"nodeAffinity": {"preferred": [{"preference": {"matchFields": [{"key": "metadata.name"}]}}]}}
    assert list(node_labels_in({"nodeSelector": {"a": 1}, "affinity": hidden})) == ["a=1", "metadata.name=*"]
    assert list(node_labels_in({"nodeSelector": "a", "affinity": []})) == []
    assert list(tolerations_in({"tolerations": [{"key": "a", "value": "b", "effect": "c"}, {}]})) == [
        "a=b:c",
        "*=*:*",
    ]
    assert not allows_node_label((parse_node_label_pattern("a=1"),), "a=*")
    assert allows_node_label(("a",), "a=*")


@pytest.mark.parametrize("text", ["", "a b", "=x", ":NoSchedule"])
def test_what_is_no_pattern_is_refused(text):
    """A value that cannot be read stops the process."""
    with pytest.raises(ValueError, match="is not a toleration"):
        parse_toleration_pattern(text)


def test_an_operators_defaults_are_not_judged():
    """E7: a value that the run does not set comes from the operator."""
    assert reason_of(RunRequest(agent="a")) is None
