"""The chart on API servers: its objects are accepted, Helm installs it, and its permissions suffice."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_render import CHART, Objects, Ran, container, environment, nested, rendered, run_helm

from contract.engine.kubelet_thread import KubeletThread
from e2e.kubectl_command import Kubectl, install_own_kinds, kubectl_binary
from support.api_servers import CONTROLLERS, ApiServer, EmbeddedApiServer, RealApiServer, wait_for
from support.child_processes import Child, free_port
from support.envtest import missing_parts

JANGAR = Path(sys.executable).with_name("jangar")
DIGEST = {"image.digest": "sha256:" + "0" * 64}
NO_HOOK = {"uninstall.releaseFinalizers": False}
"""Hooks are disabled: nothing runs pods here."""
FOREIGN = {
    "argoproj.io": ("v1alpha1", {"Rollout": "rollouts", "AnalysisTemplate": "analysistemplates"}),
    "monitoring.coreos.com": (
        "v1",
        {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"},
    ),
}
RESTRICTED = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/warn": "restricted",
}
JOBS = ("job-controller", "root-ca-certificate-publisher-controller")


@dataclass(frozen=True)
class Installation:
    server: ApiServer
    kubectl: Kubectl
    home: Path

    def helm(self, *words: str, values: dict[str, Any] | None = None) -> Ran:
        arguments = [*words, *(("--values", "-") if values is not None else ())]
        return run_helm(
            *arguments,
            environment={"KUBECONFIG": str(self.server.kubeconfig)},
            stdin=json.dumps(nested(values or {})),
        )

    def deploy(self, namespace: str, values: dict[str, Any]) -> Ran:
        return self.helm(
            "upgrade",
            "--install",
            "agents",
            str(CHART),
            "--namespace",
            namespace,
            "--skip-crds",
            values=NO_HOOK | values,
        )

    def namespace(self, name: str) -> str:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": RESTRICTED}}
        self.kubectl("apply -f -", body)
        return name

    def account_kubeconfig(self, namespace: str, name: str) -> Path:
        """The same server, accessed as a service account."""
        token = self.kubectl(f"create token {name} -n {namespace}").strip()
        config = yaml.safe_load(self.server.kubeconfig.read_text())
        config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
        for context in config["contexts"]:
            context["context"]["namespace"] = namespace
        path = self.home / f"{namespace}-{name}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path


def foreign_kinds() -> list[dict[str, Any]]:
    """CRDs of other products with open schemas."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {
                    "kind": kind,
                    "plural": plural,
                    "singular": kind.lower(),
                    "listKind": f"{kind}List",
                },
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": open_schema},
                    }
                ],
            },
        }
        for group, (version, kinds) in FOREIGN.items()
        for kind, plural in kinds.items()
    ]


@pytest.fixture(scope="module", params=["embedded", "real"])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    binary = kubectl_binary()
    if binary is None:
        pytest.skip("no kubectl: run scripts/envtest/build kubectl, or set KUBEBUILDER_ASSETS")
    if request.param == "real" and (missing := missing_parts()):
        pytest.skip(f"no real API server ({', '.join(missing)} missing): run scripts/envtest/build")
    server = RealApiServer() if request.param == "real" else EmbeddedApiServer()
    home = Path(tempfile.mkdtemp(prefix="jangar-chart-"))
    try:
        kubectl = Kubectl(server=server, binary=binary, home=home)
        install_own_kinds(kubectl)
        server.start_controllers((*CONTROLLERS, *JOBS))
        yield Installation(server, kubectl, home)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def with_rollouts(installation: Installation) -> None:
    installation.kubectl("apply --server-side -f -", foreign_kinds())
    plurals = [f"{plural}.{group}" for group, (_, kinds) in FOREIGN.items() for plural in kinds.values()]
    wait_for(lambda: installation.kubectl.run(f"get {','.join(plurals)}").code == 0, what="the foreign kinds")


