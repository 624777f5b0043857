"""Alembic's entry: runs revisions on the connection of `Database.migrate`, in its transaction."""

from alembic import context

from gossamer.state.backup import backup_tables  # noqa: F401
from gossamer.state.crawl import crawl_tables  # noqa: F401  (with these, all tables are known)
from gossamer.state.db.columns import metadata
from gossamer.state.pay import pay_tables  # noqa: F401

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
