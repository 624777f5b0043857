"""Alembic's entry: runs revisions on the connection of `Database.migrate`, in its transaction, or writes
their statements down for `Database.plan_migration`."""

from alembic import context

from gossamer.state.db.all_tables import metadata

given = context.config.attributes
if context.is_offline_mode():
    context.configure(
        dialect_name=given["dialect"].name,
        output_buffer=given["written"],
        target_metadata=metadata,
        literal_binds=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()
else:
    context.configure(connection=given["connection"], target_metadata=metadata)
    context.run_migrations()
