"""Parses the URL of the history database."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

ALLOWED = "postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:///PATH"


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A SQLite file."""

    path: Path


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL server as a libpq DSN. It may contain a password and is never shown."""

    dsn: str

    def __repr__(self) -> str:
        return "PostgresServer(...)"


DatabaseAddress = SqliteFile | PostgresServer


def parse_url(text: str) -> DatabaseAddress:
    """Parse a database URL. Raises ValueError without quoting the URL, which may contain a password."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        raise ValueError(f"not a database URL; use {ALLOWED}") from None
    scheme = parts.scheme.partition("+")[0]
    if scheme in {"postgresql", "postgres"}:
        return PostgresServer(f"postgresql://{text.strip().split('://', 1)[-1]}")
    if scheme == "sqlite" and text.strip().startswith("sqlite:///") and len(parts.path) > 1:
        path = parts.path[1:]
        return SqliteFile(Path(path))
    raise ValueError(f"not a database URL; use {ALLOWED}")
