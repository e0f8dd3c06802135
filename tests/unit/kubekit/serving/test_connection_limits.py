"""Limits of a port: how many connections, which of them go first, and when a client took too long."""

import resource
from dataclasses import dataclass

import pytest

from kubekit.serving.connection_limits import (
    MAX_CONNECTIONS,
    STALLED_SECONDS,
    Phase,
    connections_for,
    evicted,
    is_overdue,
)


@dataclass
class Known:
    """A connection as the limits see it."""

    phase: Phase
    since: float = 0.0
    stalled_since: float | None = None


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [(256, 64), (1024, 256), (65_536, MAX_CONNECTIONS), (resource.RLIM_INFINITY, MAX_CONNECTIONS), (16, 8)],
)
def test_a_port_takes_a_part_of_the_descriptors(descriptors, connections):
    """E5: three ports together leave descriptors for the files of the process."""
    assert connections_for(descriptors) == connections


@pytest.mark.parametrize("phase", Phase)
def test_a_client_has_a_deadline_in_every_phase_that_it_could_hold(phase):
    """E6: only an answer, and the time between two requests, which uvicorn bounds, have none here."""
    seconds = phase.seconds
    assert (seconds is None) is (phase in {Phase.ANSWERING, Phase.KEEP_ALIVE})
    if seconds is not None:
        assert not is_overdue(Known(phase), seconds)
        assert is_overdue(Known(phase), seconds + 0.001)


def test_a_client_that_does_not_read_is_overdue_in_an_answer_as_well():
    assert is_overdue(Known(Phase.ANSWERING, stalled_since=0.0), STALLED_SECONDS + 1)
    assert not is_overdue(Known(Phase.ANSWERING, stalled_since=None), 1e9)


def test_clients_without_a_request_are_disconnected_first_and_answers_never():
    """E5: a full port makes room without closing active connections."""
    new, half, idle, sending, served = (
        Known(Phase.NEW, 3.0),
        Known(Phase.HEADERS, 1.0),
        Known(Phase.KEEP_ALIVE, 0.0),
        Known(Phase.BODY, 0.0),
        Known(Phase.ANSWERING, 0.0),
    )
    everyone = [served, sending, idle, new, half]
    assert evicted(everyone, 16) == [half]
    assert evicted(everyone, 64) == [half, new]
    assert evicted([served, sending, idle], 64) == [idle]
    assert evicted([served, sending], 64) == [sending]
    assert evicted([served], 64) == []
