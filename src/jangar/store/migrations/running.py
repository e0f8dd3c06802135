"""Migrates a database to a version, forward or back, in one transaction and by one process at a time."""

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from jangar.store.errors import NotHistory

VERSION_TABLE: Final = "jangar_history_version"
NEWEST: Final = "0002"
FOLDER: Final = Path(__file__).parent
_LOCK: Final = 7_126_842_613_310_550_411
"""Key of the PostgreSQL advisory lock that a migration holds. SQLite has one writer anyway."""
_VERSION = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))


def version_of(connection: sa.Connection) -> str | None:
    """The version of a database; None if it has no history."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()


def migrate(connection: sa.Connection, version: str = NEWEST) -> None:
    """Run the migrations to a version, or to `base`: no tables. Raises NotHistory for a newer database."""
    from alembic import command  # noqa: PLC0415 - heavy, and rarely needed
    from alembic.config import Config  # noqa: PLC0415

    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    current = version_of(connection)
    if current == version:
        return
    if current is not None and current > NEWEST:
        raise NotHistory(f"the history has a newer version ({current}) than this program supports ({NEWEST})")
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    if current is not None and (version == "base" or version < current):
        command.downgrade(config, version)
    else:
        command.upgrade(config, version)
