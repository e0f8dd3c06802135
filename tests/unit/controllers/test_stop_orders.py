"""What a stop request to a child contains."""

import pytest

from jangar.controllers.resources import stop_annotation, stop_deadline
from jangar.kinds.run_objects import STOP
from support.builders import at


def test_an_order_is_read_as_it_was_written():
    """To the millisecond."""
    assert stop_deadline(stop_annotation(reason="RunCancelled", deadline=at(1.5))) == at(1.5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "null",
        "[]",
        '"text"',
        "{}",
        '{"deadline": null}',
        '{"deadline": 5}',
        '{"deadline": "soon"}',
        '{"deadline": "2026-02-07T12:00:00"}',
        '{"deadline": "0001-01-01T00:00:00+14:00"}',
        "[" * 100_000,
    ],
)
def test_an_order_that_no_one_can_read_is_none(text):
    """Any user can write an annotation: it must not stop the controller from reconciling the child."""
    assert stop_deadline({STOP: text[:200_000]}) is None


def test_without_annotations_there_is_no_order():
    """Neither is one in annotations of others."""
    assert stop_deadline(None) is None
    assert stop_deadline({"other": "x"}) is None
