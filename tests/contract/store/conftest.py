"""History on SQLite and on a real PostgreSQL, with a new database for every test."""

import secrets

import pytest

from jangar.store.database_history import DatabaseHistory
from jangar.store.urls import parse_url
from support.postgres_server import PostgresServer, why_no_postgres

PARAMETERS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))]


@pytest.fixture(scope="session")
def postgres():
    if obstacle := why_no_postgres():
        pytest.skip(f"history on postgresql: {obstacle}")
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=PARAMETERS)
def url(request, tmp_path):
    """The URL of a database, which may not exist before the first write."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'own' / 'history.sqlite'}"
    server = request.getfixturevalue("postgres")
    name = f"t_{secrets.token_hex(6)}"
    server.sql(f"CREATE DATABASE {name}")
    return server.url.removesuffix("postgres") + name


@pytest.fixture
def opened(url):
    """Opens the history of this database, repeatedly."""
    return lambda **how: DatabaseHistory(parse_url(url), **how)
