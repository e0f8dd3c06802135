"""Servers for the cases, one of each per worker, started on first use and again if a case ends one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.kubernetes_api.standard_kinds import prepare
from support.api_servers import ApiServer, EmbeddedApiServer, RealApiServer
from support.envtest import missing_parts


def pytest_collection_modifyitems(config, items):
    """Skips tests that need missing binaries; the summary lists them."""
    if missing_parts():
        here = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
        left_out = {item for item in here if "real_server" in getattr(item, "fixturenames", ())}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


class _Kept:
    """A server that is started once, and again if it has ended."""

    def __init__(self, start: Callable[[], ApiServer]) -> None:
        self._start = start
        self._server: ApiServer | None = None

    def alive(self) -> ApiServer:
        if self._server is not None and self._server.last_output() is not None:
            self.stop()
        if self._server is None:
            self._server = self._start()
            prepare(self._server)
        return self._server

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


@pytest.fixture(scope="session")
def kept_embedded() -> Iterator[_Kept]:
    # The real bed publishes no certificate in namespaces either.
    kept = _Kept(lambda: EmbeddedApiServer(bare=True))
    try:
        yield kept
    finally:
        kept.stop()


@pytest.fixture(scope="session")
def kept_real() -> Iterator[_Kept]:
    kept = _Kept(RealApiServer)
    try:
        yield kept
    finally:
        kept.stop()


@pytest.fixture
def embedded_server(kept_embedded: _Kept) -> ApiServer:
    return kept_embedded.alive()


@pytest.fixture
def real_server(kept_real: _Kept) -> ApiServer:
    return kept_real.alive()
