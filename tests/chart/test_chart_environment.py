"""The environment that the chart sets for each process matches the settings table in the code."""

import json
from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from chart_render import (
    CHART,
    container,
    defaults,
    environment,
    leaves,
    refusal,
    rendered,
    template,
)

from jangar.settings.controllers import ControllerSettings, controller_settings
from jangar.settings.reference import all_variables
from jangar.settings.variables import Variable, variables_of

OWN = {"JANGAR_POD_NAMESPACE", "JANGAR_HEALTH_ADDRESS", "JANGAR_OWN_SERVICE_ACCOUNTS"}
"""Variables that the chart sets itself: rows without a Helm value."""
ON_LAPTOPS = {"JANGAR_DATA_DIR", "JANGAR_WEB_PORT"}
"""Rows without a Helm value that no pod needs."""


ROWS = all_variables()
MAPPED = [row for row in ROWS if row.helm_value and not row.helm_value.startswith(("env.", "database."))]


def controllers(values=None, **more):
    return environment(container(rendered(values, **more).one("Deployment", "agents-controllers")))


def control_plane(values=None, **more):
    return environment(container(rendered(values, **more).one("Deployment", "agents")))


@pytest.fixture(scope="module")
def default_environment():
    return controllers()


def value_at(path: str) -> Any:
    node = defaults()
    for key in path.split("."):
        assert isinstance(node, dict), path
        assert key in node, path
        node = node[key]
    return node


@pytest.mark.rule("CHART-6")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_chart_sets_every_row_of_the_settings_table(row):
    """A row names a value of values.yaml, or the chart sets the variable itself."""
    listed = {load["name"]: load for load in json.loads((CHART / "files/environment.json").read_text())}
    if not row.helm_value:
        assert row.name in OWN | ON_LAPTOPS, (
            f"{row.name} has no Helm value: set it in agents.ownVariables of charts/agents/templates/_environment.tpl "
            "and name it in OWN here, or give the row a Helm value"
        )
        return
    if row.helm_value.startswith("env.vars."):
        return
    paths = {path for path, _ in leaves(defaults())}
    assert any(path == row.helm_value or path.startswith(f"{row.helm_value}.") for path in paths), (
        f"{row.name} stands for {row.helm_value}, which charts/agents/values.yaml does not have: add it there and, "
        "with a description, to values.schema.json"
    )
    if row in MAPPED and not row.is_secret:
        assert row.name in listed, f"{row.name} is not in files/environment.json: run 'make generate'"
        assert listed[row.name]["value"] == row.helm_value, "run 'make generate'"


@pytest.mark.parametrize("row", [row for row in MAPPED if not row.is_secret], ids=lambda row: row.name)
def test_a_default_of_the_chart_is_the_default_of_the_process(row):
    """values.yaml has the process's default or leaves it to the process."""
    default = value_at(row.helm_value)
    if default in ("", None) or default in ([], {}) or isinstance(default, dict):
        return
    shown = {True: "true", False: "false"}.get(default) if isinstance(default, bool) else str(default)
    assert shown == row.shown_default, f"{row.helm_value} is {shown}, {row.name} is {row.shown_default}"


@pytest.mark.rule("CHART-5")
def test_defaults_are_readable_and_change_nothing(default_environment):
    """The default environment equals the process defaults, except for values that only a pod can know."""
    texts = {name: value for name, value in default_environment.items() if isinstance(value, str)}
    reported = controller_settings(texts)
    plain = controller_settings({})
    differing = {
        name
        for name in variables_of(ControllerSettings)
        if attrgetter(name)(reported) != attrgetter(name)(plain)
    }
    # Explicit defaults: status.retention reports that an operator set them. Only the chart knows the runner's
    # image.
    own = {"agentrun_retention", "health_address", "runner_service_account", "lease_name", "runner_image"}
    assert differing <= own | {"policy.own_service_accounts"}
    # E7: runs may not use the accounts of the controllers and the control plane.
    assert reported.policy.own_service_accounts == ("agents-controllers", "agents-sa")


