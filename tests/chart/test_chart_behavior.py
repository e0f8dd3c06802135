"""Every mapped value changes the behavior of the controllers, not only their environment.

Each value is flipped in the chart. Processes with the rendered environment are compared with processes that have the
defaults; admission limits and lists are compared by the decision they change.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chart_render import container, environment, rendered
from test_chart_environment import MAPPED

from contract.engine.engine_api import Api
from contract.engine.engine_beds import install_kinds
from jangar.domain.policies.admit import Admitted, LiveRun, Observation, WaitingRun, admit
from jangar.domain.policies.request import RunRequest, SecretUse
from jangar.domain.policies.verdicts import Allow, Hold
from jangar.settings.controllers import admission_policy, controller_settings
from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Ended, RunRow
from jangar.store.urls import SqliteFile
from support.api_servers import EmbeddedApiServer, wait_for
from support.child_processes import Child, free_port
from support.kube_http import HttpClient

JANGAR = Path(sys.executable).with_name("jangar")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
WITHOUT = {
    "controller.leaderElection.renewDeadlineSeconds": "only a holder that is cut off shows it: tests/unit/kube",
    "controller.leaderElection.retryPeriodSeconds": "a rhythm of renewals: tests/unit/kube",
}
"""Rows that no object shows."""


def rendered_environment(values: dict[str, Any], namespace: str = "agents") -> dict[str, str]:
    deployment = rendered(values, namespace=namespace).one("Deployment", "agents-controllers")
    return {k: v for k, v in environment(container(deployment)).items() if isinstance(v, str)}


# Decisions about a set of AgentRuns.

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def crowd(**more: Any) -> Observation:
    """Two live runs, one admitted 40 s ago, and three waiting runs."""
    ask = RunRequest(
        agent="a",
        labels=("team",),
        images=("busybox:1.37",),
        secrets=(SecretUse("token", "the run"),),
        bound_secrets=frozenset({"token"}),
        repositories=("team/repo",),
        **more,
    )
    return Observation(
        live=[LiveRun(namespace="agents", agent="a")] * 2,
        admitted=[Admitted(namespace="agents", repository="team/repo", at=NOW - timedelta(seconds=40))],
        waiting=[
            WaitingRun(
                uid=f"{n}",
                namespace="agents",
                name=f"r{n}",
                created_at=NOW - timedelta(seconds=9 - n),
                request=ask,
            )
            for n in range(3)
        ],
    )


def verdicts(values: dict[str, Any], **more: Any) -> list[str]:
    policy = admission_policy(controller_settings(rendered_environment(values)))
    reported = admit(crowd(**more), policy, NOW)
    return [_word(reported[f"{n}"]) for n in range(3)]


def _word(verdict: Any) -> str:
    match verdict:
        case Allow():
            return "starts"
        case Hold(position=position):
            return f"{verdict.reason} {'in the queue' if position else 'outside of it'}"
    return str(verdict.reason)


BUSY = {"controller.concurrency.perAgent": 2}
ADMISSION: list[tuple[str, Any, dict[str, Any]]] = [
    ("controller.concurrency.perAgent", 3, {}),
    ("controller.concurrency.perNamespace", 3, {}),
    ("controller.concurrency.cluster", 3, {}),
    ("controller.queue.perNamespace", 1, BUSY),
    ("controller.queue.perRepo", 1, BUSY),
    ("controller.queue.cluster", 1, BUSY),
    ("controller.rate.perNamespace", 2, {}),
    ("controller.rate.perRepo", 2, {}),
    ("controller.rate.cluster", 2, {}),
    ("controller.rate.windowSeconds", 30, {"controller.rate.perNamespace": 2}),
    ("controller.admissionPolicy.labels.required", ["owner"], {}),
    ("controller.admissionPolicy.labels.allowed", ["owner"], {}),
    ("controller.admissionPolicy.labels.denied", ["team"], {}),
    ("controller.admissionPolicy.images.allowed", ["registry.example/*"], {}),
    ("controller.admissionPolicy.images.denied", ["busybox"], {}),
    ("controller.admissionPolicy.secrets.blocked", ["token"], {}),
]


@pytest.mark.rule("CHART-6")
@pytest.mark.parametrize(("value", "flipped", "world"), ADMISSION, ids=[item[0] for item in ADMISSION])
def test_a_limit_or_list_changes_which_runs_start(value, flipped, world):
    """The same runs are decided with the default and with the flipped value."""
    assert verdicts(world) != verdicts(world | {value: flipped})


PODS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("controller.admissionPolicy.serviceAccounts.allowed", ["other"], {"service_account": "worker"}),
    ("controller.admissionPolicy.priorityClasses.allowed", ["high"], {"priority_class": "low"}),
    ("controller.admissionPolicy.tolerations.allowed", ["gpu"], {"tolerations": ("gpu=*:*",)}),
    ("controller.admissionPolicy.nodeSelectors.allowed", ["disk=fast"], {"node_labels": ("disk=fast",)}),
    ("controller.admissionPolicy.runtimeClasses.allowed", ["gvisor"], {"runtime_class": "gvisor"}),
    ("controller.admissionPolicy.tokenAudiences.allowed", ["vault"], {"token_audiences": ("vault",)}),
    (
        "controller.admissionPolicy.providerHosts.allowed",
        ["ghe.example"],
        {"sign_in_addresses": ("https://ghe.example/api/v3",)},
    ),
]


@pytest.mark.rule("CHART-6")
@pytest.mark.parametrize(("value", "flipped", "pod_fields"), PODS, ids=[pod[0] for pod in PODS])
def test_a_list_changes_which_pods_runs_may_have(value, flipped, pod_fields):
    """E7, E14: the same runs are decided with the default and with the flipped value."""
    assert verdicts({}, **pod_fields) != verdicts({value: flipped}, **pod_fields)


@pytest.mark.rule("CHART-6")
def test_a_configured_limit_counts_tool_runs_unless_the_operator_opts_out():
    """E9: the defaults are for agents; an explicitly set limit applies to every run."""

    def counts(values: dict[str, Any]) -> bool:
        return admission_policy(controller_settings(rendered_environment(values))).counts_tool_runs

    chosen = {"controller.concurrency.perNamespace": 3}
    assert [counts({}), counts(chosen)] == [False, True]
    assert not counts(chosen | {"controller.admissionPolicy.toolRunLimits": "never"})
    assert counts({"controller.admissionPolicy.toolRunLimits": "always"})


@pytest.mark.rule("CHART-7")
def test_no_run_may_use_the_service_accounts_of_the_release():
    """E7: the chart passes their names to the processes, and admission rejects them in the release's namespace."""
    for account in ("agents-controllers", "agents-sa"):
        reported = verdicts({}, service_account=account, namespace="agents")
        assert reported == ["ServiceAccountNotAllowed"] * 3, account


