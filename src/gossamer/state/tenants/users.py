"""People who sign in, and the queries on their table."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, func, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import users
from gossamer.state.tenants.tenants import Role


@dataclass(frozen=True, slots=True)
class User:
    id: str
    tenant_id: str
    email: str
    password_hash: str = field(repr=False)  # argon2id; empty: no password
    role: Role
    created_at: int
    disabled_at: int | None = None
    seen_at: int | None = None


async def add_user(
    connection: AsyncConnection, *, tenant_id: str, email: str, role: Role, now: int | None = None
) -> User | None:
    """Add a person; None if there is one with this email."""
    new = insert_into(connection, users).values(
        id=str(ULID()),
        tenant_id=tenant_id,
        email=email,
        password_hash="",
        role=role.value,
        created_at=clock(now),
    )
    added = new.on_conflict_do_nothing(index_elements=["email"]).returning(*users.c)
    return _user((await connection.execute(added)).first())


async def get_user(connection: AsyncConnection, user_id: str) -> User | None:
    return _user((await connection.execute(select(users).where(users.c.id == user_id))).first())


async def find_user(connection: AsyncConnection, email: str) -> User | None:
    return _user((await connection.execute(select(users).where(users.c.email == email))).first())


async def list_users(
    connection: AsyncConnection, *, tenant_id: str | None = None, before: str | None = None, limit: int = 50
) -> list[User]:
    """The newest first, of all tenants or of one; `before` is the id of the last one already seen."""
    query = select(users).order_by(users.c.id.desc()).limit(limit)
    if tenant_id is not None:
        query = query.where(users.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(users.c.id < before)
    return [_user_of(row) for row in await connection.execute(query)]


async def count_users(connection: AsyncConnection) -> int:
    return await connection.scalar(select(func.count()).select_from(users)) or 0


async def set_password(connection: AsyncConnection, user_id: str, password_hash: str) -> None:
    await connection.execute(update(users).where(users.c.id == user_id).values(password_hash=password_hash))


async def set_role(connection: AsyncConnection, user_id: str, role: Role) -> None:
    await connection.execute(update(users).where(users.c.id == user_id).values(role=role.value))


async def set_disabled(
    connection: AsyncConnection, user_id: str, *, disabled: bool, now: int | None = None
) -> None:
    when = clock(now) if disabled else None
    await connection.execute(update(users).where(users.c.id == user_id).values(disabled_at=when))


async def active_admins(connection: AsyncConnection) -> int:
    """How many people may still administer this Gossamer."""
    query = select(func.count()).where(users.c.role == Role.ADMIN.value, users.c.disabled_at.is_(None))
    return await connection.scalar(query) or 0


async def touch_user(connection: AsyncConnection, user_id: str, *, now: int | None = None) -> None:
    await connection.execute(update(users).where(users.c.id == user_id).values(seen_at=clock(now)))


def _user(row: Row[Any] | None) -> User | None:
    return None if row is None else _user_of(row)


def _user_of(row: Row[Any]) -> User:
    return User(**{**row._mapping, "role": Role(row.role)})
