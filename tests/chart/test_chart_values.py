"""values.yaml, its schema and the rendering: every value is described, validated and effective."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
import yaml
from chart_render import (
    CHART,
    ROOT,
    defaults,
    leaves,
    merged,
    nested,
    refusal,
    rendered,
    run_helm,
    schema,
    template,
)

import jangar

PRESETS = sorted(path.name for path in CHART.glob("values-*.yaml"))
WITHOUT_EFFECT = {
    "imagePolicy.requireDigest": "fails the rendering: test_chart_privileges.py",
    "progressiveDelivery.skipCrdCheck": "what is not rejected: test_chart_rollouts.py",
    "progressiveDelivery.skipMigrationCheck": "queries a live cluster: test_chart_installation.py",
}
"""Values that change nothing when flipped alone, and why."""
WORLD: dict[str, Any] = nested(
    {
        "progressiveDelivery.enabled": True,
        "progressiveDelivery.analysis.enabled": True,
        "progressiveDelivery.canaryMetadata": {"labels": {"role": "canary"}},
        "progressiveDelivery.stableMetadata": {"labels": {"role": "stable"}},
        "autoscaling.enabled": True,
        "controllers.autoscaling.enabled": True,
        "podDisruptionBudget.enabled": True,
        "controllers.podDisruptionBudget.enabled": True,
        "startupProbe.enabled": True,
        "metrics.serviceMonitor.enabled": True,
        "metrics.prometheusRule.enabled": True,
        "metrics.prometheusRule.runbookUrl": "https://example.com",
        "resourceQuota": {"enabled": True, "hard": {"pods": "10"}},
        "limitRange": {"enabled": True, "limits": [{"type": "Container"}]},
        "podSecurityAdmission": {"enabled": True, "createNamespace": True},
        "database.secretRef.name": "pg",
        "database.caSecret.name": "pg-ca",
        "runner.image.repository": "registry.example/runner",
        "runnerServiceAccount.rbac": {
            "create": True,
            "extraRules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        },
        "rolloutChecksums": {"enabled": True, "secrets": [{"name": "s", "checksum": "0" * 64}]},
        "versionControlProvider.enabled": True,
        "crds.upgrade.enabled": True,
        "tests.image.repository": "registry.example/step",
        "controlPlane.trustedProxy": {
            "userHeader": "X-User",
            "groupsHeader": "X-Groups",
            "groups": ["team-a"],
            "secretRef": {"name": "proxy"},
        },
    }
)
"""Values under which every other value has an effect."""
OTHER_WORLDS: dict[str, dict[str, Any]] = {
    "database.createSecret.enabled": nested({"database.url": "postgresql://db/x"}),
    "database.createSecret": nested(
        {
            "database.url": "postgresql://db/x",
            "database.secretRef.name": "",
            "database.createSecret.enabled": True,
        }
    ),
    "database.url": nested({"database.secretRef.name": ""}),
    "replicaCount": nested({"autoscaling.enabled": False}),
    "controlPlane.replicaCount": nested({"autoscaling.enabled": False}),
    "controllers.replicaCount": nested({"controllers.autoscaling.enabled": False}),
    "deploymentStrategy": nested({"progressiveDelivery.enabled": False}),
    "controllers.deploymentStrategy": nested({"progressiveDelivery.enabled": False}),
    "controllers.enabled": nested({"progressiveDelivery.enabled": False}),
    "rolloutChecksums.enabled": {},
    "runtime.agentImage": {},
    "serviceAccount.name": {},
    "podDisruptionBudget.minAvailable": {},
    "controllers.podDisruptionBudget.minAvailable": {},
    "podDisruptionBudget.maxUnavailable": nested(
        {"podDisruptionBudget.minAvailable": "", "podDisruptionBudget.maxUnavailable": 1}
    ),
    "controllers.podDisruptionBudget.maxUnavailable": nested(
        {
            "controllers.podDisruptionBudget.minAvailable": "",
            "controllers.podDisruptionBudget.maxUnavailable": 1,
        }
    ),
    "database.secretRef.key": {},
    "image.tag": {},
    "controller.leaderElection.enabled": nested(
        {
            "progressiveDelivery.enabled": False,
            "controllers.autoscaling.enabled": False,
            "controllers.deploymentStrategy.type": "Recreate",
        }
    ),
    "progressiveDelivery.components": nested({"autoscaling.enabled": False}),
}
SAMPLES: dict[str, Any] = {
    "namespaceOverride": "elsewhere",
    "image.digest": "sha256:" + "1" * 64,
    "controlPlane.image.digest": "sha256:" + "1" * 64,
    "controllers.image.digest": "sha256:" + "1" * 64,
    "runner.image.digest": "sha256:" + "1" * 64,
    "tests.image.digest": "sha256:" + "1" * 64,
    "controllers.enabled": False,
    "controlPlane.enabled": False,
    "podDisruptionBudget.minAvailable": 0,
    "controllers.podDisruptionBudget.minAvailable": 0,
    "podDisruptionBudget.maxUnavailable": "50%",
    "controllers.podDisruptionBudget.maxUnavailable": "50%",
    "progressiveDelivery.canarySteps": [{"setWeight": 10}],
    "progressiveDelivery.maxUnavailable": "10%",
    "progressiveDelivery.maxSurge": "10%",
    "progressiveDelivery.migration": "sideBySide",
    "progressiveDelivery.canaryMetadata": {"labels": {"x": "y"}},
    "progressiveDelivery.stableMetadata": {"labels": {"x": "y"}},
    "progressiveDelivery.analysis.maxErrorRatio": 0.5,
    "progressiveDelivery.analysis.prometheusAddress": "http://other",
    "controller.leaderElection.retryPeriodSeconds": 6,
    "controller.leaderElection.renewDeadlineSeconds": 21,
    "deploymentStrategy.type": "Recreate",
    "deploymentStrategy.rollingUpdate.maxSurge": 2,
    "deploymentStrategy.rollingUpdate.maxUnavailable": 1,
    "controlPlane.deploymentStrategy": {"type": "Recreate"},
    "controllers.deploymentStrategy": {"type": "Recreate"},
    "controlPlane.deploymentLifecycle": {"minReadySeconds": 3},
    "controllers.deploymentLifecycle": {"minReadySeconds": 3},
    "controlPlane.terminationGracePeriodSeconds": 0,
    "controllers.terminationGracePeriodSeconds": 0,
    "kubernetesApi.port": 6444,
    "networkPolicy.policyTypes": ["Ingress"],
    "networkPolicy.kubernetesApiPorts": [7443],
    "networkPolicy.databasePort": 6543,
    "networkPolicy.runners.privateRanges": ["10.0.0.0/8"],
    "metrics.path": "/other",
    "env.vars": {"X": "y"},
    "env.secrets": [{"name": "X", "secretName": "s"}],
    "env.config": [{"name": "X", "configMapName": "c"}],
    "env.extra": [{"name": "X", "value": "y"}],
    "extraVolumes": [{"name": "v", "volume": {"emptyDir": {}}}],
    "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}],
    "extraObjects": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-x"}}
    ],
    "rolloutChecksums.configMaps": [{"name": "c", "checksum": "1" * 64}],
    "rolloutChecksums.secrets": [{"name": "c", "checksum": "1" * 64}],
    "rbac.clusterScoped": True,
    "database.url": "postgresql://db/y",
    "autoscaling.minReplicas": 2,
    "versionControlProvider.cloneProtocol": "ssh",
    "tests.timeoutSeconds": 7,
    "controller.jobTtlSecondsAfterFinished": 7,
    "controller.jobTtlSeconds": 7,
    "orchestrationController.retentionSeconds": 7,
    "controller.historyRetentionSeconds": 7,
    "controller.agentRunArtifacts.max": 7,
    "controller.vcsProviders.deprecatedTokenTypes.github": ["api_token"],
    "controller.vcsProviders.prRateLimits": {"github": {"maxRequests": 3}},
    "controller.repoConcurrency.overrides": {"team/repo": 3},
}


@cache
def not_built() -> frozenset[str]:
    return frozenset(load["value"] for load in json.loads((CHART / "files/not-built.json").read_text()))


def another(path: str, default: Any) -> Any:
    """A value of the same type that is not the default."""
    if path in SAMPLES:
        return SAMPLES[path]
    words = _allowed(path)
    if words:
        return next((word for word in words if word and word != default), default)
    match default:
        case bool():
            return not default
        case int() | float():
            return default + 1
        case None:
            return 5
        case str():
            return "otherword"
        case list():
            return _another_list(path, default)
        case dict():
            return _another_object(path, default)
    raise AssertionError(path)


def _another_list(path: str, default: list[Any]) -> list[Any]:
    last = path.rsplit(".", 1)[-1]
    if _node(path).get("items", {}).get("type") == "string":
        return [*default, "otherword"]
    if "Rules" in last:
        return [{"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}]
    if last == "namespaces":
        return ["team-a"]
    if "Secrets" in last or "Refs" in last:
        return ["otherword"]
    return [*default, {"key": "other"}]


def _another_object(path: str, default: dict[str, Any]) -> dict[str, Any]:
    last = path.rsplit(".", 1)[-1]
    if last.endswith("Probe"):
        return {"periodSeconds": 77}
    if last == "resources":
        return {"limits": {"memory": "3Gi"}}
    return {**default, "other": "word"}


def _node(path: str) -> dict[str, Any]:
    whole = schema()
    node = whole
    for key in path.split("."):
        for item in node.get("allOf", []):
            node = {**whole["definitions"][item["$ref"].rsplit("/", 1)[1]], **node}
        node = node.get("properties", {}).get(key, {})
    return node


def _allowed(path: str) -> list[Any]:
    return _node(path).get("enum", [])


def world_of(path: str) -> dict[str, Any]:
    for prefix, more in OTHER_WORLDS.items():
        if path == prefix or path.startswith(f"{prefix}."):
            return merged(WORLD, more)
    return WORLD


def text_of(tree: dict[str, Any]) -> str:
    ran = run_helm(
        "template", "agents", CHART, "--namespace", "agents", "--values", "-", stdin=json.dumps(tree)
    )
    assert ran.code == 0, f"{tree}\n{ran.err}"
    return ran.out


LEAVES = [
    (path, default)
    for path, default in leaves(defaults())
    if path not in WITHOUT_EFFECT and path not in not_built() and len(_allowed(path)) != 1
]
OPEN = (
    "securityContext.",
    "containerSecurityContext.",
    "resources.",
    "tests.resources.",
    "podSecurityAdmission.labels.",
)
"""The chart passes on everything below these unchanged."""


def value_in(tree: dict[str, Any], path: str, default: Any) -> Any:
    """A world's setting for a value, else its default."""
    node: Any = tree
    for key in path.split("."):
        if not isinstance(node, dict) or key not in node:
            return default
        node = node[key]
    return node


