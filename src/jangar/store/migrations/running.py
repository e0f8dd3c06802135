"""Bringing a database to a version, forward or back, in one transaction, one process at a time."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from jangar.store.errors import NotHistory
from jangar.store.migrations.location import FOLDER, NEWEST
from jangar.store.versions import version_of

_LOCK = 7_126_842_613_310_550_411
"""Key of the PostgreSQL advisory lock that a migration holds. SQLite has one writer anyway."""


def migrate(connection: Connection, version: str = NEWEST) -> None:
    """Run what is missing. A database of a newer program is refused: what it holds is not ours to understand."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    at = version_of(connection)
    if at == version:
        return
    if at is not None and at > NEWEST:
        raise NotHistory(f"the history has a newer version ({at}) than this program supports ({NEWEST})")
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    if at is not None and (version == "base" or version < at):
        command.downgrade(config, version)
    else:
        command.upgrade(config, version)
