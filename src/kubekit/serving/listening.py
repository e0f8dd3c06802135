"""Listening sockets, with an actionable error for an address in use."""

import socket
from typing import Final

BACKLOG: Final = 2048
LOOPBACK: Final = "127.0.0.1"


class PortTaken(Exception):
    """The requested address cannot be used; the message says why and which option to change."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def listen_on_option(host: str, port: int, option: str) -> socket.socket:
    """A socket on an address that the user set with `option`. Raises PortTaken."""
    try:
        return listening(host, port)
    except (OSError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        where = f" on {host}" if host and host != LOOPBACK else ""
        raise PortTaken(f"port {port} cannot be used{where} ({why}): choose another with {option}") from error
