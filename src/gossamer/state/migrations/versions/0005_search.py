"""The search index, and the tenant of all who have no account."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

PUBLIC = "7" + "Z" * 25


def upgrade() -> None:
    tenants = sa.table("tenants", *map(sa.column, ("id", "email", "name", "created_at")))
    # No email address, so nobody can get a key of this tenant.
    op.bulk_insert(tenants, [{"id": PUBLIC, "email": "public", "name": "Public", "created_at": 0}])
    _pages()
    op.create_table(
        "search_tenants",
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_search_tenants")),
    )
    if op.get_bind().dialect.name == "sqlite":
        # The words come ready (`web/words.py`): this tokenizer only parts them at the spaces.
        op.execute(
            "CREATE VIRTUAL TABLE search_words USING fts5(facets, title, description, body, tokenize='ascii')"
        )
    else:
        op.execute("CREATE TABLE search_words (id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)")
        # At most 256 kB that are not sorted in yet: every search goes through these from end to end.
        op.execute(
            "CREATE INDEX ix_search_words_words ON search_words USING gin (words)"
            " WITH (gin_pending_list_limit = 256)"
        )


def _pages() -> None:
    op.create_table(
        "search_pages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("site", sa.String, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("final_url", sa.Text, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("published_at", sa.BigInteger, nullable=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.CheckConstraint("length(name) = 64", name=op.f("ck_search_pages_name_is_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_pages")),
        sa.UniqueConstraint("name", name=op.f("uq_search_pages_name")),
    )
    op.create_index(op.f("ix_search_pages_tenant_id_id"), "search_pages", ["tenant_id", "id"])
    op.create_index(op.f("ix_search_pages_tenant_id_site"), "search_pages", ["tenant_id", "site"])
