"""Keys: who may come in, and the record of who let them.

Every function takes an open write connection, so that the caller decides what else belongs to the transaction
(the door's `once.remember`). `bootstrap` alone opens its own.
"""

import base64
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer.problems import INTERNAL_ERROR, NOT_FOUND, UNPROCESSABLE_ENTITY, Problem, validation_error
from gossamer.state import tenants
from gossamer.state.database import Database
from gossamer.state.tenants import Action, Key, KeyEvent, Role, Tier

RandomBytes = Callable[[int], bytes]

ATTEMPTS: Final = 3
FIRST_EMAIL: Final = "admin@localhost"
FIRST_LABEL: Final = "first key"
MAX_EMAIL: Final = 254
MAX_TEXT: Final = 200
MAX_LISTED: Final = 100
_SECRET_BYTES: Final = 24
_SHOWN: Final = 15
_OWN_FORMAT: Final = re.compile(r"sk_(?:live|test)_[A-Za-z0-9_-]{32}")
_GIVEN_FORMAT: Final = re.compile(r"[!-~]{8,255}")
_ID: Final = re.compile(r"[0-9A-Z]{26}")
_ATOM: Final = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EMAIL: Final = re.compile(
    rf"(?=.{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:localhost|(?:{_LABEL}\.)+(?!\d+$){_LABEL})"
)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key, and its secret, which is shown this once."""

    key: Key
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rotation:
    old: Key  # disabled now
    new: NewKey


@dataclass(frozen=True, slots=True)
class Listing:
    keys: list[Key]
    cursor: str | None  # where the next page begins; None on the last one


async def create(
    connection: AsyncConnection,
    *,
    email: str,
    tier: Tier = Tier.PRO,
    role: Role = Role.USER,
    label: str = "",
    actor: str,
    request_id: str,
    now: int | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> NewKey:
    """A new key for the tenant of this email, who may have several."""
    plan = await _plan(connection, email, tier, role, label, now)
    new = await _generate(connection, plan, random_bytes, now)
    await _record(connection, new.key, Action.CREATED, actor, request_id, now)
    return new


async def register(
    connection: AsyncConnection,
    *,
    secret: str,
    email: str,
    tier: Tier = Tier.PRO,
    role: Role = Role.USER,
    label: str = "",
    actor: str,
    request_id: str,
    now: int | None = None,
) -> Key:
    """A key with a secret that somebody else made. Registering it again changes nothing."""
    if not _GIVEN_FORMAT.fullmatch(secret):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "The secret cannot be used as an API key.",
            hint="Use 8 to 255 visible ASCII characters, chosen at random.",
        )
    plan = await _plan(connection, email, tier, role, label, now)
    key = await tenants.add_key(connection, _with_secret(plan, secret), now=now)
    if key is None:
        return _found(await tenants.find_key(connection, tenants.key_hash(secret)))
    await _record(connection, key, Action.REGISTERED, actor, request_id, now)
    return key


async def listing(
    connection: AsyncConnection, *, email: str | None = None, cursor: str | None = None, limit: int = 50
) -> Listing:
    """The newest first, of all tenants or of one."""
    if cursor is not None and not _ID.fullmatch(cursor):
        raise validation_error(
            "The cursor is not one that was given out.", hint="Leave it out to start over."
        )
    if not 1 <= limit <= MAX_LISTED:
        raise validation_error(f"limit is {limit}; it must be between 1 and {MAX_LISTED}.")
    wanted = None if email is None else checked_email(email)
    keys = await tenants.list_keys(connection, email=wanted, before=cursor, limit=limit + 1)
    page = keys[:limit]
    return Listing(page, page[-1].id if len(keys) > limit else None)


async def disable(
    connection: AsyncConnection,
    key_id: str,
    *,
    reason: str = "",
    actor: str,
    request_id: str,
    now: int | None = None,
) -> Key:
    """From now on the key is refused. Disabling it again changes nothing."""
    key = await _get(connection, key_id)
    if not await tenants.disable_key(connection, key.id, _checked_text("reason", reason), now=now):
        return key
    await _record(connection, key, Action.DISABLED, actor, request_id, now, detail=reason)
    return await _get(connection, key_id)


async def rotate(
    connection: AsyncConnection,
    key_id: str,
    *,
    actor: str,
    request_id: str,
    now: int | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> Rotation:
    """A new key in the place of an old one, which is disabled."""
    old = await _get(connection, key_id)
    # Disabling comes first: of two who rotate at the same time it lets one through.
    if not await tenants.disable_key(connection, old.id, "rotated", now=now):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"The API key {old.prefix} is disabled and cannot be rotated.",
            hint="Create a new key instead.",
        )
    plan = _Plan(old.tenant_id, old.email, old.tier, old.role, old.label, rotated_from=old.id)
    new = await _generate(connection, plan, random_bytes, now)
    await _record(connection, old, Action.ROTATED, actor, request_id, now, detail=f"replaced by {new.key.id}")
    await _record(connection, new.key, Action.CREATED, actor, request_id, now, detail=f"replaces {old.id}")
    return Rotation(await _get(connection, old.id), new)


async def bootstrap(
    database: Database,
    bootstrap_key: str | None = None,
    *,
    request_id: str = "",
    now: int | None = None,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> NewKey | None:
    """The first admin key, on the first start; None when there are keys already."""
    async with database.read() as connection:
        if await tenants.count_keys(connection):
            return None
    async with database.write() as connection:
        # Holds the tenant's row, so of several processes that start at once the others wait here.
        await tenants.ensure_tenant(connection, FIRST_EMAIL, now=now)
        if await tenants.count_keys(connection):
            return None
        if bootstrap_key is None:
            return await create(
                connection,
                email=FIRST_EMAIL,
                role=Role.ADMIN,
                label=FIRST_LABEL,
                actor="bootstrap",
                request_id=request_id,
                now=now,
                random_bytes=random_bytes,
            )
        key = await register(
            connection,
            secret=bootstrap_key,
            email=FIRST_EMAIL,
            role=Role.ADMIN,
            label=FIRST_LABEL,
            actor="bootstrap",
            request_id=request_id,
            now=now,
        )
        return NewKey(key, bootstrap_key)


def checked_email(text: str) -> str:
    """The email in lower case. Only its form is looked at."""
    email = text.strip().lower()
    if len(email) > MAX_EMAIL or not _EMAIL.fullmatch(email):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"{text[:MAX_EMAIL]!r} is not an email address.",
            hint="Give an address such as name@example.com, of at most 254 ASCII characters.",
        )
    return email


@dataclass(frozen=True, slots=True)
class _Plan:
    """A key that lacks only its secret."""

    tenant_id: str
    email: str
    tier: Tier
    role: Role
    label: str
    rotated_from: str | None = None


async def _plan(
    connection: AsyncConnection, email: str, tier: Tier, role: Role, label: str, now: int | None
) -> _Plan:
    text = _checked_text("label", label)
    tenant = await tenants.ensure_tenant(connection, checked_email(email), now=now)
    return _Plan(tenant.id, tenant.email, tier, role, text)


async def _generate(
    connection: AsyncConnection, plan: _Plan, random_bytes: RandomBytes, now: int | None
) -> NewKey:
    failure: OSError | None = None
    for _ in range(ATTEMPTS):
        try:
            secret = _secret(plan.tier, random_bytes(_SECRET_BYTES))
        except OSError as error:  # the system's source of randomness
            failure = error
            continue
        key = await tenants.add_key(connection, _with_secret(plan, secret), now=now)
        if key is not None:
            return NewKey(key, secret)
    raise Problem(
        INTERNAL_ERROR, f"No API key could be generated in {ATTEMPTS} attempts. Nothing was changed."
    ) from failure


def _secret(tier: Tier, random: bytes) -> str:
    kind = "test" if tier is Tier.FREE else "live"
    return f"sk_{kind}_{base64.urlsafe_b64encode(random).decode()}"


def _with_secret(plan: _Plan, secret: str) -> Key:
    # Of a secret that is not ours, and may be short, no more is shown than gives nothing away.
    shown = _SHOWN if _OWN_FORMAT.fullmatch(secret) else min(_SHOWN, len(secret) // 4)
    return Key(
        id=str(ULID()),
        tenant_id=plan.tenant_id,
        email=plan.email,
        hash=tenants.key_hash(secret),
        prefix=f"{secret[:shown]}...",
        role=plan.role,
        tier=plan.tier,
        label=plan.label,
        created_at=0,  # written by the database
        rotated_from=plan.rotated_from,
    )


async def _get(connection: AsyncConnection, key_id: str) -> Key:
    return _found(await tenants.get_key(connection, key_id) if _ID.fullmatch(key_id) else None)


def _found(key: Key | None) -> Key:
    if key is None:
        raise Problem(
            NOT_FOUND, "There is no API key with this id.", hint="List the keys and use an id from there."
        )
    return key


async def _record(
    connection: AsyncConnection,
    key: Key,
    action: Action,
    actor: str,
    request_id: str,
    now: int | None,
    *,
    detail: str = "",
) -> None:
    event = KeyEvent(key.id, key.tenant_id, action, actor, request_id, detail)
    await tenants.record(connection, event, now=now)


def _checked_text(name: str, text: str) -> str:
    if len(text) > MAX_TEXT or not text.isprintable():
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"{name} cannot be kept.",
            hint=f"Use at most {MAX_TEXT} characters, all of them printable.",
        )
    return text
