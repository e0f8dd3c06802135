"""How long something is kept: settings and which of them decides."""

from datetime import UTC, datetime, timedelta

import pytest

from jangar.domain.retention import (
    DEFAULT_JOB_TTL,
    DEFAULT_RUN_RETENTION,
    NEVER,
    Keep,
    Resolved,
    Source,
    job_floor,
    job_lifetime,
    keep_for,
    parse_seconds,
    resolve_job_ttl,
    resolve_run_retention,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
VARIABLE = "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS"
LEASE, TIMEOUT = timedelta(seconds=15), timedelta(seconds=30)


def seconds(count):
    return Keep(duration=timedelta(seconds=count))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", seconds(0), id="zero-is-at-once"),
        pytest.param("600", seconds(600), id="seconds"),
        pytest.param(" 600 ", seconds(600), id="spaces-around"),
        pytest.param("2592000", seconds(2592000), id="thirty-days"),
        pytest.param("2147483647", seconds(2147483647), id="the-most-a-job-can-hold"),
        pytest.param("never", NEVER, id="never"),
        pytest.param("Never", NEVER, id="never-in-any-case"),
        pytest.param("null", NEVER, id="null-in-words"),
        pytest.param("", NEVER, id="what-null-becomes-in-a-chart"),
        pytest.param(None, NEVER, id="null"),
    ],
)
@pytest.mark.rule("GC-5")
def test_a_setting_is_seconds_or_never(text, expected):
    """GC-5: 0 means as soon as recorded, never or null means never."""
    assert parse_seconds(text, variable=VARIABLE) == expected


@pytest.mark.parametrize(
    "text", ["-1", "+5", "1.5", "2.592e+06", "10m", "soon", "1_000", "٦٠٠", "0x10", "1 000"]
)
@pytest.mark.rule("GC-5")
def test_a_bad_setting_is_refused_with_its_name_and_the_fix(text):
    """GC-5: values are checked when read; a bad one stops the process with the variable's name."""
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the message is compared below, whole
        parse_seconds(text, variable=VARIABLE)
    assert str(refusal.value) == (
        f"JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS={text!r} is not a number of seconds: write a whole number such as 600, "
        "0 to delete as soon as the end is recorded, or never"
    )


@pytest.mark.rule("GC-5")
def test_more_seconds_than_a_job_can_hold_are_refused():
    """GC-5: the API server would refuse the Job later, where no user would notice."""
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the message is compared below, whole
        parse_seconds("2147483648", variable=VARIABLE)
    assert str(refusal.value) == (
        "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS='2147483648' is more than 2147483647 seconds: "
        "write never to keep it forever"
    )


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [(0, seconds(0)), (60, seconds(60)), ("never", NEVER)],
    ids=["zero", "seconds", "never"],
)
@pytest.mark.rule("GC-5")
def test_an_objects_own_value_means_the_same(ttl, expected):
    """GC-5: the per-object ttlSecondsAfterFinished."""
    assert keep_for(ttl) == expected


@pytest.mark.parametrize(
    ("keep", "ended_at", "expected_seconds", "until"),
    [
        pytest.param(seconds(90), NOON, 90, NOON + timedelta(seconds=90), id="seconds"),
        pytest.param(seconds(0), NOON, 0, NOON, id="at-once"),
        pytest.param(NEVER, NOON, None, None, id="never"),
        pytest.param(seconds(90), None, 90, None, id="not-ended"),
    ],
)
@pytest.mark.rule("GC-4")
def test_what_is_kept_has_an_end_or_none(keep, ended_at, expected_seconds, until):
    """GC-4: what will be deleted when."""
    assert (keep.seconds, keep.until(ended_at)) == (expected_seconds, until)


@pytest.mark.parametrize(
    ("spec_ttl", "orchestration", "agentrun", "expected"),
    [
        pytest.param(5, seconds(6), seconds(7), (seconds(5), Source.OBJECT), id="the-object-first"),
        pytest.param(0, seconds(6), seconds(7), (seconds(0), Source.OBJECT), id="zero-is-a-value"),
        pytest.param("never", seconds(6), None, (NEVER, Source.OBJECT), id="never-is-a-value"),
        pytest.param(
            None,
            seconds(6),
            seconds(7),
            (seconds(6), Source.ORCHESTRATION_RETENTION),
            id="then-orchestrations",
        ),
        pytest.param(None, NEVER, seconds(7), (NEVER, Source.ORCHESTRATION_RETENTION), id="never-is-set-too"),
        pytest.param(None, None, seconds(7), (seconds(7), Source.AGENTRUN_RETENTION), id="then-agent-runs"),
        pytest.param(None, None, None, (seconds(2592000), Source.DEFAULT), id="then-thirty-days"),
    ],
)
@pytest.mark.rule("GC-5")
def test_the_nearest_value_that_is_set_decides_about_a_run(spec_ttl, orchestration, agentrun, expected):
    """GC-5: runs and ToolRuns use the AgentRuns' retention unless they have their own."""
    found = resolve_run_retention(
        spec_ttl=spec_ttl, orchestration_retention=orchestration, agentrun_retention=agentrun
    )
    assert found == Resolved(keep=expected[0], source=expected[1])


@pytest.mark.parametrize(
    ("tool_ttl", "configured", "expected"),
    [
        pytest.param(5, seconds(6), (seconds(5), Source.TOOL), id="the-tools-own"),
        pytest.param("never", seconds(6), (NEVER, Source.TOOL), id="never"),
        pytest.param(None, seconds(0), (seconds(0), Source.JOB_TTL), id="the-setting"),
        pytest.param(None, None, (seconds(600), Source.DEFAULT), id="ten-minutes"),
    ],
)
@pytest.mark.rule("GC-5")
def test_the_nearest_value_that_is_set_decides_about_a_job(tool_ttl, configured, expected):
    """GC-5: default 600."""
    assert resolve_job_ttl(tool_ttl=tool_ttl, configured=configured) == Resolved(
        keep=expected[0], source=expected[1]
    )


@pytest.mark.rule("GC-5")
def test_defaults_are_ten_minutes_and_thirty_days():
    """GC-5: the defaults of both settings, and that a caller may bring others."""
    assert (seconds(600), seconds(2592000)) == (DEFAULT_JOB_TTL, DEFAULT_RUN_RETENTION)
    given = {"orchestration_retention": None, "agentrun_retention": None, "default": seconds(1)}
    assert resolve_run_retention(spec_ttl=None, **given).keep == seconds(1)
    assert resolve_job_ttl(tool_ttl=None, configured=None, default=seconds(2)).keep == seconds(2)


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [
        pytest.param(seconds(0), seconds(45), id="as-soon-as-recorded-waits-for-the-floor"),
        pytest.param(seconds(44), seconds(45), id="just-below"),
        pytest.param(seconds(46), seconds(46), id="above"),
        pytest.param(NEVER, NEVER, id="never"),
    ],
)
@pytest.mark.rule("DAG-9")
def test_a_recorded_job_outlives_every_create_that_is_still_on_the_wire(ttl, expected):
    """DAG-9: kept at least lease duration + request timeout, whatever its TTL."""
    assert job_lifetime(ttl, lease_duration=LEASE, request_timeout=TIMEOUT) == expected
    assert job_floor(lease_duration=LEASE, request_timeout=TIMEOUT) == timedelta(seconds=45)
