"""The maximum number of connections of a port, and the timeouts for each part of a request. Pure.

When a port is full, clients that have not sent a complete request are disconnected first, because they have not been
authenticated.
"""

import resource
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeVar

MAX_CONNECTIONS: Final = 2048
MIN_CONNECTIONS: Final = 8
SHARE_OF_DESCRIPTORS: Final = 4
"""A port uses at most one in this many descriptors of the process; the rest is for its files."""
EVICTED_AT_ONCE: Final = 16
"""A full port evicts one in this many connections."""
MAX_DESCRIPTORS: Final = 65_536


class Phase(Enum):
    """The progress of a connection with its current request, which determines its timeout."""

    HANDSHAKE = "handshake"
    NEW = "new"
    """Open; nothing was received yet."""
    HEADERS = "headers"
    BODY = "body"
    ANSWERING = "answering"
    KEEP_ALIVE = "keep-alive"
    CLOSING = "closing"

    @property
    def seconds(self) -> float | None:
        """The timeout. None if there is none here: responses have their own, and uvicorn ends idle connections."""
        return _SECONDS.get(self)


_SECONDS: Final = {
    Phase.HANDSHAKE: 10.0,
    Phase.NEW: 10.0,
    Phase.HEADERS: 10.0,
    Phase.BODY: 60.0,
    Phase.CLOSING: 5.0,
}
STALLED_SECONDS: Final = 60.0
"""Seconds after which a client that doesn't read is disconnected, also from a watch."""
_EVICTED_FIRST: Final = (
    frozenset({Phase.CLOSING, Phase.HANDSHAKE, Phase.NEW, Phase.HEADERS}),
    frozenset({Phase.KEEP_ALIVE}),
    frozenset({Phase.BODY}),
)


class Connection(Protocol):
    """The state of a connection."""

    phase: Phase
    since: float
    """When the phase began. The time for the body starts with the headers."""
    stalled_since: float | None
    """When the client stopped reading."""


C = TypeVar("C", bound=Connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits of one port."""

    connections: int
    header_bytes: int = 128 * 1024

    @classmethod
    def of_process(cls) -> "ConnectionLimits":
        """The limits that the file descriptors of this process allow."""
        return cls(connections=connections_for(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def connections_for(descriptors: int) -> int:
    """The maximum number of connections of a port for this limit of descriptors."""
    if descriptors == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, descriptors // SHARE_OF_DESCRIPTORS))


def is_overdue(connection: Connection, now: float) -> bool:
    """Whether the connection exceeded a timeout."""
    stalled = connection.stalled_since
    if stalled is not None and now - stalled > STALLED_SECONDS:
        return True
    seconds = connection.phase.seconds
    return seconds is not None and now - connection.since > seconds


def evicted(connections: Iterable[C], limit: int) -> list[C]:
    """The connections to disconnect when the port is full: without a complete request first, then the oldest."""
    wanted = max(1, limit // EVICTED_AT_ONCE)
    known = sorted(connections, key=lambda item: item.since)
    for phases in _EVICTED_FIRST:
        candidates = [item for item in known if item.phase in phases]
        if candidates:
            return candidates[:wanted]
    return []


def raise_descriptor_limit() -> None:
    """Raise the soft limit of file descriptors to the hard limit, at most to MAX_DESCRIPTORS."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # macOS has a lower limit that it doesn't report. Keep the soft limit.
        return
