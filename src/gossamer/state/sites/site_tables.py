"""The tables of sites."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from gossamer.state.db.columns import id_, metadata, text_, time_
from gossamer.state.db.tables import tenants

sites: Final = Table(
    "sites",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("owner"),  # who sees it: the tenant, or a wallet of the tenant that all wallets share
    text_("origin"),
    text_("name"),
    text_("token"),  # what a proof must show
    text_("proof"),  # how it was proven; empty: it is not
    Column("settings_json", Text, nullable=False),
    time_("proven_at", nullable=True),
    time_("checked_at", nullable=True),
    Column("failures", Integer, nullable=False),  # of the last checks, in a row
    time_("created_at"),
    time_("updated_at"),
    Column("rules_json", Text, nullable=False, server_default="[]"),  # without the values of headers
    Column("rules_sealed", LargeBinary, nullable=True),  # with them, if there are any
    Index("ix_sites_origin", "owner", "origin", unique=True),
    Index("ix_sites_tenant_id", "tenant_id"),
    Index("ix_sites_checked_at", "checked_at"),
)

# What robots asked for and got, by the hour.
site_bot_hours: Final = Table(
    "site_bot_hours",
    metadata,
    id_("site_id", nullable=False),
    Column("hour", BigInteger, nullable=False),  # hours since the epoch
    text_("bot"),
    text_("outcome"),
    Column("status", Integer, nullable=False),
    id_("tenant_id", nullable=False),
    Column("visits", BigInteger, nullable=False),
    Column("milliseconds", BigInteger, nullable=False),  # of all of them together
    PrimaryKeyConstraint("site_id", "hour", "bot", "outcome", "status"),
    Index("ix_site_bot_hours_tenant_id", "tenant_id"),
    Index("ix_site_bot_hours_hour", "hour"),
)

# The pages that robots ask for most; of each site only so many are kept.
site_asked_pages: Final = Table(
    "site_asked_pages",
    metadata,
    id_("site_id", nullable=False),
    text_("url_hash"),
    Column("url", Text, nullable=False),
    id_("tenant_id", nullable=False),
    Column("visits", BigInteger, nullable=False),
    Column("misses", BigInteger, nullable=False),  # those that got no rendered page
    time_("last_at"),
    PrimaryKeyConstraint("site_id", "url_hash"),
    Index("ix_site_asked_pages_tenant_id", "tenant_id"),
    Index("ix_site_asked_pages_last_at", "last_at"),
)

# How many pages were warmed on a day: the budget of a site.
site_warm_days: Final = Table(
    "site_warm_days",
    metadata,
    id_("site_id", nullable=False),
    Column("day", BigInteger, nullable=False),
    id_("tenant_id", nullable=False),
    Column("pages", BigInteger, nullable=False),
    PrimaryKeyConstraint("site_id", "day"),
    Index("ix_site_warm_days_tenant_id", "tenant_id"),
)

# The address at which a site's own system says that pages have changed.
site_hooks: Final = Table(
    "site_hooks",
    metadata,
    id_("site_id", primary_key=True),
    id_("tenant_id", nullable=False),
    text_("token_hash"),  # of the token in the address
    Column("old_token_hash", String, nullable=True),  # after a rotation, for a while
    time_("old_until", nullable=True),
    Column("secret_sealed", LargeBinary, nullable=True),  # of the signatures; None: they are not needed
    Column("old_secret_sealed", LargeBinary, nullable=True),
    text_("maker_via"),  # whose rights it has
    text_("maker_id"),
    text_("maker_name"),
    time_("created_at"),
    time_("last_at", nullable=True),  # when it was last used
    Index("ix_site_hooks_tenant_id", "tenant_id"),
)

# What robots see of a site, as it was found; of each site only so many are kept.
site_comparisons: Final = Table(
    "site_comparisons",
    metadata,
    id_(primary_key=True),
    id_("site_id", nullable=False),
    id_("tenant_id", nullable=False),
    time_("made_at"),
    Column("result_json", Text, nullable=False),
    Index("ix_site_comparisons_site_id", "site_id", "id"),
    Index("ix_site_comparisons_tenant_id", "tenant_id"),
)
