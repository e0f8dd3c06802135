"""The port of a laptop's API: the same at every start where that can be, so that a kubeconfig stays good."""

import errno
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from kubekit.serving.listening import listening, listening_as_asked

HOST = "127.0.0.1"
FIRST = 7443
SEVERAL = 10
"""So many data directories side by side have ports next to each other."""


def listener(asked: int | None, kubeconfig: Path) -> socket.socket:
    """On the port asked for, else the one written in the kubeconfig, else the first that is free. Raises PortTaken."""
    if asked is not None:
        return listening_as_asked(HOST, asked, "--port, or leave it out for one that is free")
    for port in _candidates(port_in(kubeconfig)):
        try:
            return listening(HOST, port)
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
    return listening(HOST, 0)


def port_in(kubeconfig: Path) -> int | None:
    """Where clients that have this kubeconfig look for the server."""
    try:
        found = yaml.load(kubeconfig.read_text(), Loader=yaml.CSafeLoader)
        return urlsplit(str(found["clusters"][0]["cluster"]["server"])).port
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return None


def _candidates(last: int | None) -> Iterator[int]:
    if last is not None:
        yield last
    yield from (port for port in range(FIRST, FIRST + SEVERAL) if port != last)