# What processes make of the same objects.

WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "work": {
        "controller.defaultWorkload.serviceAccountName": "worker",
        "controller.defaultWorkload.nodeSelector": {"disk": "fast"},
        "controller.defaultWorkload.tolerations": [{"key": "agents", "operator": "Exists"}],
        "controller.defaultWorkload.affinity": {"nodeAffinity": {}},
        "controller.defaultWorkload.topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
        "controller.defaultWorkload.podSecurityContext": {"runAsUser": 1000},
        "controller.defaultWorkload.imagePullSecrets": ["registry"],
        "controller.defaultWorkload.priorityClassName": "low",
        "controller.defaultWorkload.schedulerName": "other",
        "controller.defaultWorkload.resources": {"requests": {"cpu": "1"}},
        "runner.image": {"repository": "registry.example/runner", "tag": "v1"},
        "orchestrationController.cancel.timeoutMs": 5000,
        "controller.logRetentionSeconds": 77,
        "supportingController.shareProcessNamespace": False,
    },
    "kept": {
        "controller.agentRunRetentionSeconds": 1111,
        "controller.historyRetentionSeconds": 86400,
        "controller.jobTtlSecondsAfterFinished": 2222,
        "orchestrationController.retentionSeconds": 3333,
        "runtime.agentImage": "registry.example/agent:v1",
        "controller.leaderElection.leaseName": "other-name",
        "controller.leaderElection.leaseNamespace": "leases",
        "controller.leaderElection.leaseDurationSeconds": 40,
        "controller.shards": 5,
        "metrics.path": "/elsewhere",
    },
    "less": {
        "controller.enabled": False,
        "orchestrationController.cancel.enabled": False,
        "controller.leaderElection.enabled": False,
        "controllers.deploymentStrategy.type": "Recreate",
        "metrics.enabled": False,
    },
    "no-runs": {"orchestrationController.enabled": False},
    "no-tools": {"supportingController.enabled": False},
    "elsewhere": {
        "controller.namespaces": ["other-a"],
        "orchestrationController.namespaces": ["other-b"],
        "supportingController.namespaces": ["other-c"],
    },
}
DEFINITIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("AgentProvider", "p", {"binary": "sh", "argsTemplate": ["-c", "true"]}),
    ("Agent", "a", {"providerRef": {"name": "p"}, "defaults": {"timeoutSeconds": 100}}),
    ("Tool", "t", {"image": "busybox:1.37", "command": ["true"]}),
]
STEP = {"name": "s", "kind": "ToolRun", "toolRef": {"name": "t"}}
AGENT_RUN = {
    "agentRef": {"name": "a"},
    "implementation": {"inline": {"text": "x"}},
    "runtime": {"type": "job"},
}
WORK: list[tuple[str, str, dict[str, Any]]] = [
    ("AgentRun", "goes", AGENT_RUN),
    ("AgentRun", "ended", AGENT_RUN | {"cancel": True}),
    ("OrchestrationRun", "ended", {"cancel": True, "orchestration": {"steps": [STEP]}}),
    ("ToolRun", "ended", {"toolRef": {"name": "t"}, "cancel": True}),
    ("ToolRun", "goes", {"toolRef": {"name": "t"}}),
]