@pytest.mark.rule("CHART-3", "CHART-7")
def test_a_release_works_under_the_strictest_pod_security(installation):
    """Install, upgrade, roll back, uninstall: the API server accepts every object without warnings."""
    namespace = installation.namespace("strict")
    for values in ({}, {"controllers.enabled": False}, {"controllers.replicaCount": 2}):
        ran = installation.deploy(namespace, values)
        assert ran.code == 0, ran.err
        assert "would violate PodSecurity" not in ran.err
    assert (
        installation.kubectl.json(f"get deployment agents-controllers -n {namespace}")["spec"]["replicas"]
        == 2
    )
    assert installation.helm("rollback", "agents", "1", "--namespace", namespace).code == 0
    assert (
        installation.kubectl.json(f"get deployment agents-controllers -n {namespace}")["spec"]["replicas"]
        == 1
    )
    refused = installation.deploy(namespace, {"progressiveDelivery.enabled": True})
    assert refused.code != 0
    assert "does not serve argoproj.io/v1alpha1 Rollout" in refused.err
    assert installation.helm("uninstall", "agents", "--namespace", namespace).code == 0
    left = installation.kubectl(
        f"get deployments,services,roles,networkpolicies -n {namespace} -o name"
    ).split()
    assert left == []


@pytest.mark.parametrize("preset", ["values.yaml", "values-dev.yaml", "values-kind.yaml", "values-prod.yaml"])
def test_the_api_server_knows_every_field_of_every_preset(installation, preset):
    """A strict dry run of everything that can be rendered: unknown and duplicate fields are errors."""
    with_rollouts(installation)
    namespace = installation.namespace("dry")
    everything = DIGEST | {
        "crds.upgrade.enabled": True,
        "progressiveDelivery": {"enabled": True, "analysis": {"enabled": True}, "migration": "sideBySide"},
        "autoscaling.enabled": True,
        "controllers.autoscaling.enabled": True,
        "versionControlProvider.enabled": True,
        "resourceQuota": {"enabled": True, "hard": {"pods": "10"}},
        "limitRange": {"enabled": True, "limits": [{"type": "Container", "default": {"cpu": "1"}}]},
        "database.url": "postgresql://db/x",
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    }
    objects = rendered(everything, files=(preset,), namespace=namespace)
    # A pod is rejected without its account, even in a dry run.
    installation.kubectl.within(namespace)("apply -f -", list(objects.of("ServiceAccount").values()))
    ran = installation.kubectl.within(namespace).run(
        "apply --dry-run=server --validate=strict -f -", list(objects.all)
    )
    assert ran.code == 0, ran.err
    assert "would violate PodSecurity" not in ran.err


def kinds_of(installation: Installation, namespace: str) -> dict[str, int]:
    replicas = {}
    for kind in ("deployments", "rollouts"):
        for item in installation.kubectl.json(f"get {kind} -n {namespace}")["items"]:
            replicas[item["kind"]] = item["spec"].get("replicas", 1)
    return replicas


@pytest.mark.rule("CHART-1")
def test_the_workload_kind_changes_only_in_steps(installation):
    """A single step would leave a moment without controllers: it is rejected with instructions, in both directions."""
    with_rollouts(installation)
    namespace = installation.namespace("moving")
    base = {"controlPlane.enabled": False}
    on = base | {"progressiveDelivery.enabled": True}
    assert installation.deploy(namespace, base).code == 0
    refused = installation.deploy(namespace, on)
    assert "Upgrade with progressiveDelivery.migration=sideBySide" in refused.err
    steps = []
    for values in (
        on | {"progressiveDelivery.migration": "sideBySide"},
        on | {"progressiveDelivery.migration": "cutover"},
        on,
        on | {"progressiveDelivery.migration": "sideBySide"},
        base | {"progressiveDelivery.migration": "cutover"},
        base,
    ):
        ran = installation.deploy(namespace, values)
        assert ran.code == 0, ran.err
        steps.append(kinds_of(installation, namespace))
    assert steps == [
        {"Deployment": 1, "Rollout": 1},
        {"Deployment": 0, "Rollout": 1},
        {"Rollout": 1},
        {"Deployment": 1, "Rollout": 1},
        {"Deployment": 1, "Rollout": 0},
        {"Deployment": 1},
    ]
    assert installation.deploy(namespace, on | {"progressiveDelivery.skipMigrationCheck": True}).code == 0


