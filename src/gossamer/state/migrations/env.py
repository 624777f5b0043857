"""Alembic's entry: runs revisions on the connection of `Database.migrate`, in its transaction."""

from alembic import context

from gossamer.state.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