OLD = Ended(
    run=RunRow(
        uid="long-ago",
        kind="OrchestrationRun",
        namespace="elsewhere",
        name="long-ago",
        version=1,
        phase="Succeeded",
        created_at=NOW,
        finished_at=NOW,
        updated_at=NOW,
        root_uid="long-ago",
    )
)
"""A stored run in each database."""


async def _store(path: Path) -> None:
    history = DatabaseHistory(SqliteFile(path))
    await history.store([OLD])
    await history.close()


async def _stored(path: Path, uid: str) -> bool:
    history = DatabaseHistory(SqliteFile(path), read_only=True)
    stored = await history.run(uid)
    await history.close()
    return stored is not None


@dataclass(frozen=True)
class World:
    """A namespace with running controllers."""

    api: Api
    client: HttpClient
    metrics: HttpClient
    history: Path

    def has_old_history(self) -> bool:
        """Whether the run that ended long ago is still stored."""
        return asyncio.run(_stored(self.history, OLD.run.uid))

    def job(self) -> Any:
        (stored,) = [
            item
            for item in self.api.all("Job")
            if "agents.proompteng.ai/agent-run" in item["metadata"]["labels"]
        ]
        return stored["spec"]

    def tool_pod(self) -> Any:
        job = self.status("ToolRun", "goes")["job"]["name"]
        return self.api.get("Job", job)["spec"]["template"]["spec"]

    def pod(self) -> Any:
        return self.job()["template"]["spec"]

    def runner(self) -> Any:
        files = [item.get("data") or {} for item in self.api.all("ConfigMap")]
        (stored,) = [file["agent-runner.json"] for file in files if "agent-runner.json" in file]
        return json.loads(stored)

    def status(self, kind: str, name: str = "ended") -> Any:
        return self.api.get(kind, name).get("status") or {}

    def leases(self) -> dict[str, Any]:
        """The leases of this world in any namespace."""
        return self.leases_in(self.api.namespace) or self.leases_in("leases")

    def leases_in(self, namespace: str) -> dict[str, Any]:
        answer = self.client.request("GET", LEASES.format(namespace))
        return {item["metadata"]["name"]: item for item in answer.body["items"]}

    def conditions(self, kind: str) -> dict[str, str]:
        return {
            condition["type"]: condition["status"] for condition in self.status(kind).get("conditions", ())
        }


