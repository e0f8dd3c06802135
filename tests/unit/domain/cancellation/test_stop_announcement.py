"""Whether work was cut by a stop, or had ended before it (CAN-7)."""

import pytest

from jangar.domain.cancellation import Stop, not_before
from support.builders import at

STOP = Stop(requested_at=at(5.5), reason="Cancelled", deadline=at(60))


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize(
    ("ended_at", "cut"),
    [
        pytest.param(at(4.999), False, id="the-second-before"),
        pytest.param(at(5), True, id="in-that-second"),
        pytest.param(at(5.5), True, id="at-that-moment"),
        pytest.param(at(6), True, id="later"),
        pytest.param(None, True, id="time-unknown"),
    ],
)
def test_work_that_ended_in_the_second_of_its_stop_or_later_was_cut(ended_at, cut):
    """CAN-7: a container's times have whole seconds; ended in that second or later is never a success."""
    assert STOP.cut(ended_at) is cut
    assert not_before(ended_at, at(5.5)) is cut