@pytest.fixture(scope="module")
def flipped() -> dict[str, tuple[str, str]]:
    """The rendering before and after each value is flipped, by its path."""
    chosen = [(path, default) for path, default in LEAVES if not path.startswith(OPEN)]
    worlds = {json.dumps(world_of(path)): world_of(path) for path, _ in chosen}
    with ThreadPoolExecutor(2) as pool:
        before = dict(zip(worlds, pool.map(text_of, worlds.values()), strict=True))
        trees = [
            merged(world_of(path), nested({path: another(path, value_in(world_of(path), path, default))}))
            for path, default in chosen
        ]
        after = list(pool.map(text_of, trees))
    return {
        path: (before[json.dumps(world_of(path))], text)
        for (path, _), text in zip(chosen, after, strict=True)
    }


@pytest.mark.rule("CHART-6")
def test_every_value_changes_something_or_is_listed_with_a_reason(flipped):
    """Flipped alone, every value changes the rendering."""
    dead = sorted(path for path, (before, after) in flipped.items() if before == after)
    assert dead == [], (
        "flip it in another world (OTHER_WORLDS), render it, or list it in charts/agents/not-built.yaml"
    )


@pytest.mark.rule("CHART-6")
def test_what_is_not_built_is_not_rendered():
    """Every value of the table may be set and changes nothing."""
    tree: dict[str, Any] = {}
    whole = defaults()
    for path, default in leaves(whole):
        if path in not_built():
            tree = merged(tree, nested({path: another(path, default)}))
    assert text_of(tree) == text_of({})