@pytest.fixture(scope="module")
def worlds(tmp_path_factory) -> Iterator[dict[str, World]]:
    """All worlds on one API server with the same objects, each with controllers configured as in its pod."""
    server, home = EmbeddedApiServer(), tmp_path_factory.mktemp("behavior")
    running: list[Child] = []
    clients: list[HttpClient] = []
    made: dict[str, World] = {}
    try:
        install_kinds(server)
        Api(server_client := server.client()).create("Namespace", "leases")
        clients.append(server_client)
        for name in (*WORLDS, "other-a", "other-b", "other-c"):
            clients.append(server.client())
            Api(clients[-1]).create("Namespace", name)
            api, health = Api(clients[-1], name), f"127.0.0.1:{free_port()}"
            for kind, item, spec in (*DEFINITIONS, *WORK):
                api.create(kind, item, spec)
            clients.append(HttpClient(url=f"http://{health}"))
            made[name] = World(api, *clients[-2:], home / f"{name}.sqlite")
            if name in WORLDS:
                reported = rendered_environment(WORLDS[name], namespace=name)
                reported |= {"JANGAR_POD_NAMESPACE": name, "JANGAR_HEALTH_ADDRESS": health}
                if name in ("plain", "kept"):
                    asyncio.run(_store(made[name].history))
                    reported["DATABASE_URL"] = f"sqlite:///{made[name].history}"
                command = [JANGAR, "controllers", "--kubeconfig", server.kubeconfig]
                running.append(Child(name, command, home, env=reported))
        _await_work(made)
        yield made
    finally:
        for item in running:
            item.stop()
        for client in clients:
            client.close()
        server.stop()


def _await_work(made: dict[str, World]) -> None:
    """Wait until every world has finished its work, so that missing effects are meaningful."""

    def has_ended(name: str, kind: str) -> bool:
        return bool(made[name].status(kind).get("finishedAt"))

    for name in ("plain", "work", "kept"):
        wait_for(lambda name=name: len(made[name].api.all("Job")) > 1, what=f"two Jobs in {name}", seconds=90)
    done = {
        "plain": ("AgentRun", "OrchestrationRun", "ToolRun"),
        "kept": ("AgentRun", "OrchestrationRun"),
        "no-runs": ("AgentRun", "ToolRun"),
        "no-tools": ("AgentRun", "OrchestrationRun"),
        "other-a": ("AgentRun",),
        "other-b": ("OrchestrationRun",),
        "other-c": ("ToolRun",),
    }
    for name, kinds in done.items():
        for kind in kinds:
            wait_for(
                lambda name=name, kind=kind: has_ended(name, kind),
                what=f"an end of {kind} in {name}",
                seconds=90,
            )
    wait_for(lambda: not made["kept"].has_old_history(), what="the deletion of old history", seconds=90)
    wait_for(
        lambda: made["less"].conditions("OrchestrationRun").get("CancelIgnored"), what="a message", seconds=90
    )


def image(world: World) -> str:
    return str(world.pod()["containers"][0]["image"])


def is_acted_on(kind: str) -> Callable[[World], bool]:
    return lambda world: bool(world.status(kind))


