"""The tables of payments. A change needs a revision."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_

# What a facilitator adds to the terms of a network, for times when it does not answer.
facilitator_kinds: Final = Table(
    "facilitator_kinds",
    metadata,
    text_("url", primary_key=True),
    text_("network", primary_key=True),
    text_("extra_json"),
)

# A payment for a request; `ledger.py` shows the state machine. There is one row for each authorisation,
# besides released ones. No foreign keys: the ledger outlives tenants and requests.
payments: Final = Table(
    "payments",
    metadata,
    id_(primary_key=True),
    text_("network"),
    text_("payer"),
    text_("nonce"),
    text_("state"),
    Column("token", String(32), nullable=False),  # of the process that works on it
    time_("held_until"),  # until then no other process works on it
    Column("version", SmallInteger, nullable=False),
    text_("asset"),
    text_("pay_to"),
    Column("amount", BigInteger, nullable=False),  # in the asset's atomic units
    text_("endpoint"),
    Column("request_hash", String(64), nullable=False),
    text_("request_id"),
    Column("identifier", String(64), nullable=True),  # SHA-256 of the payer and the client's own identifier
    Column("wire_json", Text, nullable=True),  # the payment, as long as it may have to be looked up
    time_("lasts_until"),  # after that it cannot move money
    text_("reason"),
    text_("transaction_id"),
    text_("proof", server_default=""),  # the source that confirms the settlement; empty if there is none
    time_("created_at"),
    time_("verified_at", nullable=True),
    time_("served_at", nullable=True),
    time_("settled_at", nullable=True),
    time_("ended_at", nullable=True),
    time_("delivered_at", nullable=True),
    Column("credit", BigInteger, nullable=False, server_default="0"),  # that has paid it instead of money
    CheckConstraint(
        "state IN ('reserved', 'verified', 'served', 'pending', 'settled', 'released')", name="state"
    ),
    CheckConstraint("amount > 0", name="amount_is_positive"),
    CheckConstraint("(state IN ('settled', 'released')) = (ended_at IS NOT NULL)", name="ended_when_it_ends"),
    CheckConstraint("(state = 'settled') = (settled_at IS NOT NULL)", name="settled_when_it_is"),
    CheckConstraint("length(request_hash) = 64", name="request_hash_is_sha256"),
    Index(
        "uq_payments_authorization",
        "network",
        "payer",
        "nonce",
        unique=True,
        **where_("state <> 'released'"),
    ),
    Index(
        "uq_payments_identifier",
        "identifier",
        unique=True,
        **where_("identifier IS NOT NULL AND state <> 'released'"),
    ),
    Index("ix_payments_open", "held_until", **where_("ended_at IS NULL")),
    Index(
        "ix_payments_unanswered",
        "payer",
        "request_hash",
        **where_("state <> 'released' AND delivered_at IS NULL"),
    ),
    Index("ix_payments_unproven", "network", "id", **where_("state = 'settled' AND proof = ''")),
)

# Long work that a wallet has bought: a row for each payment, written in the transaction that creates it.
orders: Final = Table(
    "orders",
    metadata,
    id_("payment_id", primary_key=True),
    text_("network"),
    text_("payer"),
    id_("tenant_id", nullable=False),
    text_("kind"),
    id_("subject", nullable=False),  # the id of the batch, the crawl or the audit
    id_("job_id", nullable=True),
    Column("request_hash", String(64), nullable=False),
    Column("repeat_key", String(64), nullable=True),  # SHA-256 of the wallet and its Idempotency-Key
    Column("pages", Integer, nullable=False),  # that were paid for
    Column("page_price", BigInteger, nullable=False),  # in the asset's atomic units
    Column("answer_json", Text, nullable=False),
    time_("created_at"),
    Column(
        "done", Integer, nullable=True
    ),  # how many of the pages were delivered; empty until the work is over
    time_("closed_at", nullable=True),  # when the rest became credit
    CheckConstraint("kind IN ('batch', 'crawl', 'audit')", name="kind"),
    CheckConstraint("pages > 0", name="pages_are_positive"),
    CheckConstraint("done >= 0 AND done <= pages", name="done_is_at_most_all"),
    CheckConstraint("closed_at IS NULL OR done IS NOT NULL", name="counted_when_closed"),
    Index("ix_orders_subject", "subject"),
    Index("ix_orders_tenant", "tenant_id"),
    Index("ix_orders_open", "payment_id", **where_("closed_at IS NULL")),
    Index("uq_orders_repeat_key", "repeat_key", unique=True, **where_("repeat_key IS NOT NULL")),
)

# What a wallet has paid and not got. Each payment becomes credit at most once.
credit_grants: Final = Table(
    "credit_grants",
    metadata,
    id_("payment_id", primary_key=True),
    text_("network"),
    text_("payer"),
    Column("amount", BigInteger, nullable=False),
    text_("reason"),
    time_("created_at"),
    CheckConstraint("amount > 0", name="amount_is_positive"),
    Index("ix_credit_grants_wallet", "network", "payer"),
)

# The sum of a wallet's credit that is not spent. It is changed in the transaction that grants or spends some.
wallets: Final = Table(
    "wallets",
    metadata,
    text_("network", primary_key=True),
    text_("payer", primary_key=True),
    Column("credit", BigInteger, nullable=False),
    CheckConstraint("credit >= 0", name="credit_is_not_negative"),
)

# Secrets that all processes share and that outlive them, made when they are first needed.
server_secrets: Final = Table(
    "server_secrets",
    metadata,
    text_("name", primary_key=True),
    text_("secret"),
)