SAMPLES: dict[str, Any] = {
    "boolean": lambda default: not default,
    "namespaces": lambda _: ["team-a", "team-b"],
    "seconds or never": lambda _: 1234567,
    "JSON object": lambda _: {"key": "v"},
    "JSON array": lambda _: [{"name": "x"}],
    "name": lambda _: "other",
    "path": lambda _: "/other",
    "string": lambda _: "other",
    "choice": lambda _: "always",
    "seconds": lambda default: int(default) + 1 if default else 77,
    "milliseconds": lambda default: int(default) + 1 if default else 77000,
    "integer": lambda default: int(default) + 1 if default else 77,
}
OBJECTS = {
    "controller.defaultWorkload.resources": {"requests": {"cpu": "1"}},
    "runner.image": {"repository": "registry.example/runner", "tag": "v1"},
    # Each less than the next.
    "controller.leaderElection.retryPeriodSeconds": 6,
    "controller.leaderElection.renewDeadlineSeconds": 21,
}
_PROXY = {
    "controlPlane.trustedProxy.userHeader": "X-User",
    "controlPlane.trustedProxy.groupsHeader": "X-Groups",
    "controlPlane.trustedProxy.groups": ["team-a"],
    "controlPlane.trustedProxy.secretRef.name": "proxy",
}
ALONGSIDE = {
    f"controlPlane.trustedProxy.{name}": _PROXY for name in ("userHeader", "groupsHeader", "groups", "users")
} | {"controller.leaderElection.enabled": {"controllers.deploymentStrategy.type": "Recreate"}}
"""Other values that a flipped value requires."""
MAKES_ROOM = {"runtime.agentImage": "JANGAR_AGENT_RUNNER_IMAGE"}
"""Another variable that must be left out for a value to take effect."""
LISTS = {"image patterns": ["registry.example/team/*"], "repositories": ["team/repo"]}


def sample(row: Variable[Any]) -> Any:
    """A value other than the default."""
    if row.helm_value in OBJECTS:
        return OBJECTS[row.helm_value]
    if row.form.type in SAMPLES:
        return SAMPLES[row.form.type](value_at(row.helm_value))
    if row.form.type.startswith("list of"):
        return next((value for word, value in LISTS.items() if word in row.form.type), ["other"])
    pytest.fail(f"{row.name}: no sample of the form {row.form.type!r}; add one to SAMPLES of this test")


@pytest.mark.rule("CHART-6")
@pytest.mark.parametrize("row", [row for row in MAPPED if not row.is_secret], ids=lambda row: row.name)
def test_a_value_reaches_the_process_and_changes_what_it_does(row, default_environment):
    """With the flipped value, the variable differs, parses, and changes the process's settings."""
    alongside = ALONGSIDE.get(row.helm_value, {})
    process = controllers
    if "controllers" not in row.processes:
        process, default_environment = control_plane, control_plane(alongside)
    flipped = process(alongside | {row.helm_value: sample(row)})
    assert flipped.get(row.name) != default_environment.get(row.name), (
        f"{row.helm_value} does not reach {row.name}"
    )
    before = {name: value for name, value in default_environment.items() if isinstance(value, str)}
    after = {name: value for name, value in flipped.items() if isinstance(value, str)}
    assert row.read(after) != row.read(before)
    others = {name for name in flipped.keys() | default_environment.keys() if name != row.name}
    changed = {name for name in others if flipped.get(name) != default_environment.get(name)}
    assert changed <= {MAKES_ROOM.get(row.helm_value)}
    if row in variables_of(ControllerSettings).values():
        assert controller_settings(after) != controller_settings(before)


@pytest.mark.rule("CHART-6")
def test_values_of_the_control_plane_reach_it():
    """The control plane's environment has exactly the rows that the control plane reads."""
    variables = environment(container(rendered().one("Deployment", "agents")))
    wanted = {row.name for row in MAPPED if "control-plane" in row.processes and row.shown_default}
    strange = {row.name for row in MAPPED if "control-plane" not in row.processes}
    assert wanted <= variables.keys()
    assert not strange & variables.keys()


@pytest.mark.rule("CHART-5")
def test_a_component_wins_over_what_both_share():
    """`env.vars` is the base; a component's own variables override it for that component."""
    objects = rendered(
        {
            "env.vars": {"FOO": "base", "BAR": "base"},
            "controlPlane.env.vars": {"FOO": "cp"},
            "controllers.env.vars": {"FOO": "ctl"},
        }
    )
    assert [
        (environment(container(objects.one("Deployment", name)))[key])
        for name in ("agents", "agents-controllers")
        for key in ("FOO", "BAR")
    ] == ["cp", "base", "ctl", "base"]


@pytest.mark.rule("CHART-5")
def test_env_vars_override_values_and_appear_once():
    """A variable named in env has that value exactly once, wherever else it is set."""
    name = "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS"
    values = {"orchestrationController.cancel.timeoutMs": 70000}
    assert controllers(values)[name] == "70000"
    values |= {"env.vars": {name: "80000"}}
    assert controllers(values)[name] == "80000"
    values |= {"controllers.env.vars": {name: 90000}}
    assert controllers(values)[name] == "90000"
    values |= {"env.extra": [{"name": name, "value": "95000"}]}
    assert controllers(values)[name] == "95000"


