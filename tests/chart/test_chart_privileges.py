"""The permissions of an installation: least privilege by default, and no wildcards."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from chart_render import ROOT, container, environment, pod_specs, refusal, rendered

from jangar.controllers.rbac import SHARED, SHARED_RULES, main, verbs_by_resource
from jangar.controllers.registry import registrations
from jangar.processes.controllers import engine
from jangar.settings.control_plane import control_plane_settings
from jangar.settings.controllers import controller_settings
from kubekit.cache.namespaces import Namespaces

PRESETS = ("values-dev.yaml", "values-kind.yaml", "values-prod.yaml")
DIGEST = {"image.digest": "sha256:" + "0" * 64}
EVERYTHING = {
    "crds.upgrade.enabled": True,
    "controlPlane.rbac.extraRules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}


def rules(objects, kinds=("Role", "ClusterRole")) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in kinds:
        for name, item in objects.of(kind).items():
            for rule in item["rules"]:
                yield f"{kind}/{name}", rule


@pytest.mark.rule("CHART-7")
@pytest.mark.parametrize(
    "values", [{}, EVERYTHING, {"rbac.clusterScoped": True}], ids=["defaults", "all", "cluster"]
)
def test_no_rule_has_a_wildcard_or_lists_secrets(values):
    """Every group, resource and verb is named; nothing may list or watch Secrets."""
    for name, rule in rules(rendered(values)):
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]], (name, rule)
        if "secrets" in rule["resources"]:
            assert not {"list", "watch"} & set(rule["verbs"]), (name, rule)
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])


PROXY = {
    "controlPlane.trustedProxy.userHeader": "X-Forwarded-User",
    "controlPlane.trustedProxy.secretRef.name": "proxy",
}
GROUPS = {
    "controlPlane.trustedProxy.groupsHeader": "X-Forwarded-Groups",
    "controlPlane.trustedProxy.groups": ["team-a", "team-b"],
}
USERS = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}


@pytest.mark.rule("CHART-7")
@pytest.mark.parametrize(
    ("values", "given"),
    [
        pytest.param({}, [], id="neither"),
        pytest.param(
            {"controlPlane.rbac.tokenReviews": True},
            [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}],
            id="reviews",
        ),
        pytest.param(PROXY | {"controlPlane.trustedProxy.users": ["*"]}, [USERS], id="any-user"),
        pytest.param(
            PROXY | {"controlPlane.trustedProxy.users": ["ann@example.com"]},
            [USERS | {"resourceNames": ["ann@example.com"]}],
            id="some-users",
        ),
        pytest.param(
            PROXY | GROUPS,
            [USERS, USERS | {"resources": ["groups"], "resourceNames": ["team-a", "team-b"]}],
            id="groups",
        ),
        pytest.param(PROXY | GROUPS | {"rbac.create": False}, [], id="rights-of-another-user"),
    ],
)
def test_the_control_plane_may_identify_callers_only_if_a_value_allows_it(values, given):
    """Impersonation and TokenReviews are cluster-scoped: a ClusterRole with just these, only for the control plane."""
    objects = rendered(values)
    name = "agents-agents-identity"
    assert list(objects.of("ClusterRole")) == list(objects.of("ClusterRoleBinding")) == [name][: len(given)]
    if given:
        assert objects.one("ClusterRole", name)["rules"] == given
        bound = objects.one("ClusterRoleBinding", name)
        assert bound["roleRef"]["name"] == name
        assert [(subject["name"], subject["namespace"]) for subject in bound["subjects"]] == [
            ("agents-sa", "agents")
        ]


def test_a_trusted_proxy_needs_all_its_settings():
    """Without its secret or with unlisted groups nothing is rendered; `system:` names are never allowed."""
    assert "secretRef.name" in refusal({"controlPlane.trustedProxy.userHeader": "X-User"})
    assert "userHeader" in refusal({"controlPlane.trustedProxy.secretRef.name": "proxy"})
    assert "users or groups" in refusal(PROXY)
    reported = refusal(PROXY | {"controlPlane.trustedProxy.groupsHeader": "X-Groups"})
    assert "system:masters" in reported
    for name in ("system:masters", "*"):
        bad = PROXY | GROUPS | {"controlPlane.trustedProxy.groups": [name]}
        assert "controlPlane.trustedProxy.groups.0" in refusal(bad)
    both = refusal(PROXY | {"controlPlane.trustedProxy.users": ["*", "ann"]})
    assert "stands for all users" in both


def test_only_the_control_plane_gets_the_trusted_proxy():
    """Its secret is a reference; the controllers' environment does not have it, and the rendered settings parse."""
    objects = rendered(PROXY | GROUPS)
    specs = environment(container(objects.one("Deployment", "agents")))
    secret = specs["JANGAR_TRUSTED_PROXY_SECRET"]
    assert secret == {"secretKeyRef": {"name": "proxy", "key": "secret"}}
    texts = {name: text for name, text in specs.items() if isinstance(text, str)}
    settings = control_plane_settings(texts | {"JANGAR_TRUSTED_PROXY_SECRET": "s" * 16})
    assert (settings.proxy_user_header, settings.proxy_groups) == ("X-Forwarded-User", ("team-a", "team-b"))
    other = environment(container(objects.one("Deployment", "agents-controllers")))
    assert not [name for name in other if "TRUSTED_PROXY" in name]