def test_the_notes_describe_the_next_steps(installation):
    """How to watch, how to promote, the share of a canary, and values without effect."""
    with_rollouts(installation)
    namespace = installation.namespace("notes")
    ran = installation.deploy(
        namespace, {"progressiveDelivery.enabled": True, "controllers.replicaCount": 4, "grpc.enabled": True}
    )
    assert ran.code == 0, ran.err
    for words in (
        "kubectl argo rollouts -n notes promote agents-controllers",
        "kubectl -n notes rollout status deployment/agents",
        "The share of a canary depends on its pods, not its weight",
        "1/5 of the objects",
        "NOT IMPLEMENTED, values without effect: grpc.enabled.",
        "No database is configured: history is disabled",
    ):
        assert words in ran.out


def as_a_pod_would(objects: Objects, component: str, namespace: str) -> dict[str, str]:
    """The environment of a container with the values that a kubelet fills in."""
    variables = environment(container(objects.one("Deployment", component)))
    texts = {name: value for name, value in variables.items() if isinstance(value, str)}
    return texts | {"JANGAR_POD_NAMESPACE": namespace, "JANGAR_HEALTH_ADDRESS": f"127.0.0.1:{free_port()}"}


RUN = """\
apiVersion: tools.proompteng.ai/v1alpha1
kind: Tool
metadata: {name: say}
spec: {image: "busybox:1.37", command: [sh, -c, 'echo "{\\"word\\": \\"done\\"}" > "$JANGAR_RESULT_PATH"']}
---
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: OrchestrationRun
metadata: {name: NAME}
spec:
  orchestration:
    steps:
      - {name: one, kind: ToolRun, toolRef: {name: say}, outputs: [{name: word}]}
      - {name: two, kind: ToolRun, toolRef: {name: say}}
"""


@pytest.mark.rule("CHART-7")
def test_the_permissions_of_the_chart_are_enough_for_the_controllers(installation):
    """With exactly the account, Role and environment of the chart, a run succeeds, one is cancelled and one is
    deleted; no request is forbidden.
    """
    if installation.server.name != "real":
        pytest.skip("a kubelet runs pods of a real API server; the engine's own tests cover the embedded one")
    namespace = installation.namespace("rights")
    values = {
        "controller.leaderElection": {
            "leaseDurationSeconds": 5,
            "renewDeadlineSeconds": 4,
            "retryPeriodSeconds": 1,
        },
        "controller.agentRunRetentionSeconds": 5,
    }
    assert installation.deploy(namespace, values).code == 0
    environ = as_a_pod_would(rendered(values, namespace=namespace), "agents-controllers", namespace)
    kubeconfig = installation.account_kubeconfig(namespace, "agents-controllers")
    k = installation.kubectl.within(namespace)
    kubelet = KubeletThread(installation.server.kubeconfig)
    controllers = Child(
        "controllers", [JANGAR, "controllers", "--kubeconfig", kubeconfig], installation.home, env=environ
    )
    try:
        documents = list(yaml.safe_load_all(RUN.replace("NAME", "done")))
        k("apply -f -", documents)
        k("wait orun/done --for=condition=Succeeded --timeout=50s")
        slow = [
            documents[0]
            | {"metadata": {"name": "slow"}, "spec": {"image": "busybox:1.37", "command": ["sleep", "300"]}},
            documents[1]
            | {
                "metadata": {"name": "stopped"},
                "spec": {
                    "orchestration": {
                        "steps": [{"name": "one", "kind": "ToolRun", "toolRef": {"name": "slow"}}]
                    }
                },
            },
        ]
        k("apply -f -", slow)
        wait_for(
            lambda: k("get jobs -l jangar.proompteng.ai/step=one -o name").count("job") >= 1, what="a Job"
        )
        k('patch orun stopped --type=merge -p \'{"spec":{"cancel":true}}\'')
        k("wait orun/stopped --for=condition=Cancelled --timeout=50s")
        k("delete orun stopped --timeout=50s")
        wait_for(
            lambda: not k("get orun done --ignore-not-found"),
            what="that retention deletes the run",
            seconds=60,
        )
        assert k("get events -o name").strip()
        assert "orbidden" not in controllers.last_output()
        assert not controllers.has_ended
    finally:
        controllers.stop()
        kubelet.stop()


