"""Deployments and Rollouts: the same workload by two kinds, one after the other or side by side."""

import copy

import pytest
from chart_render import CHART, ROLLOUT, container, refusal, rendered, run_helm, template

ON = {"progressiveDelivery.enabled": True}
BOTH = ON | {"progressiveDelivery.components.controlPlane": True}


@pytest.mark.rule("CHART-1")
def test_nothing_is_a_rollout_by_default():
    """Plain Deployments, of both components."""
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
    """The switch, the components and who runs the controllers decide; nothing is there twice."""
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
def test_both_kinds_are_the_same_but_for_the_strategy(more):
    """Name, labels, selector and pod template byte for byte; every other object is untouched."""
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
    """What stands below `template:` of each workload, as it was written."""
    parts = [
        part
        for part in text.split("\n---\n")
        if "\nkind: Deployment\n" in part or "\nkind: Rollout\n" in part
    ]
    return sorted(part.split("\n  template:\n")[1] for part in parts)


@pytest.mark.rule("CHART-2")
def test_the_default_is_one_step_and_a_pause_without_end():
    """A share, then `pause: {}`; one pod more, none less, as whole numbers."""
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
def test_a_bad_step_is_refused_with_its_place(step, words):
    """The controller of Rollouts would take it and stand still with InvalidSpec; the schema does not."""
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
def test_bad_numbers_and_words_are_refused(values, words):
    """With the place, or with what to do."""
    assert words in refusal(ON | values)


@pytest.mark.rule("CHART-2")
def test_autoscalers_budgets_and_notes_follow_the_kind():
    """An autoscaler aims at the kind that is there, replicas are left to it; the budget's selector stays."""
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
def test_without_a_cluster_it_renders():
    """Seed 003's own command: `helm template ... | grep "kind: Rollout"`."""
    ran = run_helm("template", "agents", CHART, "--set", "progressiveDelivery.enabled=true")
    assert ran.code == 0
    assert "kind: Rollout" in ran.out


@pytest.mark.rule("CHART-3")
def test_a_cluster_without_rollouts_is_reported_so_with_what_to_do():
    """When the renderer knows what the cluster serves, a missing kind is an error; there is a way around."""
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
def test_switching_kinds_has_pods_at_every_moment():
    """There: both, then the Deployment without pods, then the Rollout alone. And back the same way."""
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


def test_side_by_side_pods_are_the_same_and_one_service_finds_both():
    """Selectors and templates do not differ, so Services and budgets count both."""
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
def test_without_leases_nothing_may_make_a_second_pod(values, words):
    """Two controllers that do not agree would do everything twice."""
    reported = refusal({"controller.leaderElection.enabled": False} | values)
    assert words in reported
    assert "allows one pod only" in reported


def test_an_analysis_asks_about_the_canary_alone():
    """The queries name the pods of the new version by their hash, and the Rollout passes it on."""
    objects = rendered(ON | {"progressiveDelivery.analysis.enabled": True})
    analysis = objects.one("AnalysisTemplate", "agents-controllers")["spec"]
    assert all(
        "{{args.canary-hash}}" in metric["provider"]["prometheus"]["query"] for metric in analysis["metrics"]
    )
    canary = objects.one("Rollout", "agents-controllers")["spec"]["strategy"]["canary"]
    assert canary["analysis"]["templates"] == [{"templateName": "agents-controllers"}]
    assert canary["analysis"]["args"][0]["valueFrom"] == {"podTemplateHashValue": "Latest"}


def test_the_kinds_of_containers_do_not_change_with_the_kind_of_workload():
    """A component is the same process either way."""
    assert container(rendered(ON).one("Rollout", "agents-controllers"))["args"] == ["controllers"]
