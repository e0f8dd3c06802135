"""Servers for the cases, one of each a worker, started when the first case asks."""

from collections.abc import Iterator

import pytest

from contract.kubernetes_api.standard_kinds import prepare
from support.api_servers import ApiServer, EmbeddedApiServer, RealApiServer


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[ApiServer]:
    server = EmbeddedApiServer()
    try:
        prepare(server)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def real_server() -> Iterator[ApiServer]:
    server = RealApiServer()
    try:
        prepare(server)
        yield server
    finally:
        server.stop()
