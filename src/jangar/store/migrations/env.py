"""Runs the migrations on the given connection. Alembic executes this file for every command."""

from alembic import context

from jangar.store.migrations.running import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