def test_every_value_is_described_and_checked():
    """The schema has the description that values.yaml has above the value; nothing else is allowed."""
    text = re.sub(r"\n\s*# ", " ", (CHART / "values.yaml").read_text())
    missing = []
    for path, _ in leaves(defaults()):
        keys = path.split(".")
        nodes = [_node(".".join(keys[: end + 1])) for end in range(len(keys))]
        described = [node["description"] for node in nodes if node.get("description")]
        if not described or described[-1] not in text:
            missing.append(path)
    assert missing == []


def test_unknown_values_are_rejected_by_name():
    """At the top level and in nested objects: a misspelled value is an error."""
    assert "Additional property controler is not allowed" in refusal({"controler": {}})
    assert "Additional property replicas is not allowed" in refusal({"controllers.replicas": 2})
    assert "Additional property perNamspace is not allowed" in refusal({"controller.queue.perNamspace": 2})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"controllers.replicaCount": -1}, "controllers.replicaCount", id="negative"),
        pytest.param({"controllers.replicaCount": "2"}, "Expected: integer, given: string", id="text"),
        pytest.param({"image.digest": "sha256:abc"}, "image.digest", id="digest"),
        pytest.param({"controller.namespaces": ["Team_A"]}, "controller.namespaces.0", id="namespace"),
        pytest.param(
            {"controller.agentRunRetentionSeconds": "soon"},
            "controller.agentRunRetentionSeconds",
            id="retention",
        ),
        pytest.param({"env.vars": {"A B": "x"}}, "env.vars", id="variable"),
        pytest.param(
            {"podDisruptionBudget": {"enabled": True, "maxUnavailable": 1}}, "set exactly one of", id="budget"
        ),
        pytest.param(
            {"controllers.autoscaling": {"enabled": True, "minReplicas": 9}},
            "minReplicas=9 is more than",
            id="autoscaler",
        ),
        pytest.param({"database.createSecret.enabled": True}, "needs database.url", id="secret"),
        pytest.param(
            {"deploymentLifecycle.minReadySeconds": 600}, "must be more than minReadySeconds", id="deadline"
        ),
        pytest.param(
            {"controllers.enabled": False, "controlPlane.enabled": False}, "both false", id="nothing"
        ),
    ],
)
def test_bad_values_are_rejected_with_their_path(values, words):
    """By the schema or by the chart, before anything reaches a cluster."""
    assert words in refusal(values)


