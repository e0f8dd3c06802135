"""The port of the local API server: the previous one if possible, which keeps existing kubeconfigs valid."""

import errno
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from kubekit.serving.listening import listen_on_option, listening

HOST = "127.0.0.1"
FIRST_PORT = 7443
PORT_COUNT = 10
"""Number of data directories that get consecutive ports."""


def listener(port: int | None, kubeconfig: Path) -> socket.socket:
    """Listen on the given port, or the one in the kubeconfig, or the first free one. Raises PortTaken."""
    if port is not None:
        return listen_on_option(HOST, port, "--port, or omit it to use a free port")
    for candidate in _candidates(port_in(kubeconfig)):
        try:
            return listening(HOST, candidate)
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
    return listening(HOST, 0)


def port_in(kubeconfig: Path) -> int | None:
    """The server port in the kubeconfig; None if it cannot be read."""
    try:
        config = yaml.load(kubeconfig.read_text(), Loader=yaml.CSafeLoader)
        return urlsplit(str(config["clusters"][0]["cluster"]["server"])).port
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return None


def _candidates(last: int | None) -> Iterator[int]:
    if last is not None:
        yield last
    yield from (port for port in range(FIRST_PORT, FIRST_PORT + PORT_COUNT) if port != last)
