"""The beds; servers are started on first use, once per worker."""

import secrets

import pytest

from contract.kube.beds import HttpBed, InProcessBed
from support.api_servers import EmbeddedApiServer, RealApiServer
from support.envtest import missing_parts

BEDS = ["embedded", "asgi", "real"]


class _Lazily:
    def __init__(self, start):
        self._start, self._server = start, None

    def __call__(self):
        self._server = self._server or self._start()
        return self._server

    def stop(self):
        if self._server is not None:
            self._server.stop()


@pytest.fixture(scope="session")
def servers():
    servers = {"embedded": _Lazily(EmbeddedApiServer), "real": _Lazily(RealApiServer)}
    try:
        yield servers
    finally:
        for server in servers.values():
            server.stop()


@pytest.fixture(params=BEDS)
def bed(request, servers, tmp_path):
    if request.param == "asgi":
        return InProcessBed(tmp_path)
    if request.param == "real" and (missing := missing_parts()):
        pytest.skip(f"no {', '.join(missing)} (make envtest)")
    return HttpBed(request.param, servers[request.param], logs=request.param == "embedded")


@pytest.fixture
def namespace():
    """An unused namespace name."""
    return f"test-{secrets.token_hex(4)}"
