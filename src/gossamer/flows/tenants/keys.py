"""API keys: create, list, disable and rotate them, with a record of each change.

`Keys` opens the transactions. The functions work on an open connection, for callers that write more in the
same transaction.
"""

import base64
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import select
from ulid import ULID

from gossamer.flows.tenants.admit import Admission
from gossamer.problems import (
    INTERNAL_ERROR,
    NOT_FOUND,
    UNPROCESSABLE_ENTITY,
    Problem,
    validation_error,
)
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.tenants import activity, tenants
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Key, Role, Tenant, Tier

RandomBytes = Callable[[int], bytes]
Check = Callable[[AsyncConnection, Key], Awaitable[None]]

MAX_ATTEMPTS: Final = 3
FIRST_EMAIL: Final = "admin@localhost"
FIRST_LABEL: Final = "first key"
MAX_EMAIL_CHARS: Final = 254
MAX_TEXT_CHARS: Final = 200
MAX_KEYS_LISTED: Final = 100
_SECRET_BYTES: Final = 24
_PREFIX_CHARS: Final = 15
_OWN_FORMAT: Final = re.compile(r"sk_(?:live|test)_[A-Za-z0-9_-]{32}")
_GIVEN_FORMAT: Final = re.compile(r"[!-~]{8,255}")
_ID: Final = re.compile(r"[0-9A-Z]{26}")
_ATOM: Final = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EMAIL: Final = re.compile(
    rf"(?=.{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:localhost|(?:{_LABEL}\.)+(?!\d+$){_LABEL})"
)


class NewOwnKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A key that a caller creates for their own tenant."""

    label: Annotated[str, Meta(max_length=100, description="A note for people.")] = ""
    expires_at: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="From then on the key is refused; without it, it lasts until it is disabled."),
    ] = None


class NewKey(NewOwnKey, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The owner and the rights of a new key."""

    email: Annotated[str, Meta(max_length=254, description="The customer; one may have several keys.")]
    tier: Annotated[Tier, Meta(description="Decides how many renders a day are allowed.")] = Tier.PRO
    role: Annotated[Literal["user", "admin"], Meta(description="An admin's key may do everything.")] = "user"


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key, and its secret, which is shown this once."""

    key: Key
    secret: str = field(repr=False)


class Rotation(Struct, frozen=True):
    old: Key  # disabled now
    new: IssuedKey


class KeyPage(Struct, frozen=True):
    keys: list[Key]
    cursor: str | None  # where the next page begins; None on the last one


class Keys(Struct, frozen=True):
    """Makes each change in its own transaction. `creating` and `rotating` yield before the commit, so that
    the caller can write more in the same transaction."""

    database: Database
    admission: Admission

    @asynccontextmanager
    async def creating(self, new: NewKey, by: Actor) -> AsyncIterator[tuple[AsyncConnection, IssuedKey]]:
        async with self.database.write() as connection:
            yield connection, await create(connection, new, by)

    async def create(self, new: NewKey, by: Actor) -> IssuedKey:
        async with self.creating(new, by) as (_, issued):
            return issued

    @asynccontextmanager
    async def rotating(
        self, key_id: str, by: Actor, *, check: Check | None = None
    ) -> AsyncIterator[tuple[AsyncConnection, IssuedKey]]:
        """`check` may refuse, in the same transaction."""
        async with self.database.write() as connection:
            if check is not None:
                await check(connection, await _get(connection, key_id))
            rotation = await rotate(connection, key_id, by)
            yield connection, rotation.new
        await self.admission.refresh(rotation.old)

    async def rotate(self, key_id: str, by: Actor) -> IssuedKey:
        async with self.rotating(key_id, by) as (_, issued):
            pass
        return issued

    async def disable(self, key_id: str, by: Actor, *, check: Check | None = None) -> Key:
        """`check` may refuse, in the same transaction."""
        async with self.database.write() as connection:
            if check is not None:
                await check(connection, await _get(connection, key_id))
            key = await disable(connection, key_id, by)
        await self.admission.refresh(key)
        return key

    async def list_page(
        self,
        *,
        email: str | None = None,
        tenant: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> KeyPage:
        async with self.database.read() as connection:
            return await list_page(connection, email=email, tenant=tenant, cursor=cursor, limit=limit)

    async def list_all(self, email: str | None) -> list[Key]:
        async with self.database.read() as connection:
            page = await list_page(connection, email=email, limit=MAX_KEYS_LISTED)
            found = page.keys
            while page.cursor:
                page = await list_page(connection, email=email, cursor=page.cursor, limit=MAX_KEYS_LISTED)
                found += page.keys
            return found


async def create(
    connection: AsyncConnection,
    new: NewKey,
    by: Actor,
    *,
    now: int | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> IssuedKey:
    """A new key for the tenant of this email, which may have several."""
    return await issue(connection, await _draft(connection, new, now), by, now=now, random_bytes=random_bytes)


async def issue(
    connection: AsyncConnection,
    draft: Key,
    by: Actor,
    *,
    now: int | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> IssuedKey:
    """Give a draft its secret, and record it."""
    issued = await _generate(connection, draft, random_bytes, now)
    await _record(connection, issued.key, Action.KEY_CREATED, by, now)
    return issued


async def register(
    connection: AsyncConnection, secret: str, new: NewKey, by: Actor, *, now: int | None = None
) -> Key:
    """A key with a given secret. Registering it again changes nothing."""
    if not _GIVEN_FORMAT.fullmatch(secret):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "The secret cannot be used as an API key.",
            hint="Use 8 to 255 visible ASCII characters, chosen at random.",
        )
    draft = await _draft(connection, new, now)
    key = await tenants.add_key(connection, _with_secret(draft, secret), now=now)
    if key is None:
        return _require(await tenants.find_key(connection, tenants.key_hash(secret)))
    await _record(connection, key, Action.KEY_REGISTERED, by, now)
    return key


async def list_page(
    connection: AsyncConnection,
    *,
    email: str | None = None,
    tenant: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> KeyPage:
    """Keys of all tenants or of one, newest first."""
    if cursor is not None and not _ID.fullmatch(cursor):
        raise validation_error(
            "The cursor is not one that was given out.", hint="Leave it out to start over."
        )
    if not 1 <= limit <= MAX_KEYS_LISTED:
        raise validation_error(f"limit is {limit}; it must be between 1 and {MAX_KEYS_LISTED}.")
    wanted = None if email is None else normalise_email(email)
    keys = await tenants.list_keys(connection, email=wanted, tenant_id=tenant, before=cursor, limit=limit + 1)
    page = keys[:limit]
    return KeyPage(page, page[-1].id if len(keys) > limit else None)


async def disable(
    connection: AsyncConnection, key_id: str, by: Actor, *, reason: str = "", now: int | None = None
) -> Key:
    """From now on the key is refused. Disabling it again changes nothing."""
    key = await _get(connection, key_id)
    if not await tenants.disable_key(connection, key.id, _check_text("reason", reason), now=now):
        return key
    await _record(connection, key, Action.KEY_DISABLED, by, now, detail=reason)
    return await _get(connection, key_id)


async def rotate(
    connection: AsyncConnection,
    key_id: str,
    by: Actor,
    *,
    now: int | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> Rotation:
    """A new key in the place of an old one, which is disabled. It expires when the old one would have."""
    old = await _get(connection, key_id)
    if old.expires_at is not None and old.expires_at <= await _time(connection, now):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"The API key {old.prefix} has expired and cannot be rotated.",
            hint="Create a new key instead.",
        )
    # Disabling comes first: of two concurrent rotations only one succeeds.
    if not await tenants.disable_key(connection, old.id, "rotated", now=now):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"The API key {old.prefix} is disabled and cannot be rotated.",
            hint="Create a new key instead.",
        )
    new = await _generate(connection, replace(old, rotated_from=old.id), random_bytes, now)
    await _record(connection, old, Action.KEY_ROTATED, by, now, detail=f"replaced by {new.key.id}")
    await _record(connection, new.key, Action.KEY_CREATED, by, now, detail=f"replaces {old.id}")
    return Rotation(await _get(connection, old.id), new)


async def is_known(database: Database, secret: str) -> bool:
    """Whether it is the secret of a key, even of a disabled one."""
    async with database.read() as connection:
        return await tenants.find_key(connection, tenants.key_hash(secret)) is not None


async def ensure_owner(database: Database) -> Tenant:
    """The operator's tenant; created on first use."""
    async with database.write() as connection:
        return await tenants.ensure_tenant(connection, FIRST_EMAIL)


