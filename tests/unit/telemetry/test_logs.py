"""Lines that a process logs."""

import io
import logging

import pytest

from jangar.telemetry.logs import configure_logs


@pytest.fixture
def stream():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    made = io.StringIO()
    configure_logs(made)
    yield made
    root.handlers = handlers
    root.setLevel(level)


def test_a_line_tells_its_time_its_source_and_what_was_given(stream):
    """Values that would break the line are quoted."""
    logging.getLogger("kubekit").warning("pass failed", extra={"key": "ns/run", "error": 'no "x" here'})
    line = stream.getvalue()
    assert line.endswith(' warning kubekit: pass failed key=ns/run error="no \\"x\\" here"\n')
    assert line[10] == "T"
    assert line.split(" ")[0].endswith("Z")


def test_an_entry_stays_on_its_line(stream):
    """What others have written cannot forge an entry."""
    logging.getLogger("a").info("one\ntwo", extra={"value": "x\ny"})
    assert stream.getvalue().count("\n") == 1


def test_a_traceback_follows(stream):
    try:
        raise ValueError("broken")  # noqa: TRY301
    except ValueError:
        logging.getLogger("a").exception("it failed")
    assert "ValueError: broken" in stream.getvalue()
