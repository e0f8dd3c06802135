"""Deployments and Rollouts: the same workload as two kinds, one after the other or side by side."""

import copy

import pytest
from chart_render import CHART, ROLLOUT, container, refusal, rendered, run_helm, template

ON = {"progressiveDelivery.enabled": True}
BOTH = ON | {"progressiveDelivery.components.controlPlane": True}


@pytest.mark.rule("CHART-1")
def test_nothing_is_a_rollout_by_default():
    """Plain Deployments for both components."""
    objects = rendered()
    assert sorted(objects.of("Deployment")) == ["agents", "agents-controllers"]
    assert not objects.of("Rollout")


@pytest.mark.rule("CHART-1")
@pytest.mark.parametrize(
    ("values", "rollouts", "deployments"),
    [
        pytest.param(ON, ["agents-controllers"], ["agents"], id="controllers-first"),
        pytest.param(BOTH, ["agents", "agents-controllers"], [], id="both"),
        pytest.param(
            ON | {"progressiveDelivery.components.controllers": False},
            [],
            ["agents", "agents-controllers"],
            id="none",
        ),
        pytest.param(ON | {"controllers.enabled": False}, ["agents"], [], id="one-pod-for-all"),
        pytest.param(
            ON | {"controlPlane.enabled": False}, ["agents-controllers"], [], id="controllers-alone"
        ),
    ],
)
def test_each_component_chooses_its_kind(values, rollouts, deployments):
    """The switch, the components and the controllers' mode decide; nothing is rendered twice."""
    objects = rendered(values)
    assert sorted(objects.of("Rollout")) == rollouts
    assert sorted(objects.of("Deployment")) == deployments


@pytest.mark.rule("CHART-1")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="defaults"),
        pytest.param(
            {"controllers.replicaCount": 3, "podLabels": {"a": "b"}, "env.vars": {"X": 1}}, id="set"
        ),
        pytest.param({"controllers.autoscaling.enabled": True}, id="autoscaled"),
    ],
)
def test_both_kinds_differ_only_in_the_strategy(more):
    """Name, labels, selector and pod template are byte for byte the same; every other object is unchanged."""
    plain, rolling = rendered(more), rendered(more | BOTH)
    for name in ("agents", "agents-controllers"):
        one, other = copy.deepcopy(plain.one("Deployment", name)), copy.deepcopy(rolling.one("Rollout", name))
        assert one["spec"].pop("strategy") != other["spec"].pop("strategy")
        assert (one.pop("apiVersion"), other.pop("apiVersion")) == ("apps/v1", "argoproj.io/v1alpha1")
        assert (one.pop("kind"), other.pop("kind")) == ("Deployment", "Rollout")
        assert one == other
    untouched = ("Deployment", "Rollout", "HorizontalPodAutoscaler")
    assert [item for item in plain.all if item["kind"] not in untouched] == [
        item for item in rolling.all if item["kind"] not in untouched
    ]
    assert _template_text(plain.text) == _template_text(rolling.text)


def _template_text(text: str) -> list[str]:
    """The text below `template:` of each workload."""
    parts = [
        part
        for part in text.split("\n---\n")
        if "\nkind: Deployment\n" in part or "\nkind: Rollout\n" in part
    ]
    return sorted(part.split("\n  template:\n")[1] for part in parts)


@pytest.mark.rule("CHART-2")
def test_the_default_is_one_step_and_an_indefinite_pause():
    """A share, then `pause: {}`; one extra pod, none missing, as integers."""
    canary = rendered(ON).one("Rollout", "agents-controllers")["spec"]["strategy"]["canary"]
    assert canary == {"maxSurge": 1, "maxUnavailable": 0, "steps": [{"setWeight": 20}, {"pause": {}}]}
    assert "pause: {}" in rendered(ON).text


@pytest.mark.rule("CHART-2")
@pytest.mark.parametrize(
    ("step", "words"),
    [
        pytest.param({}, "canarySteps.0", id="empty"),
        pytest.param({"setWeight": 10, "pause": {}}, "canarySteps.0", id="two-keys"),
        pytest.param({"setWeight": 101}, "Must be less than or equal to 100", id="too-much"),
        pytest.param({"setWeight": -1}, "Must be greater than or equal to 0", id="negative"),
        pytest.param({"setWeight": "10"}, "Expected: integer, given: string", id="quoted"),
        pytest.param({"pause": None}, "Expected: object, given: null", id="nil-pause"),
        pytest.param({"pause": {"duration": "soon"}}, "canarySteps.0.pause.duration", id="no-duration"),
        pytest.param(
            {"pause": {"durations": 1}}, "Additional property durations is not allowed", id="misspelt"
        ),
        pytest.param(
            {"setCanaryScale": {"weight": 1}},
            "Additional property setCanaryScale is not allowed",
            id="needs-traffic-routing",
        ),
        pytest.param({"replicaProgressThreshold": {}}, "Additional property", id="not-a-step"),
    ],
)
def test_a_bad_step_is_rejected_with_its_path(step, words):
    """The Rollouts controller would accept it and stop with InvalidSpec; the schema rejects it."""
    assert words in refusal({"progressiveDelivery.canarySteps": [step]})


@pytest.mark.rule("CHART-2")
@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"progressiveDelivery.maxSurge": "1"}, "maxSurge", id="a-text-is-a-percentage"),
        pytest.param({"progressiveDelivery.maxSurge": 0}, "both 0", id="nothing-could-move"),
        pytest.param({"progressiveDelivery.provider": "flagger"}, "provider", id="provider"),
        pytest.param({"progressiveDelivery.migration": "now"}, "migration", id="migration"),
        pytest.param(
            {"progressiveDelivery.canarySteps": [{"setWeight": 100}, {"pause": {}}]},
            "would never complete",
            id="pause-at-the-end",
        ),
        pytest.param(
            {"progressiveDelivery.trafficRouting": {}},
            "Additional property trafficRouting",
            id="no-traffic-to-route",
        ),
    ],
)
def test_bad_numbers_and_strings_are_rejected(values, words):
    """With the path or with instructions."""
    assert words in refusal(ON | values)