@pytest.mark.rule("CHART-7")
def test_a_default_installation_is_namespaced():
    """No ClusterRole, and no object outside the release's namespace."""
    objects = rendered()
    assert not objects.of("ClusterRole")
    assert not objects.of("ClusterRoleBinding")
    assert {item["metadata"].get("namespace") for item in objects.all} == {"agents"}


@pytest.mark.rule("CHART-7")
def test_several_namespaces_get_a_role_each():
    """Each also gets an account for work; only all namespaces require a ClusterRole, and only if configured."""
    objects = rendered(
        {"controller.namespaces": ["team-a", "team-b"], "orchestrationController.namespaces": ["team-b"]}
    )
    where = {
        item["metadata"]["namespace"]
        for item in objects.installed().all
        if item["kind"] == "Role" and not item["metadata"]["name"].endswith("-leases")
    }
    assert where == {"agents", "team-a", "team-b"}
    accounts = {
        item["metadata"]["namespace"]
        for item in objects.all
        if item["kind"] == "ServiceAccount" and item["metadata"]["name"] == "agents-runner"
    }
    assert accounts == {"agents", "team-a", "team-b"}
    assert "set rbac.clusterScoped=true" in refusal({"controller.namespaces": ["*"]})
    assert "controller.namespaces" in refusal(
        {"controller.namespaces": ["*", "team-a"], "rbac.clusterScoped": True}
    )
    wide = rendered({"controller.namespaces": ["*"], "rbac.clusterScoped": True})
    assert sorted(wide.of("ClusterRole")) == [
        "agents-agents",
        "agents-agents-controllers",
        "agents-agents-uninstall",
    ]


def restricted_problems(spec: dict[str, Any]) -> list[str]:
    """Problems under the Pod Security standard `restricted`."""
    problems = []
    pod = spec.get("securityContext") or {}
    if spec.get("hostNetwork") or spec.get("hostPID") or spec.get("hostIPC"):
        problems.append("host namespaces")
    problems += [
        f"volume {volume['name']}"
        for volume in spec.get("volumes", [])
        if not {*volume} & {"emptyDir", "configMap", "secret"}
    ]
    for init_container in [*spec.get("initContainers", []), *spec["containers"]]:
        own = init_container.get("securityContext") or {}
        checks = {
            "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
            "capabilities": own.get("capabilities") == {"drop": ["ALL"]},
            "runAsNonRoot": own.get("runAsNonRoot", pod.get("runAsNonRoot")) is True,
            "seccompProfile": (own.get("seccompProfile") or pod.get("seccompProfile"))
            == {"type": "RuntimeDefault"},
            "readOnlyRootFilesystem": own.get("readOnlyRootFilesystem") is True,
            "resources": "limits" in init_container["resources"]
            and "memory" in init_container["resources"]["limits"],
            "image": not init_container["image"].endswith(":latest"),
        }
        problems += [f"{init_container['name']}: {name}" for name, holds in checks.items() if not holds]
    return problems


@pytest.mark.rule("CHART-7")
@pytest.mark.parametrize("preset", ["values.yaml", *PRESETS])
def test_every_pod_is_restricted(preset):
    """Pods of hooks and tests too: not root, no privileges, only /tmp is writable, in every preset."""
    objects = rendered({**DIGEST, "crds.upgrade.enabled": True}, files=(preset,))
    specs = dict(pod_specs(objects))
    assert {"Job/agents-uninstall", "Job/agents-crds", "Pod/agents-test"} <= specs.keys()
    assert {name: problems for name, spec in specs.items() if (problems := restricted_problems(spec))} == {}


