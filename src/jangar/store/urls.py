"""Which database an address names, and whether it is one that history can be kept in. Opens nothing."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

ALLOWED = "postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:///PATH"


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file of this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server, as libpq writes addresses; it holds a password, so it is never shown."""

    dsn: str

    def __repr__(self) -> str:
        return "PostgresServer(...)"


DatabaseAddress = SqliteFile | PostgresServer


def parse_url(text: str) -> DatabaseAddress:
    """Raises ValueError, without a word of the address itself: it may hold a password."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        raise ValueError(f"it is no address of a database; write {ALLOWED}") from None
    scheme = parts.scheme.partition("+")[0]
    if scheme in {"postgresql", "postgres"}:
        return PostgresServer(f"postgresql://{text.strip().split('://', 1)[-1]}")
    if scheme == "sqlite" and text.strip().startswith("sqlite:///") and len(parts.path) > 1:
        path = parts.path[1:]
        return SqliteFile(Path(path))
    raise ValueError(f"it is no address of a database; write {ALLOWED}")