@pytest.mark.rule("CHART-5")
@pytest.mark.parametrize(
    ("path", "value", "name", "text"),
    [
        pytest.param(
            "controller.agentRunRetentionSeconds",
            0,
            "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
            "0",
            id="zero",
        ),
        pytest.param(
            "controller.agentRunRetentionSeconds",
            2592000,
            "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
            "2592000",
            id="millions",
        ),
        pytest.param(
            "controller.agentRunRetentionSeconds",
            "never",
            "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
            "never",
            id="never",
        ),
        pytest.param(
            "controller.agentRunRetentionSeconds",
            None,
            "AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS",
            "never",
            id="null",
        ),
        pytest.param(
            "controller.jobTtlSeconds", 1200, "AGENT_RUNNER_JOB_TTL_SECONDS", "1200", id="legacy-name"
        ),
        pytest.param(
            "controller.jobTtlSecondsAfterFinished",
            None,
            "AGENT_RUNNER_JOB_TTL_SECONDS",
            "never",
            id="null-ttl",
        ),
        pytest.param(
            "controller.leaderElection.leaseDurationSeconds",
            45,
            "LEADER_ELECTION_LEASE_DURATION_SECONDS",
            "45",
            id="number",
        ),
        pytest.param(
            "orchestrationController.cancel.enabled",
            False,
            "ORCHESTRATION_CANCEL_ENABLED",
            "false",
            id="false",
        ),
    ],
)
@pytest.mark.rule("GC-5")
def test_numbers_and_switches_survive(path, value, name, text):
    """0 and false are values, large integers have no exponent, and null means never."""
    assert controllers({path: value})[f"JANGAR_{name}"] == text


def test_numbers_on_the_command_line_survive():
    """`--set` and `--set-string` produce other types than a file, and the same text."""
    for option in ("--set", "--set-string"):
        ran = template(words=(option, "controller.agentRunRetentionSeconds=2592000"))
        assert 'value: "2592000"' in ran.out


@pytest.mark.rule("GC-5")
def test_two_names_of_one_setting_must_agree():
    """Equal values are accepted; different values are an error with both."""
    same = {"controller.jobTtlSeconds": 60, "controller.jobTtlSecondsAfterFinished": 60}
    assert controllers(same)["JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"] == "60"
    reported = refusal(same | {"controller.jobTtlSeconds": 0})
    assert "controller.jobTtlSeconds=0 and controller.jobTtlSecondsAfterFinished=60" in reported


def test_variables_set_by_the_chart_cannot_be_overridden():
    """Otherwise a probe would use a port without a listener."""
    reported = refusal({"controllers.env.vars": {"JANGAR_HEALTH_ADDRESS": "0.0.0.0:1"}})
    assert "JANGAR_HEALTH_ADDRESS is set by the chart" in reported


def test_the_database_url_is_never_in_plain_text():
    """The URL becomes a Secret that the pods reference."""
    objects = rendered({"database.url": "postgresql://u:hunter2@db/x"})
    assert objects.text.count("hunter2") == 0
    assert list(objects.of("Secret")) == ["agents-db"]
    variables = environment(container(objects.one("Deployment", "agents-controllers")))["DATABASE_URL"]
    assert variables == {"secretKeyRef": {"name": "agents-db", "key": "url"}}
    named = controllers({"database.secretRef": {"name": "pg", "key": "uri"}})["DATABASE_URL"]
    assert named == {"secretKeyRef": {"name": "pg", "key": "uri"}}


def test_invalid_lease_settings_fail_the_rendering():
    """Settings that would stop the process at start fail the rendering with the same message."""
    reported = refusal({"controller.leaderElection.renewDeadlineSeconds": 40})
    assert "each must be less than the next" in reported


def test_controllers_in_the_control_plane_pod_have_their_own_environment():
    """With controllers.enabled=false both are containers of one pod with separate environments."""
    single = rendered({"controllers.enabled": False, "controllers.env.vars": {"X": "ctl"}})
    assert list(single.of("Deployment")) == ["agents"]
    pod = single.one("Deployment", "agents")
    assert environment(container(pod, "controllers"))["X"] == "ctl"
    assert "X" not in environment(container(pod, "agents"))
    split = controllers({"controllers.env.vars": {"X": "ctl"}})
    assert environment(container(pod, "controllers")) == split


def test_durations_reach_the_process_settings():
    """For example: 45 s reach the controllers' settings as a duration."""
    variables = controllers({"controller.leaderElection.leaseDurationSeconds": 45})
    texts = {name: value for name, value in variables.items() if isinstance(value, str)}
    assert controller_settings(texts).lease_duration == timedelta(seconds=45)
