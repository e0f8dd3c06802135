"""Which version a database's history is of."""

import sqlalchemy as sa

from jangar.store.migrations.location import VERSION_TABLE

_VERSION = sa.table(VERSION_TABLE, sa.column("version_num", sa.String))


def version_of(connection: sa.Connection) -> str | None:
    """None without a history."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.select(_VERSION.c.version_num)).scalar_one_or_none()