@pytest.mark.rule("CHART-2")
def test_autoscalers_budgets_and_notes_follow_the_kind():
    """An autoscaler targets the rendered kind and owns the replicas; the budget's selector is unchanged."""
    scaled = {
        "controllers.autoscaling.enabled": True,
        "controllers.podDisruptionBudget.enabled": True,
    }
    plain, rolling = rendered(scaled), rendered(scaled | ON)
    aims = [
        objects.one("HorizontalPodAutoscaler", "agents-controllers")["spec"]["scaleTargetRef"]
        for objects in (plain, rolling)
    ]
    assert aims[0] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "agents-controllers"}
    assert aims[1] == {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "agents-controllers"}
    assert "replicas" not in plain.one("Deployment", "agents-controllers")["spec"]
    assert "replicas" not in rolling.one("Rollout", "agents-controllers")["spec"]
    assert plain.of("PodDisruptionBudget") == rolling.of("PodDisruptionBudget")


@pytest.mark.rule("CHART-3")
def test_it_renders_without_a_cluster():
    """Seed 003's own command: `helm template ... | grep "kind: Rollout"`."""
    ran = run_helm("template", "agents", CHART, "--set", "progressiveDelivery.enabled=true")
    assert ran.code == 0
    assert "kind: Rollout" in ran.out


@pytest.mark.rule("CHART-3")
def test_a_cluster_without_rollouts_is_an_error_with_instructions():
    """If the renderer knows the API groups of the cluster, a missing kind is an error; a value overrides the check."""
    known = ("--api-versions", "monitoring.coreos.com/v1")
    reported = refusal(ON, words=known)
    assert "does not serve argoproj.io/v1alpha1 Rollout" in reported
    assert "Install Argo Rollouts first" in reported
    assert "agents-controllers" in reported
    assert template(ON, words=(*known, "--api-versions", ROLLOUT)).code == 0
    assert template(ON | {"progressiveDelivery.skipCrdCheck": True}, words=known).code == 0
    assert template({}, words=known).code == 0


def replicas(values):
    objects = rendered({"controllers.replicaCount": 2, "controlPlane.enabled": False} | values)
    return {
        kind: objects.of(kind)["agents-controllers"]["spec"].get("replicas")
        for kind in ("Deployment", "Rollout")
        if objects.of(kind)
    }


@pytest.mark.rule("CHART-1")
def test_switching_kinds_always_has_pods():
    """First both, then the Deployment without pods, then only the Rollout; and back in reverse order."""
    there = [ON | {"progressiveDelivery.migration": step} for step in ("sideBySide", "cutover", "none")]
    back = [
        ON | {"progressiveDelivery.migration": "sideBySide"},
        {"progressiveDelivery.migration": "cutover"},
        {"progressiveDelivery.migration": "none"},
    ]
    assert [replicas(step) for step in ({}, *there)] == [
        {"Deployment": 2},
        {"Deployment": 2, "Rollout": 2},
        {"Deployment": 0, "Rollout": 2},
        {"Rollout": 2},
    ]
    assert [replicas(step) for step in back] == [
        {"Deployment": 2, "Rollout": 2},
        {"Deployment": 2, "Rollout": 0},
        {"Deployment": 2},
    ]


def test_pods_side_by_side_are_the_same_and_one_service_selects_both():
    """Selectors and templates are equal, so Services and budgets count both."""
    objects = rendered(BOTH | {"progressiveDelivery.migration": "sideBySide"})
    for name in ("agents", "agents-controllers"):
        one, other = objects.one("Deployment", name), objects.one("Rollout", name)
        assert one["spec"]["template"] == other["spec"]["template"]
        assert one["spec"]["selector"] == other["spec"]["selector"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({}, "a rolling update", id="rolling-update"),
        pytest.param({"controllers.replicaCount": 2}, "more than one replica", id="replicas"),
        pytest.param(ON, "a Rollout", id="rollout"),
        pytest.param({"controllers.autoscaling.enabled": True}, "an autoscaler", id="autoscaler"),
    ],
)
def test_without_leases_no_second_pod_is_allowed(values, words):
    """Two controllers without leases would duplicate all work."""
    reported = refusal({"controller.leaderElection.enabled": False} | values)
    assert words in reported
    assert "allows one pod only" in reported


def test_an_analysis_queries_only_the_canary():
    """The queries select the pods of the new version by their hash, which the Rollout passes."""
    objects = rendered(ON | {"progressiveDelivery.analysis.enabled": True})
    analysis = objects.one("AnalysisTemplate", "agents-controllers")["spec"]
    assert all(
        "{{args.canary-hash}}" in metric["provider"]["prometheus"]["query"] for metric in analysis["metrics"]
    )
    canary = objects.one("Rollout", "agents-controllers")["spec"]["strategy"]["canary"]
    assert canary["analysis"]["templates"] == [{"templateName": "agents-controllers"}]
    assert canary["analysis"]["args"][0]["valueFrom"] == {"podTemplateHashValue": "Latest"}


def test_containers_do_not_depend_on_the_workload_kind():
    """A component is the same process with either kind."""
    assert container(rendered(ON).one("Rollout", "agents-controllers"))["args"] == ["controllers"]