SHOWN: dict[str, tuple[str, Callable[[World], Any]]] = {
    **{
        f"controller.defaultWorkload.{value}": ("work", lambda world, field=field: world.pod().get(field))
        for value, field in {
            "serviceAccountName": "serviceAccountName",
            "nodeSelector": "nodeSelector",
            "tolerations": "tolerations",
            "affinity": "affinity",
            "topologySpreadConstraints": "topologySpreadConstraints",
            "podSecurityContext": "securityContext",
            "imagePullSecrets": "imagePullSecrets",
            "priorityClassName": "priorityClassName",
            "schedulerName": "schedulerName",
        }.items()
    },
    "controller.defaultWorkload.resources": (
        "work",
        lambda world: world.pod()["containers"][0].get("resources"),
    ),
    "runner.image": ("work", image),
    "runtime.agentImage": ("kept", image),
    "orchestrationController.cancel.timeoutMs": ("work", lambda world: world.job()["activeDeadlineSeconds"]),
    "controller.logRetentionSeconds": (
        "work",
        lambda world: world.runner()["artifacts"]["logRetentionSeconds"],
    ),
    "controller.agentRunRetentionSeconds": (
        "kept",
        lambda world: world.status("AgentRun")["retention"]["runRetentionSeconds"],
    ),
    "controller.historyRetentionSeconds": ("kept", World.has_old_history),
    "controller.jobTtlSecondsAfterFinished": (
        "kept",
        lambda world: world.status("OrchestrationRun")["retention"]["jobTtlSeconds"],
    ),
    "orchestrationController.retentionSeconds": (
        "kept",
        lambda world: world.status("OrchestrationRun")["retention"]["runRetentionSeconds"],
    ),
    "controller.leaderElection.leaseName": (
        "kept",
        lambda world: "agents-controller-leader" in world.leases(),
    ),
    "controller.leaderElection.leaseNamespace": (
        "kept",
        lambda world: bool(world.leases_in(world.api.namespace)),
    ),
    "controller.leaderElection.leaseDurationSeconds": (
        "kept",
        lambda world: {
            lease["spec"]["leaseDurationSeconds"]
            for lease in world.leases().values()
            if "-shard-" in lease["metadata"]["name"]
        },
    ),
    "controller.shards": (
        "kept",
        lambda world: sum("-shard-" in name for name in world.leases()),
    ),
    "metrics.path": ("kept", lambda world: world.metrics.request("GET", "/metrics").status),
    "metrics.enabled": ("less", lambda world: world.metrics.request("GET", "/metrics").status),
    "controller.leaderElection.enabled": ("less", lambda world: bool(world.leases_in(world.api.namespace))),
    "orchestrationController.cancel.enabled": (
        "less",
        lambda world: world.status("OrchestrationRun")["phase"],
    ),
    "controller.enabled": ("less", is_acted_on("AgentRun")),
    "orchestrationController.enabled": ("no-runs", is_acted_on("OrchestrationRun")),
    "supportingController.shareProcessNamespace": (
        "work",
        lambda world: world.tool_pod().get("shareProcessNamespace"),
    ),
    "supportingController.enabled": ("no-tools", is_acted_on("ToolRun")),
    "controller.namespaces": ("elsewhere", is_acted_on("AgentRun")),
    "orchestrationController.namespaces": ("elsewhere", is_acted_on("OrchestrationRun")),
    "supportingController.namespaces": ("elsewhere", is_acted_on("ToolRun")),
}
"""The world in which each value is flipped, and the effect that shows it."""


@pytest.mark.rule("CHART-6")
@pytest.mark.parametrize("value", SHOWN)
def test_a_value_changes_what_the_controllers_do(worlds, value):
    """The effect is visible in written objects or in responses."""
    flipped, shown = SHOWN[value]
    assert value in WORLDS[flipped], "the world does not flip it"
    assert shown(worlds[flipped]) != shown(worlds["plain"])


@pytest.mark.rule("CHART-6")
def test_every_mapped_value_has_a_demonstrated_effect():
    """A new row needs a world here, a decision, or a reason why nothing can show it."""
    decided = {value for value, _, _ in (*ADMISSION, *PODS)} | {"controller.admissionPolicy.toolRunLimits"}
    covered = {*SHOWN, *WITHOUT, *decided}
    assert {
        row.helm_value for row in MAPPED if "controllers" in row.processes and not row.is_secret
    } == covered
