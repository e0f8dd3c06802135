"""Lines that a process logs."""

import io
import json
import logging

import pytest

from jangar.telemetry.logs import configure_logs


@pytest.fixture
def form():
    return "text"


@pytest.fixture
def stream(form):
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    output = io.StringIO()
    configure_logs(output, form=form)
    yield output
    root.handlers = handlers
    root.setLevel(level)


def test_a_line_has_time_level_logger_event_and_fields(stream):
    """Values that would break the line are quoted."""
    logging.getLogger("kubekit").warning("pass failed", extra={"key": "ns/run", "error": 'no "x" here'})
    line = stream.getvalue()
    assert line.endswith(' warning kubekit: pass failed key=ns/run error="no \\"x\\" here"\n')
    assert line[10] == "T"
    assert line.split(" ")[0].endswith("Z")


def test_a_record_is_one_line(stream):
    """Values with line breaks cannot forge a record."""
    logging.getLogger("a").info("one\ntwo", extra={"value": "x\ny"})
    assert stream.getvalue().count("\n") == 1


def test_a_traceback_follows(stream):
    try:
        raise ValueError("broken")  # noqa: TRY301
    except ValueError:
        logging.getLogger("a").exception("it failed")
    assert "ValueError: broken" in stream.getvalue()


@pytest.mark.parametrize("form", ["json"])
def test_json_has_the_same_fields(stream):
    """Values keep their JSON types; anything else is text. A field cannot replace the event."""
    logging.getLogger("kubekit").warning(
        "lease lost", extra={"shard": 3, "cause": OSError("x\ny"), "event": "z"}
    )
    (line,) = stream.getvalue().splitlines()
    record = json.loads(line)
    assert record.pop("time").endswith("Z")
    assert record == {
        "level": "warning",
        "logger": "kubekit",
        "event": "lease lost",
        "shard": 3,
        "cause": "x\ny",
    }


@pytest.mark.parametrize("form", ["json"])
def test_a_traceback_is_a_field_in_json(stream):
    try:
        raise ValueError("broken")  # noqa: TRY301
    except ValueError:
        logging.getLogger("a").exception("pass failed")
    assert "ValueError: broken" in json.loads(stream.getvalue())["exception"]
