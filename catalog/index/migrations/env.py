"""Runs revisions on the connection, and in the transaction, of `catalog.index.migration`."""

from alembic import context

from aerolog.catalog.index.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
