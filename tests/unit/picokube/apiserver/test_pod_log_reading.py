"""Logs of containers: whole, their tail, a part, and what comes later."""

from datetime import UTC, datetime

import pytest

from picokube.apiserver.handlers.pods import LogOptions, LogReader, log_path

LINES = (
    b"2026-02-07T12:00:00.000000001Z stdout F one\n"
    b"2026-02-07T12:00:01.000000001Z stderr F two\n"
    b"2026-02-07T12:00:02.000000001Z stdout P thr\n"
    b"2026-02-07T12:00:02.000000001Z stdout F ee\n"
)


@pytest.fixture
def path(tmp_path):
    found = log_path(tmp_path, "uid", "main")
    found.parent.mkdir()
    found.write_bytes(LINES)
    return found


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, b"one\ntwo\nthree\n", id="whole"),
        pytest.param({"tail_lines": 1}, b"ee\n", id="tail"),
        pytest.param({"tail_lines": 0}, b"", id="no-tail"),
        pytest.param({"limit_bytes": 5}, b"one\nt", id="limit"),
        pytest.param({"since": datetime(2026, 2, 7, 12, 0, 1, tzinfo=UTC)}, b"two\nthree\n", id="since"),
        pytest.param(
            {"timestamps": True, "tail_lines": 1}, b"2026-02-07T12:00:02.000000001Z ee\n", id="timestamps"
        ),
    ],
)
def test_a_log_is_read_as_requested(path, options, expected):
    """Parts of a line are joined; the stream does not matter."""
    assert LogReader(path, LogOptions(container="main", **options)).read() == expected


def test_a_log_that_grows_is_read_on(path):
    """An incomplete line is held back until its end."""
    reader = LogReader(path, LogOptions(container="main"))
    reader.read()
    with path.open("ab") as file:
        file.write(b"2026-02-07T12:00:03.000000001Z stdout F fo")
    assert reader.read() == b""
    with path.open("ab") as file:
        file.write(b"ur\n")
    assert reader.read() == b"four\n"
    assert not reader.is_spent


def test_a_limit_ends_the_reading(path):
    """Nothing is read beyond it."""
    reader = LogReader(path, LogOptions(container="main", limit_bytes=3))
    assert reader.read() == b"one"
    assert reader.is_spent


def test_a_log_that_is_not_there_is_empty(tmp_path):
    """Nothing was written yet."""
    assert LogReader(log_path(tmp_path, "uid", "main"), LogOptions(container="main")).read() == b""
    assert log_path(tmp_path, "u", "c", previous=True) == tmp_path / "u" / "c.previous.log"
