"""Which database an address names."""

from pathlib import Path

import pytest

from jangar.processes.history import address_of
from jangar.settings.variables import BadSettings
from jangar.store.urls import PostgresServer, SqliteFile, parse_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "postgresql://u:p@h:5432/d?sslmode=require",
            PostgresServer("postgresql://u:p@h:5432/d?sslmode=require"),
        ),
        ("postgres://u@h/d", PostgresServer("postgresql://u@h/d")),
        ("postgresql+asyncpg://u@h/d", PostgresServer("postgresql://u@h/d")),
        ("sqlite:////var/lib/history.sqlite", SqliteFile(Path("/var/lib/history.sqlite"))),
        ("sqlite:///here.sqlite", SqliteFile(Path("here.sqlite"))),
    ],
)
def test_addresses_as_people_write_them(text, expected):
    """Those of libpq, and those of SQLAlchemy."""
    assert parse_url(text) == expected


@pytest.mark.rule("GC-5")
@pytest.mark.parametrize("text", ["mysql://u:hunter2@h/d", "hunter2", "sqlite://", "http://[hunter2"])
def test_a_bad_address_stops_the_process_without_being_shown(text):
    """It may hold a password."""
    with pytest.raises(BadSettings, match="DATABASE_URL") as caught:
        address_of(text)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_no_address_means_no_history():
    """Which the status of every run then says."""
    assert address_of("") is None


def test_a_password_is_not_in_the_text_of_an_address():
    """Nor in a log that holds one."""
    assert "hunter2" not in repr(parse_url("postgresql://u:hunter2@h/d"))
