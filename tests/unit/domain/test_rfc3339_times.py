"""Moments as Kubernetes writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubekit.times import parse_rfc3339, rfc3339, whole_millisecond, whole_second, whole_second_after

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))
TIMES = st.integers(-(10**15), 10**15).map(lambda item: NOON + timedelta(microseconds=item))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-02-07T12:00:00Z", NOON, id="as-kubernetes-writes-it"),
        pytest.param("2026-02-07t12:00:00z", NOON, id="small-letters"),
        pytest.param("2026-02-07T13:00:00+01:00", NOON, id="another-zone"),
        pytest.param("2026-02-07T12:00:00.25Z", NOON + timedelta(milliseconds=250), id="a-fraction-is-kept"),
    ],
)
@pytest.mark.rule("ST-4")
def test_a_time_is_read_as_the_moment_in_utc(text, moment):
    """ST-4: times are RFC 3339; a time someone else wrote is read as it is."""
    assert parse_rfc3339(text) == moment
    assert parse_rfc3339(text).tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("yesterday", "'yesterday' is not a time such as 2026-02-07T12:00:00Z", id="not-a-time"),
        pytest.param(
            "2026-02-07T12:00:00",
            "'2026-02-07T12:00:00' has no time zone; write it as 2026-02-07T12:00:00Z",
            id="no-zone",
        ),
    ],
)
@pytest.mark.rule("ST-4")
def test_what_is_not_a_time_is_refused_with_the_form_that_is(text, message):
    """ST-4: a status with a broken time is not guessed at."""
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the message is compared below, whole
        parse_rfc3339(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        pytest.param(NOON, "2026-02-07T12:00:00Z", id="whole-second"),
        pytest.param(NOON + timedelta(microseconds=5), "2026-02-07T12:00:00.000005Z", id="fraction"),
        pytest.param(datetime(2026, 2, 7, 13, tzinfo=BERLIN), "2026-02-07T12:00:00Z", id="another-zone"),
    ],
)
@pytest.mark.rule("ST-4")
def test_a_moment_is_written_in_utc_with_a_z(moment, text):
    """ST-4: the form that Kubernetes' own types use."""
    assert rfc3339(moment) == text


@pytest.mark.parametrize("use", [rfc3339, whole_second, whole_second_after])
@pytest.mark.rule("ST-4")
def test_a_moment_without_a_zone_is_refused(use):
    """ST-4: local time has no place in a status."""
    with pytest.raises(ValueError, match="2026-02-07T12:00:00 has no time zone: moments are always in UTC"):
        use(datetime(2026, 2, 7, 12))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("moment", "before", "after"),
    [
        pytest.param(NOON, NOON, NOON, id="whole"),
        pytest.param(NOON + timedelta(microseconds=1), NOON, NOON + timedelta(seconds=1), id="just-after"),
        pytest.param(NOON - timedelta(microseconds=1), NOON - timedelta(seconds=1), NOON, id="just-before"),
        pytest.param(
            datetime(2026, 2, 7, 13, 0, 0, 9, tzinfo=BERLIN), NOON, NOON + timedelta(seconds=1), id="zone"
        ),
    ],
)
@pytest.mark.rule("ST-4")
def test_a_moment_is_cut_to_whole_seconds(moment, before, after):
    """ST-4: what is read back equals what was written."""
    assert whole_second(moment) == before
    assert whole_second(moment).tzinfo is UTC
    assert whole_second_after(moment) == after
    assert whole_second_after(moment).tzinfo is UTC


@given(TIMES)
@pytest.mark.rule("ST-4")
def test_every_moment_is_read_back_as_it_was_written(moment):
    """ST-4: writing and reading lose nothing."""
    assert parse_rfc3339(rfc3339(moment)) == moment
    assert whole_second(moment) <= moment <= whole_second_after(moment)


@given(TIMES)
@pytest.mark.rule("ST-4")
def test_a_status_takes_up_whole_milliseconds(moment):
    """ST-4: cut, never rounded up, and in UTC whatever the zone."""
    cut = whole_millisecond(moment.astimezone(BERLIN))
    assert timedelta(0) <= moment - cut < timedelta(milliseconds=1)
    assert (cut.microsecond % 1000, cut.tzinfo) == (0, UTC)