@pytest.mark.rule("GC-7")
def test_the_script_of_the_uninstall_hook_stops_the_controllers(installation):
    """With the hook's account: the workload is scaled to 0, its pods are awaited, and running it again has the same
    result.
    """
    if installation.server.name != "real":
        pytest.skip("the embedded server runs no Deployments, and has no scale of them")
    namespace = installation.namespace("going")
    assert installation.deploy(namespace, {"controllers.replicaCount": 2}).code == 0
    hook = [
        item
        for item in rendered(namespace=namespace).all
        if item["metadata"]["name"].startswith("agents-uninstall") and item["kind"] != "Job"
    ]
    installation.kubectl.within(namespace)("apply -f -", hook)
    account = installation.home / "account"
    account.mkdir(exist_ok=True)
    (account / "token").write_text(
        installation.kubectl(f"create token agents-uninstall -n {namespace}").strip()
    )
    if installation.server.ca is not None:
        shutil.copy(installation.server.ca, account / "ca.crt")
    labels = {"app.kubernetes.io/name": "agents-controllers", "app.kubernetes.io/instance": "agents"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "left", "namespace": namespace, "labels": labels},
        "spec": rendered(namespace=namespace).one("Deployment", "agents-controllers")["spec"]["template"][
            "spec"
        ]
        | {"serviceAccountName": "default"},
    }
    wait_for(
        lambda: installation.kubectl(f"get serviceaccount default -n {namespace} --ignore-not-found"),
        what="an account",
    )
    installation.kubectl.within(namespace)("create -f -", pod)
    command = [sys.executable, CHART / "files/stop-controllers.py", "--namespace", namespace]
    command += ["--name", "agents-controllers", "--account", account, "--server", installation.server.url]
    command += ["--selector", ",".join(f"{key}={value}" for key, value in labels.items())]
    waiting = _ran([*command, "--seconds", "1"])
    assert waiting.returncode == 1
    assert "still there after 1 s: left" in waiting.stderr
    assert (
        installation.kubectl.json(f"get deployment agents-controllers -n {namespace}")["spec"]["replicas"]
        == 0
    )
    installation.kubectl(f"delete pod left -n {namespace} --force --grace-period=0")
    done = _ran(command)
    assert done.returncode == 0, done.stderr
    assert "no pod of agents-controllers is left" in done.stdout


def _ran(command: list[Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
    )


def test_the_hook_upgrades_crds_with_its_own_permissions(installation):
    """An old CRD is updated, a missing one is created, and no other CRD may be changed."""
    namespace = installation.namespace("kinds")
    hook = [
        item
        for item in rendered({"crds.upgrade.enabled": True}, namespace=namespace).all
        if item["metadata"]["name"].endswith("agents-crds") and item["kind"] != "Job"
    ]
    installation.kubectl.within(namespace)("apply -f -", hook)
    old, gone = "signals.signals.proompteng.ai", "swarms.swarm.proompteng.ai"
    installation.kubectl(
        f'patch crd {old} --type=json -p \'[{{"op":"remove","path":"/spec/names/categories"}}]\''
    )
    installation.kubectl(f"delete crd {gone}")
    kubeconfig = installation.account_kubeconfig(namespace, "agents-crds")
    ran = _ran([JANGAR, "crds", "install", "--kubeconfig", kubeconfig])
    assert ran.returncode == 0, ran.stderr
    assert f"{gone} created" in ran.stdout
    assert installation.kubectl.json(f"get crd {old}")["spec"]["names"]["categories"] == ["jangar"]
    again = _ran([JANGAR, "crds", "install", "--kubeconfig", kubeconfig])
    assert all(line.endswith("unchanged") for line in again.stdout.splitlines()), again.stdout
    refused = installation.kubectl.run(f"--kubeconfig={kubeconfig} get crds")
    assert "forbidden" in refused.err
