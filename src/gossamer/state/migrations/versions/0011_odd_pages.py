"""The pages of a crawl that are not as most are, which somebody looks for among millions."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    for column, condition in (("outcome", "outcome <> 'ok'"), ("status_code", "status_code <> 200")):
        where = sa.text(condition)
        op.create_index(
            f"ix_crawled_pages_odd_{column}",
            "crawled_pages",
            ["crawl_id", column, "crawled_at", "url_hash"],
            sqlite_where=where,
            postgresql_where=where,
        )
