"""The tables about backups and restores. They describe this database, so no backup contains them."""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Table

from gossamer.state.db.columns import id_, metadata, text_, time_

backups: Final = Table(
    "backups",
    metadata,
    id_(primary_key=True),
    text_("place"),
    time_("started_at"),
    time_("snapshot_at", nullable=True),
    time_("finished_at", nullable=True),  # empty: it runs, or has failed
    time_("held_until"),  # until then no blob is dropped; 0 when it has ended
    Column("rows", BigInteger, nullable=False, server_default="0"),
    Column("bytes", BigInteger, nullable=False, server_default="0"),
    Index(None, "finished_at"),
)

restores: Final = Table(
    "restores",
    metadata,
    id_(primary_key=True),
    text_("backup_id"),
    text_("place"),
    time_("snapshot_at"),  # of the backup
    time_("started_at"),
    time_("finished_at", nullable=True),  # empty: nothing may start on this database
)
