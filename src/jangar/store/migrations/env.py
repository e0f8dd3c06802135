"""What Alembic runs for every command: the migrations, on the connection that it is handed."""

from alembic import context

from jangar.store.migrations.location import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
