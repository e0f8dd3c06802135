"""How many connections a port takes, and how long a client may take for each part of a request. Pure.

Clients that have said nothing yet, or only half of it, are the first to go when a port is full: anybody who can reach
the port can be one of them.
"""

import resource
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeVar

MAX_CONNECTIONS: Final = 2048
MIN_CONNECTIONS: Final = 8
SHARE_OF_DESCRIPTORS: Final = 4
"""A port takes at most one in so many of the descriptors of the process: the rest is for its own files."""
EVICTED_AT_ONCE: Final = 16
"""A full port makes room for one in so many connections."""
MAX_DESCRIPTORS: Final = 65_536


class Phase(Enum):
    """How far a connection is with its current request, and how many seconds it may take for that."""

    HANDSHAKE = "handshake"
    NEW = "new"
    """Open, and nothing was received yet."""
    HEADERS = "headers"
    BODY = "body"
    ANSWERING = "answering"
    KEEP_ALIVE = "keep-alive"
    CLOSING = "closing"

    @property
    def seconds(self) -> float | None:
        """None without a deadline here: answers have their own, watches none, and uvicorn ends idle connections."""
        return _SECONDS.get(self)


_SECONDS: Final = {
    Phase.HANDSHAKE: 10.0,
    Phase.NEW: 10.0,
    Phase.HEADERS: 10.0,
    Phase.BODY: 60.0,
    Phase.CLOSING: 5.0,
}
STALLED_SECONDS: Final = 60.0
"""A client that does not read for so long is disconnected, in a watch as well."""
_EVICTED_FIRST: Final = (
    frozenset({Phase.CLOSING, Phase.HANDSHAKE, Phase.NEW, Phase.HEADERS}),
    frozenset({Phase.KEEP_ALIVE}),
    frozenset({Phase.BODY}),
)


class Connection(Protocol):
    """What is known of one connection."""

    phase: Phase
    since: float
    """When the phase began; a request's body counts from its first byte."""
    stalled_since: float | None
    """When the client stopped reading."""


C = TypeVar("C", bound=Connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Of one port."""

    connections: int
    header_bytes: int = 128 * 1024

    @classmethod
    def of_process(cls) -> "ConnectionLimits":
        """What the descriptors of this process allow."""
        return cls(connections=connections_for(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def connections_for(descriptors: int) -> int:
    """How many connections one port may have in a process with so many descriptors."""
    if descriptors == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, descriptors // SHARE_OF_DESCRIPTORS))


def is_overdue(connection: Connection, now: float) -> bool:
    """Whether the client took too long."""
    stalled = connection.stalled_since
    if stalled is not None and now - stalled > STALLED_SECONDS:
        return True
    seconds = connection.phase.seconds
    return seconds is not None and now - connection.since > seconds


def evicted(connections: Iterable[C], limit: int) -> list[C]:
    """Whom to disconnect so that others can connect: those without a whole request first, the oldest of them."""
    wanted = max(1, limit // EVICTED_AT_ONCE)
    known = sorted(connections, key=lambda item: item.since)
    for phases in _EVICTED_FIRST:
        found = [item for item in known if item.phase in phases]
        if found:
            return found[:wanted]
    return []


def raise_descriptor_limit() -> None:
    """Use the descriptors that the machine allows this process, at most MAX_DESCRIPTORS."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # macOS has a lower bound of its own, which it does not tell; the soft limit stays.
        return
