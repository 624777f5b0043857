"""What was crawled and is not in the search index yet, and what is to stay out of it."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "unindexed",
        sa.Column("blob", sa.String, nullable=False),
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("crawled_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("attempt", sa.SmallInteger, nullable=False),
        sa.PrimaryKeyConstraint("blob", "crawl_id", name=op.f("pk_unindexed")),
    )
    op.create_index(op.f("ix_unindexed_due_at"), "unindexed", ["due_at"])
    op.create_table(
        "search_drops",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("extent", sa.String, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("dropped_at", sa.BigInteger, nullable=False),
        sa.CheckConstraint("extent IN ('page', 'below', 'beginning')", name=op.f("ck_search_drops_extent")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_drops")),
    )
    op.create_index(op.f("ix_search_drops_tenant_id_dropped_at"), "search_drops", ["tenant_id", "dropped_at"])
    if op.get_bind().dialect.name == "postgresql":
        # Who writes says how much of it may wait to be sorted in.
        op.execute("ALTER INDEX ix_search_words_words RESET (gin_pending_list_limit)")