def test_all_problems_are_reported_at_once():
    """One rendering reports every mistake."""
    reported = refusal(
        {
            "controller.namespaces": ["*"],
            "database.createSecret.enabled": True,
            "imagePolicy.requireDigest": True,
        }
    )
    assert "5 problem(s) with the values" in reported


@pytest.mark.parametrize("preset", ["values.yaml", *PRESETS])
def test_every_preset_passes_the_strictest_lint(preset):
    """`helm lint --strict`, and it renders; a duplicate key is an error."""
    digest = "image.digest=sha256:" + "0" * 64
    ran = run_helm(
        "lint", CHART, "--strict", "--namespace", "agents", "--values", CHART / preset, "--set", digest
    )
    assert ran.code == 0, ran.out + ran.err
    assert rendered({"image.digest": "sha256:" + "0" * 64}, files=(preset,)).all


def test_generated_files_match_the_code():
    """environment.json, not-built.json, crds.txt and README.md."""
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts/agents/chart-reference", "--check"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr


def test_the_chart_installs_this_version():
    """appVersion is the product's version: the default image."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == jangar.__version__
    assert f"ghcr.io/proompteng/jangar:{jangar.__version__}" in rendered().text


def test_another_release_in_another_namespace_has_its_own_names():
    """Names start with the release, labels have it, and nothing keeps the default name."""
    objects = rendered(release="mine", namespace="team")
    assert sorted(objects.of("Deployment")) == ["mine-agents", "mine-agents-controllers"]
    assert {item["metadata"].get("namespace") for item in objects.all} == {"team"}
    assert template(release="1e3", namespace="team").code == 0


def test_selectors_of_the_components_do_not_overlap():
    """The control plane's Service never selects a controller, nor vice versa."""
    objects = rendered()
    selectors = [
        objects.one("Service", name)["spec"]["selector"] for name in ("agents", "agents-controllers-metrics")
    ]
    labels = [
        objects.one("Deployment", name)["spec"]["template"]["metadata"]["labels"]
        for name in ("agents", "agents-controllers")
    ]
    overlaps = [[selector.items() <= label.items() for label in labels] for selector in selectors]
    assert overlaps == [[True, False], [False, True]]
