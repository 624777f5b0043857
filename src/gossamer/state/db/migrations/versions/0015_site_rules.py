"""Rules of sites, their incoming webhooks, and what robots see of them.

Servers of the revision before go on working with this schema during an upgrade, so this only adds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("sites", sa.Column("rules_json", sa.Text, nullable=False, server_default="[]"))
    op.add_column("sites", sa.Column("rules_sealed", sa.LargeBinary, nullable=True))
    op.create_table(
        "site_hooks",
        sa.Column("site_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("token_hash", sa.String, nullable=False),
        sa.Column("old_token_hash", sa.String, nullable=True),
        sa.Column("old_until", sa.BigInteger, nullable=True),
        sa.Column("secret_sealed", sa.LargeBinary, nullable=True),
        sa.Column("old_secret_sealed", sa.LargeBinary, nullable=True),
        sa.Column("maker_via", sa.String, nullable=False),
        sa.Column("maker_id", sa.String, nullable=False),
        sa.Column("maker_name", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("site_id"),
    )
    op.create_index("ix_site_hooks_tenant_id", "site_hooks", ["tenant_id"])
    op.create_table(
        "site_comparisons",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("site_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("result_json", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_site_comparisons_site_id", "site_comparisons", ["site_id", "id"])
    op.create_index("ix_site_comparisons_tenant_id", "site_comparisons", ["tenant_id"])
