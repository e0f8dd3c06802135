"""One interface to SQLite and PostgreSQL that runs work in a transaction.

The work is synchronous code on a SQLAlchemy connection. SQLite runs it in a thread, PostgreSQL on the event loop with
asyncpg.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from jangar.store.errors import NoSpace, NotHistory, Refused, StoreError, Unavailable
from jangar.store.urls import DatabaseAddress, PostgresServer, SqliteFile
from kubekit.private_files import create_private, enable_shrinking

T = TypeVar("T")

BUSY_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 10.0
TRANSACTION_SECONDS: Final = 30.0
_POSTGRES_DISK_FULL: Final = "53100"
_PERMANENT_ERRORS: Final = (exc.DataError, exc.IntegrityError)


class Database(Protocol):
    """One database."""

    async def run(self, work: Callable[[sa.Connection], T]) -> T:
        """Run the work in one transaction and commit it durably. Raises StoreError."""

    async def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run read-only work without a write lock. Raises StoreError."""
        ...

    async def close(self) -> None: ...


def database_at(address: DatabaseAddress, *, read_only: bool = False) -> Database:
    """The database at the address, opened when it is first used."""
    match address:
        case SqliteFile(path=path):
            return SqliteDatabase(path, read_only=read_only)
        case PostgresServer(dsn=dsn):
            return PostgresDatabase(dsn)


class SqliteDatabase:
    """A SQLite file, used from one thread."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._engine: sa.Engine | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="history")
        self._is_reading = read_only

    async def run(self, work: Callable[[sa.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._work, work, self._read_only
        )

    async def read(self, work: Callable[[sa.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._work, work, True)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _work(self, work: Callable[[sa.Connection], T], is_reading: bool) -> T:
        self._is_reading = is_reading
        try:
            if self._engine is None:
                self._engine = self._open()
            with self._engine.begin() as connection:
                return work(connection)
        except StoreError:
            raise
        except (exc.SQLAlchemyError, OSError, sqlite3.Error) as error:
            raise _translate_error(error) from error

    def _open(self) -> sa.Engine:
        if self._read_only and not self._path.exists():
            raise NotHistory(f"no history database at {self._path}")
        if not self._read_only:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        engine = sa.create_engine(
            "sqlite://", creator=self._connect, poolclass=sa.StaticPool, isolation_level=None
        )
        # The driver itself would start a transaction only for some statements, and never for DDL.
        sa.event.listen(engine, "begin", self._begin)
        return engine

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self._read_only else "rwc"
        if not self._read_only:
            create_private(self._path)
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        if not self._read_only:
            self._path.chmod(0o600)
            with suppress(sqlite3.OperationalError):
                # The disk is full or another process reads the file. It stays usable; the next start tries again.
                enable_shrinking(connection)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        return connection

    def _begin(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN" if self._is_reading else "BEGIN IMMEDIATE")

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


class PostgresDatabase:
    """A PostgreSQL server with a small connection pool that replaces broken connections."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._engine: AsyncEngine | None = None

    async def run(self, work: Callable[[sa.Connection], T]) -> T:
        if self._engine is None:
            self._engine = create_async_engine(
                "postgresql+asyncpg://",
                async_creator=self._connect,
                pool_size=4,
                max_overflow=0,
                pool_pre_ping=True,
                pool_timeout=TRANSACTION_SECONDS,
            )
        try:
            async with asyncio.timeout(TRANSACTION_SECONDS), self._engine.begin() as connection:
                return await connection.run_sync(work)
        except StoreError:
            raise
        except (exc.SQLAlchemyError, OSError, TimeoutError) as error:
            raise _translate_error(error) from error
        except Exception as error:
            if not isinstance(error, _asyncpg_errors()):
                raise
            raise _translate_error(error) from error

    async def read(self, work: Callable[[sa.Connection], T]) -> T:
        return await self.run(work)

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.dispose()
            self._engine = None

    async def _connect(self) -> Any:
        import asyncpg  # noqa: PLC0415 - not needed for SQLite

        return await asyncpg.connect(
            self._dsn,
            timeout=CONNECT_SECONDS,
            command_timeout=TRANSACTION_SECONDS,
            server_settings={"application_name": "jangar-history"},
        )


def _asyncpg_errors() -> tuple[type[Exception], ...]:
    import asyncpg  # noqa: PLC0415 - not needed for SQLite

    return (asyncpg.PostgresError, asyncpg.InterfaceError)


def _translate_error(error: Exception) -> StoreError:
    """Refused if the data is at fault; other errors may be temporary."""
    match error:
        case exc.DBAPIError(connection_invalidated=False) if isinstance(error, _PERMANENT_ERRORS):
            return Refused(_first_line(error.orig))
        case exc.DBAPIError() if _is_full(error.orig):
            return NoSpace(_first_line(error.orig))
        case exc.DBAPIError():
            return Unavailable(_first_line(error.orig))
        case exc.StatementError():
            return Refused(_first_line(error.orig))
        case _:
            return Unavailable(_first_line(error))


def _is_full(error: object) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return getattr(error, "sqlstate", None) == _POSTGRES_DISK_FULL or (
        code is not None and code & 0xFF == sqlite3.SQLITE_FULL
    )


def _first_line(error: object) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
