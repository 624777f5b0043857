"""Payments for requests."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "payments",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("network", sa.String, nullable=False),
        sa.Column("payer", sa.String, nullable=False),
        sa.Column("nonce", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("held_until", sa.BigInteger, nullable=False),
        sa.Column("version", sa.SmallInteger, nullable=False),
        sa.Column("asset", sa.String, nullable=False),
        sa.Column("pay_to", sa.String, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("endpoint", sa.String, nullable=False),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("request_id", sa.String, nullable=False),
        sa.Column("identifier", sa.String(64), nullable=True),
        sa.Column("wire_json", sa.Text, nullable=True),
        sa.Column("lasts_until", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("transaction_id", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("verified_at", sa.BigInteger, nullable=True),
        sa.Column("served_at", sa.BigInteger, nullable=True),
        sa.Column("settled_at", sa.BigInteger, nullable=True),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("delivered_at", sa.BigInteger, nullable=True),
        sa.CheckConstraint(
            "state IN ('reserved', 'verified', 'served', 'pending', 'settled', 'released')",
            name=op.f("ck_payments_state"),
        ),
        sa.CheckConstraint("amount > 0", name=op.f("ck_payments_amount_is_positive")),
        sa.CheckConstraint(
            "(state IN ('settled', 'released')) = (ended_at IS NOT NULL)",
            name=op.f("ck_payments_ended_when_it_ends"),
        ),
        sa.CheckConstraint(
            "(state = 'settled') = (settled_at IS NOT NULL)", name=op.f("ck_payments_settled_when_it_is")
        ),
        sa.CheckConstraint("length(request_hash) = 64", name=op.f("ck_payments_request_hash_is_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_payments")),
    )
    _index("uq_payments_authorization", ["network", "payer", "nonce"], "state <> 'released'", unique=True)
    _index(
        "uq_payments_identifier",
        ["identifier"],
        "identifier IS NOT NULL AND state <> 'released'",
        unique=True,
    )
    _index("ix_payments_open", ["held_until"], "ended_at IS NULL")


def _index(name: str, columns: list[str], condition: str, *, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(name, "payments", columns, unique=unique, sqlite_where=where, postgresql_where=where)
