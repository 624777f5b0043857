"""Ranking of searches: weights of terms, headings and languages of pages, and a lexicon.

Servers of the revision before go on working with this schema during an upgrade, so this only adds. Pages that
were indexed before are found as before; they have no weights until they are indexed again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("search_pages", sa.Column("language", sa.String, nullable=False, server_default=""))
    op.add_column("search_pages", sa.Column("outline", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "search_weights",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=False
        ),
        sa.Column("weights", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "search_lexicon",
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("word", sa.String().with_variant(sa.String(collation="C"), "postgresql"), nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("forms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "word"),
        sqlite_with_rowid=False,
    )
