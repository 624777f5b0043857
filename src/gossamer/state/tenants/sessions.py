"""Sessions of people who signed in, and the links that sign them in. Secrets are kept as hashes only."""

import hashlib
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Row, delete, select, update

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import sessions, sign_in_links, users
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.users import User

SESSION_SECONDS: Final = 24 * 3600
_SECRET_BYTES: Final = 32


class LinkPurpose(StrEnum):
    """What a link is for."""

    SIGN_IN = "sign_in"  # the first start
    INVITATION = "invitation"
    RESET = "reset"  # of a password
    USAGE = "usage"  # shows a tenant's usage, and may be opened more than once


LINK_SECONDS: Final = {
    LinkPurpose.SIGN_IN: 15 * 60,
    LinkPurpose.INVITATION: 7 * 24 * 3600,
    LinkPurpose.RESET: 24 * 3600,
    LinkPurpose.USAGE: 30 * 24 * 3600,
}


@dataclass(frozen=True, slots=True)
class Session:
    hash: str = field(repr=False)  # of the cookie
    user: User | None  # None: came by a link that shows usage alone
    tenant_id: str
    csrf_secret: str = field(repr=False)
    client: str  # the address that it was opened from
    created_at: int
    seen_at: int
    expires_at: int


class SignInLink(Struct, frozen=True):
    purpose: LinkPurpose
    user_id: str | None
    tenant_id: str
    expires_at: int


def new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


def secret_hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


async def add_session(
    connection: AsyncConnection,
    secret: str,
    *,
    tenant_id: str,
    user_id: str | None,
    client: str,
    now: int | None = None,
) -> None:
    start = clock(now)
    await connection.execute(
        insert_into(connection, sessions).values(
            hash=secret_hash(secret),
            user_id=user_id,
            tenant_id=tenant_id,
            csrf_secret=new_secret(),
            client=client,
            created_at=start,
            seen_at=start,
            expires_at=start + SESSION_SECONDS * 1000,
        )
    )


async def find_session(connection: AsyncConnection, secret: str, *, now: int | None = None) -> Session | None:
    """The session of this cookie, unless it has ended."""
    query = (
        select(sessions, *(column.label(f"user_{column.name}") for column in users.c if column.name != "id"))
        .outerjoin(users, users.c.id == sessions.c.user_id)
        .where(sessions.c.hash == secret_hash(secret), sessions.c.expires_at > clock(now))
    )
    row = (await connection.execute(query)).first()
    return None if row is None else _session(row)


async def touch_session(connection: AsyncConnection, session_hash: str, *, now: int | None = None) -> None:
    await connection.execute(
        update(sessions).where(sessions.c.hash == session_hash).values(seen_at=clock(now))
    )


async def end_session(connection: AsyncConnection, secret: str) -> None:
    await connection.execute(delete(sessions).where(sessions.c.hash == secret_hash(secret)))


async def end_sessions(connection: AsyncConnection, user_id: str, *, but: str = "") -> None:
    """End all sessions of a person, except the one with the hash `but`, and all links that lead to one."""
    await connection.execute(delete(sessions).where(sessions.c.user_id == user_id, sessions.c.hash != but))
    await connection.execute(delete(sign_in_links).where(sign_in_links.c.user_id == user_id))


async def add_link(
    connection: AsyncConnection,
    secret: str,
    purpose: LinkPurpose,
    *,
    tenant_id: str,
    user_id: str | None,
    now: int | None = None,
) -> None:
    start = clock(now)
    await connection.execute(
        insert_into(connection, sign_in_links).values(
            hash=secret_hash(secret),
            purpose=purpose.value,
            user_id=user_id,
            tenant_id=tenant_id,
            created_at=start,
            expires_at=start + LINK_SECONDS[purpose] * 1000,
        )
    )


async def find_link(connection: AsyncConnection, secret: str, *, now: int | None = None) -> SignInLink | None:
    """The link with this token, unless it was used or has expired."""
    table = sign_in_links.c
    query = select(table.purpose, table.user_id, table.tenant_id, table.expires_at)
    found = query.where(table.hash == secret_hash(secret), table.expires_at > clock(now))
    row = (await connection.execute(found)).first()
    return None if row is None else SignInLink(LinkPurpose(row.purpose), *row[1:])


async def take_link(connection: AsyncConnection, secret: str, *, now: int | None = None) -> SignInLink | None:
    """Use a link. Of two who use it at the same time, one gets it. A link to usage can be used again."""
    link = await find_link(connection, secret, now=now)
    if link is None or link.purpose is LinkPurpose.USAGE:
        return link
    taken = await connection.execute(delete(sign_in_links).where(sign_in_links.c.hash == secret_hash(secret)))
    return link if taken.rowcount == 1 else None


async def clean_sessions(connection: AsyncConnection, *, now: int | None = None) -> None:
    """Delete sessions and links that have expired."""
    await connection.execute(delete(sessions).where(sessions.c.expires_at <= clock(now)))
    await connection.execute(delete(sign_in_links).where(sign_in_links.c.expires_at <= clock(now)))


def _session(row: Row[Any]) -> Session:
    user = None
    if row.user_id is not None:
        user = User(
            id=row.user_id,
            tenant_id=row.user_tenant_id,
            email=row.user_email,
            password_hash=row.user_password_hash,
            role=Role(row.user_role),
            created_at=row.user_created_at,
            disabled_at=row.user_disabled_at,
            seen_at=row.user_seen_at,
        )
    return Session(
        row.hash,
        user,
        row.tenant_id,
        row.csrf_secret,
        row.client,
        row.created_at,
        row.seen_at,
        row.expires_at,
    )
