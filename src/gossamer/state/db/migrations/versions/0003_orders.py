"""Long work that wallets buy, and their credit.

Servers of the revision before go on working with this schema during an upgrade, so this only adds: a column
with a default, tables, and indexes.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("payments", sa.Column("credit", sa.BigInteger, nullable=False, server_default="0"))
    _orders()
    _credit()
    op.create_table(
        "server_secrets",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("secret", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _orders() -> None:
    op.create_table(
        "orders",
        sa.Column("payment_id", sa.String(26), nullable=False),
        sa.Column("network", sa.String, nullable=False),
        sa.Column("payer", sa.String, nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("subject", sa.String(26), nullable=False),
        sa.Column("job_id", sa.String(26), nullable=True),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("repeat_key", sa.String(64), nullable=True),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("page_price", sa.BigInteger, nullable=False),
        sa.Column("answer_json", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("done", sa.Integer, nullable=True),
        sa.Column("closed_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("payment_id"),
        sa.CheckConstraint("kind IN ('batch', 'crawl', 'audit')", name="kind"),
        sa.CheckConstraint("pages > 0", name="pages_are_positive"),
        sa.CheckConstraint("done >= 0 AND done <= pages", name="done_is_at_most_all"),
        sa.CheckConstraint("closed_at IS NULL OR done IS NOT NULL", name="counted_when_closed"),
    )
    op.create_index("ix_orders_subject", "orders", ["subject"])
    op.create_index("ix_orders_tenant", "orders", ["tenant_id"])
    op.create_index("ix_orders_open", "orders", ["payment_id"], **_where("closed_at IS NULL"))
    named = _where("repeat_key IS NOT NULL")
    op.create_index("uq_orders_repeat_key", "orders", ["repeat_key"], unique=True, **named)


def _credit() -> None:
    op.create_table(
        "credit_grants",
        sa.Column("payment_id", sa.String(26), nullable=False),
        sa.Column("network", sa.String, nullable=False),
        sa.Column("payer", sa.String, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("payment_id"),
        sa.CheckConstraint("amount > 0", name="amount_is_positive"),
    )
    op.create_index("ix_credit_grants_wallet", "credit_grants", ["network", "payer"])
    op.create_table(
        "wallets",
        sa.Column("network", sa.String, nullable=False),
        sa.Column("payer", sa.String, nullable=False),
        sa.Column("credit", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("network", "payer"),
        sa.CheckConstraint("credit >= 0", name="credit_is_not_negative"),
    )


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
