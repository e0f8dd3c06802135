"""Listening sockets, and a sentence for an address that cannot be used."""

import socket
from typing import Final

BACKLOG: Final = 2048
LOOPBACK: Final = "127.0.0.1"


class PortTaken(Exception):
    """The address that was asked for cannot be used; the message says why and what to choose instead."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def listening_as_asked(host: str, port: int, option: str) -> socket.socket:
    """The same for an address that a user chose by `option`. Raises PortTaken."""
    try:
        return listening(host, port)
    except (OSError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        where = f" on {host}" if host and host != LOOPBACK else ""
        raise PortTaken(f"port {port} cannot be used{where} ({why}): choose another with {option}") from error
