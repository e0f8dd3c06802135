"""How long the supervisor waits for something to happen."""

import os
import selectors
import time
from types import SimpleNamespace

from picokube.nodeagent.supervisor.daemon import MAX_WAIT, Daemon


def test_a_grace_period_of_years_is_waited_for_in_parts():
    """E15: the kernel refuses a wait of more than 24 days, and the supervisor ended with all its containers."""
    stopping = SimpleNamespace(kill_at=time.monotonic() + 400 * 86_400)
    waiting = SimpleNamespace(
        _containers={1: stopping}, _connections={}, _journal=SimpleNamespace(has_unwritten=False)
    )
    assert Daemon._timeout(waiting) == MAX_WAIT
    with selectors.DefaultSelector() as selector:
        ended, started = os.pipe()
        selector.register(ended, selectors.EVENT_READ)
        os.write(started, b"x")
        assert selector.select(MAX_WAIT)