async def bootstrap(database: Database, bootstrap_key: str | None = None) -> IssuedKey | None:
    """The first admin key, on the first start; None when there are keys already."""
    async with database.read() as connection:
        if await tenants.count_keys(connection):
            return None
    first, by = NewKey(email=FIRST_EMAIL, role="admin", label=FIRST_LABEL), Actor("bootstrap")
    async with database.write() as connection:
        # This locks the tenant's row, so that processes that start at the same time wait here.
        await tenants.ensure_tenant(connection, FIRST_EMAIL)
        if await tenants.count_keys(connection):
            return None
        if bootstrap_key is None:
            return await create(connection, first, by)
        return IssuedKey(await register(connection, bootstrap_key, first, by), bootstrap_key)


def normalise_email(text: str) -> str:
    """The email in lower case. Only its form is checked."""
    email = text.strip().lower()
    if len(email) > MAX_EMAIL_CHARS or not _EMAIL.fullmatch(email):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"{text[:MAX_EMAIL_CHARS]!r} is not an email address.",
            hint="Give an address such as name@example.com, of at most 254 ASCII characters.",
        )
    return email


async def _draft(connection: AsyncConnection, new: NewKey, now: int | None) -> Key:
    """A key that lacks only its secret."""
    _check_text("label", new.label)
    tenant = await tenants.ensure_tenant(connection, normalise_email(new.email), now=now)
    return await draft_for(connection, tenant, new, Role(new.role), new.tier, now)


async def draft_for(
    connection: AsyncConnection, tenant: Tenant, new: NewOwnKey, role: Role, tier: Tier, now: int | None
) -> Key:
    """A key of this tenant that lacks only its secret."""
    return Key(
        id="",
        tenant_id=tenant.id,
        email=tenant.email,
        hash="",
        prefix="",
        role=role,
        tier=tier,
        label=_check_text("label", new.label),
        created_at=0,
        expires_at=await _check_end(connection, new.expires_at, now),
    )


async def _check_end(connection: AsyncConnection, end: datetime | None, now: int | None) -> int | None:
    """The end in milliseconds; it must be in the future."""
    if end is None:
        return None
    expires_at = round(end.timestamp() * 1000)
    if expires_at <= await _time(connection, now):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "expiresAt is in the past.",
            hint="Give a time in the future, or leave it out for a key that does not expire.",
        )
    return expires_at


async def _time(connection: AsyncConnection, now: int | None) -> int:
    return await connection.scalar(select(clock(now))) or 0


async def _generate(
    connection: AsyncConnection, draft: Key, random_bytes: RandomBytes, now: int | None
) -> IssuedKey:
    failure: OSError | None = None
    for _ in range(MAX_ATTEMPTS):
        try:
            secret = _secret(draft.tier, random_bytes(_SECRET_BYTES))
        except OSError as error:  # the system's source of randomness
            failure = error
            continue
        key = await tenants.add_key(connection, _with_secret(draft, secret), now=now)
        if key is not None:
            return IssuedKey(key, secret)
    raise Problem(
        INTERNAL_ERROR, f"No API key could be generated in {MAX_ATTEMPTS} attempts. Nothing was changed."
    ) from failure


def _secret(tier: Tier, random: bytes) -> str:
    kind = "test" if tier is Tier.FREE else "live"
    return f"sk_{kind}_{base64.urlsafe_b64encode(random).decode()}"


def _with_secret(draft: Key, secret: str) -> Key:
    # A secret that we did not generate may be short: a quarter of it gives nothing away.
    shown = _PREFIX_CHARS if _OWN_FORMAT.fullmatch(secret) else min(_PREFIX_CHARS, len(secret) // 4)
    return replace(draft, id=str(ULID()), hash=tenants.key_hash(secret), prefix=f"{secret[:shown]}...")


async def _get(connection: AsyncConnection, key_id: str) -> Key:
    return _require(await tenants.get_key(connection, key_id) if _ID.fullmatch(key_id) else None)


def _require(key: Key | None) -> Key:
    if key is None:
        raise unknown_key()
    return key


def unknown_key() -> Problem:
    return Problem(
        NOT_FOUND, "There is no API key with this id.", hint="List the keys and use an id from there."
    )


async def _record(
    connection: AsyncConnection,
    key: Key,
    action: Action,
    by: Actor,
    now: int | None,
    *,
    detail: str = "",
) -> None:
    await activity.record(connection, ActivityEntry(key.tenant_id, action, key.id, by, detail), now=now)


def _check_text(name: str, text: str) -> str:
    if len(text) > MAX_TEXT_CHARS or not text.isprintable():
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"{name} cannot be kept.",
            hint=f"Use at most {MAX_TEXT_CHARS} characters, all of them printable.",
        )
    return text