@pytest.mark.rule("CHART-7")
def test_components_and_work_have_accounts_of_their_own():
    """Work has no permissions, the control plane only reads; tokens are mounted only where they are used."""
    objects = rendered()
    bound = {
        subject["name"]
        for item in objects.installed().of("RoleBinding").values()
        for subject in item["subjects"]
    }
    assert bound == {"agents-controllers", "agents-sa"}
    reads = objects.one("Role", "agents")["rules"]
    assert {verb for rule in reads for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert {name for rule in reads for name in rule["resources"]} == {
        "orchestrationruns",
        "orchestrations",
        "configmaps",
        "leases",
    }
    assert all(
        item["automountServiceAccountToken"] is False for item in objects.of("ServiceAccount").values()
    )
    assert {
        objects.one("Deployment", name)["spec"]["template"]["spec"]["serviceAccountName"]
        for name in ("agents", "agents-controllers")
    } == {"agents-sa", "agents-controllers"}


@pytest.mark.rule("CHART-7")
def test_both_components_and_work_have_network_policies():
    """Each policy selects exactly its pods; work accepts no connections and cannot call inside the cluster."""
    policies = rendered().of("NetworkPolicy")
    assert sorted(policies) == ["agents", "agents-controllers", "agents-runner"]
    work = policies["agents-runner"]["spec"]
    assert work["podSelector"]["matchExpressions"][0]["key"] == "jangar.proompteng.ai/child-uid"
    assert work["ingress"] == []
    assert "10.0.0.0/8" in work["egress"][1]["to"][0]["ipBlock"]["except"]


class _Nowhere:
    """A transport without a server: wiring sends no requests."""

    async def request(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("wiring sent a request")


def granted(values=None) -> set[tuple[str, str, str]]:
    """What the Role of the controllers grants: group, resource and verb."""
    return {
        (group, resource, verb)
        for name, rule in rules(rendered(values).installed(), ("Role",))
        if name == "Role/agents-controllers"
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


READ = ("get", "list", "watch")
RUN = (*READ, "create", "patch", "delete")
AGENTS = ("agents", "agentproviders", "implementationspecs", "versioncontrolproviders")
UNBUILT = {
    "agents": ("implementationsources",),
    "approvals": ("approvalpolicies",),
    "artifacts": ("artifacts",),
    "budgets": ("budgets",),
    "schedules": ("schedules",),
    "signals": ("signals", "signaldeliveries"),
    "swarm": ("swarms",),
    "workspaces": ("workspaces",),
}
RUNS = {"orchestration": "orchestrationruns", "tools": "toolruns", "agents": "agentruns"}
DEFINITIONS = [
    ("orchestration", "orchestrations"),
    ("tools", "tools"),
    *(("agents", name) for name in AGENTS),
]
DEFINITIONS += [(group, name) for group, names in UNBUILT.items() for name in names]
EXPECTED = {
    ("", "configmaps"): ("get", "list", "create", "patch"),
    ("", "events"): ("get", "list", "create", "patch"),
    ("", "pods"): (*READ, "patch", "delete"),
    ("", "pods/log"): ("get",),
    ("", "secrets"): ("get", "create"),
    ("batch", "jobs"): RUN,
    ("agents.proompteng.ai", "memories"): READ,
    ("security.proompteng.ai", "secretbindings"): READ,
    **{(f"{group}.proompteng.ai", name): READ for group, name in DEFINITIONS},
    **{(f"{group}.proompteng.ai", f"{name}/status"): ("patch",) for group, name in DEFINITIONS},
    **{(f"{group}.proompteng.ai", name): RUN for group, name in RUNS.items()},
    **{(f"{group}.proompteng.ai", f"{name}/status"): ("patch",) for group, name in RUNS.items()},
    **{(f"{group}.proompteng.ai", f"{name}/finalizers"): ("update",) for group, name in RUNS.items()},
}
"""Every right of the controllers. Extend it only together with a registration that needs more."""


@pytest.mark.rule("CHART-7")
def test_the_controllers_have_exactly_these_rights():
    """A registration that declares more, or a changed template, shows here."""
    assert granted() == {(*resource, verb) for resource, verbs in EXPECTED.items() for verb in verbs}


def test_the_role_is_generated_from_the_registrations():
    """The chart grants what the registrations declare, and `make check` fails if the file is out of date."""
    rights = [(registration.name, rule) for registration in registrations() for rule in registration.granted]
    declared = verbs_by_resource([*rights, *((SHARED, rule) for rule in SHARED_RULES)])
    assert granted() == {(*resource, verb) for resource, (verbs, _) in declared.items() for verb in verbs}
    assert main(["--check", "--root", str(ROOT)]) == 0


def test_the_controllers_may_read_what_they_watch():
    """Every kind that the engine has an informer for is in their Role, with get, list and watch."""
    manager = engine(_Nowhere(), controller_settings({}), own=Namespaces.of("agents"))  # type: ignore[arg-type]
    watched = {(informer.resource.group, informer.resource.plural) for informer in manager.informers.values()}
    assert {(*resource, verb) for resource in watched for verb in READ} <= granted()


def test_a_wildcard_cannot_be_added():
    """Not as a verb of extraRules."""
    extra = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]
    assert "rbac.extraRules.0.verbs" in refusal({"rbac.extraRules": extra})


def test_digests_can_be_required():
    """Then every image has one, or nothing is rendered and the error names each image without one."""
    reported = refusal(
        {"imagePolicy.requireDigest": True, "runner.image.repository": "registry.example/runner"}
    )
    assert "controllers.image is" in reported
    assert "runner.image is registry.example/runner" in reported
    assert "without a digest" in refusal(files=("values-prod.yaml",))
    assert rendered(DIGEST, files=("values-prod.yaml",))


def test_checkov_reports_only_listed_exceptions():
    """No failures on the default rendering; scripts/agents/checkov-skips.yaml lists the exceptions with reasons."""
    if not (os.environ.get("CHECKOV") or shutil.which("checkov")):
        pytest.skip("no checkov: install it into its own environment and set CHECKOV")
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts/agents/checkov"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " 0 failed," in ran.stdout
