"""Settings that the controllers read from their environment."""

from datetime import timedelta

import pytest

from jangar.domain.retention import NEVER, Keep
from jangar.settings import forms
from jangar.settings.controllers import BadSettings, ControllerSettings, controller_settings, startup_warnings
from jangar.settings.forms import Scope
from jangar.settings.variables import Variable, variables_of

VARIABLES = list(variables_of(ControllerSettings).values())


def test_an_empty_environment_gives_every_default():
    """An empty environment is valid."""
    settings = controller_settings({})
    assert settings == ControllerSettings()
    assert settings.agents_namespaces == Scope(())
    assert settings.cancel_enabled
    assert settings.cancel_timeout == timedelta(seconds=60)
    assert (settings.job_ttl, settings.agentrun_retention, settings.orchestration_retention) == (None,) * 3
    assert settings.log_retention == Keep(duration=timedelta(days=7))


@pytest.mark.rule("CAN-6", "CAN-9", "GC-5")
def test_values_come_from_their_variables():
    """The names that the chart and the runbooks use."""
    settings = controller_settings(
        {
            "JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES": "*",
            "JANGAR_ORCHESTRATION_CANCEL_ENABLED": "false",
            "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS": "5000",
            "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "0",
            "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS": "never",
            "JANGAR_ORCHESTRATION_CONTROLLER_RETENTION_SECONDS": "60",
            "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS": "",
            "JANGAR_AGENT_IMAGE": "busybox",
            "JANGAR_AGENT_RUNNER_SERVICE_ACCOUNT": " runner ",
        }
    )
    assert settings.orchestration_namespaces == Scope(None)
    assert not settings.cancel_enabled
    assert settings.cancel_timeout == timedelta(seconds=5)
    assert settings.job_ttl == Keep(duration=timedelta(0))
    assert settings.agentrun_retention == NEVER
    assert settings.orchestration_retention == Keep(duration=timedelta(minutes=1))
    assert settings.log_retention == NEVER
    assert settings.workload_image == "busybox"
    assert settings.runner_service_account == "runner"


def test_an_empty_value_counts_as_unset():
    """The chart renders unset values as empty strings; only retention has a meaning for them."""
    set_to_nothing = {variable.name: " " for variable in VARIABLES if not variable.form.accepts_empty}
    assert controller_settings(set_to_nothing) == ControllerSettings()


@pytest.mark.rule("GC-5")
def test_every_problem_is_reported_at_once_with_name_value_and_what_to_write():
    """One restart is enough to fix them all."""
    with pytest.raises(BadSettings) as raised:
        controller_settings(
            {
                "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS": "60",
                "JANGAR_ORCHESTRATION_CANCEL_ENABLED": "maybe",
                "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "2.592e+06",
            }
        )
    assert raised.value.problems == (
        (
            "JANGAR_ORCHESTRATION_CANCEL_ENABLED='maybe': not a boolean; "
            "use true or false (also 1, 0, yes, no, on, off)"
        ),
        (
            "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS='60': less than 1000; "
            "use a whole number of milliseconds from 1000 to 86400000"
        ),
        (
            "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS='2.592e+06' is not a number of seconds: write a whole number such "
            "as 600, 0 to delete as soon as the end is recorded, or never"
        ),
    )


def test_lease_times_that_cannot_be_safe_stop_the_process():
    """They are not silently replaced."""
    with pytest.raises(BadSettings, match="each must be less than the next") as raised:
        controller_settings({"JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS": "30"})
    assert "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS=30" in raised.value.problems[0]


def test_an_invalid_lease_time_is_reported_once():
    """The lease times are not compared if one of them is invalid."""
    with pytest.raises(BadSettings) as raised:
        controller_settings(
            {
                "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS": "soon",
                "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS": "10",
            }
        )
    assert len(raised.value.problems) == 1


def test_the_value_of_a_secret_is_never_shown():
    """Not even an invalid one."""
    form = forms.integer(minimum=0, maximum=1)
    secret = Variable("JANGAR_TOKEN", form, 0, "A token.", is_secret=True)
    with pytest.raises(ValueError, match="JANGAR_TOKEN") as raised:
        secret.read({"JANGAR_TOKEN": "hunter2"})
    assert "hunter2" not in str(raised.value)


def test_zero_retention_and_unknown_names_are_warned_of_at_startup():
    """Zero could be mistaken for "keep"; an unknown name is often a typo."""
    environment = {
        "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS": "0",
        "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT": "1",
        "JANGAR_MIGRATIONS": "skip",
        "PATH": "/bin",
    }
    assert startup_warnings(controller_settings(environment), environment) == [
        (
            "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS=0: Jobs are deleted as soon as their outcome is recorded; "
            "set it to never to keep them"
        ),
        "JANGAR_MIGRATIONS is set but is not a known setting",
        (
            "JANGAR_ORCHESTRATION_CANCEL_TIMEOUT is set but is not a known setting; "
            "did you mean JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS?"
        ),
    ]


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)
def test_every_variable_is_complete(variable):
    """It has a JANGAR_ name or is DATABASE_URL, a description, and a default that parses."""
    assert variable.name.startswith("JANGAR_") or variable.name == "DATABASE_URL"
    assert variable.description.endswith(".")
    assert "|" not in variable.description
    if variable.shown_default:
        written = variable.form.read(variable.shown_default)
        assert variable.default in (None, written)


def test_every_field_has_a_variable_of_its_own():
    """No two fields read one variable."""
    assert len({variable.name for variable in VARIABLES}) == len(VARIABLES)
