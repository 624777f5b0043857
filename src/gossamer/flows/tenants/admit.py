"""Admission: identify the caller behind an API key or a wallet."""

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from gossamer import problems
from gossamer.concurrency.single_flight import SingleFlight
from gossamer.problems import Problem, Unavailable
from gossamer.state.db.database import Database
from gossamer.state.kv.hot import Hot
from gossamer.state.tenants import tenants
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import PUBLIC, Key, Role, Tier

KEY_SECONDS: Final = 5.0  # how long a looked-up key is cached; disabling overwrites it at once
OUTAGE_SECONDS: Final = 600.0  # how long it is cached for an outage of the database
_HINT: Final = "Provide an API key in the Authorization header: Bearer sk_live_..."
_UNKNOWN_HASH: Final = "0" * 64


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, and its rights."""

    role: Role
    key_id: str = ""  # or the id of the person, or the wallet that pays
    tenant_id: str = ""
    tier: Tier = Tier.FREE
    name: str = ""  # the key's display prefix, the wallet in short, or the person's email
    via: Via = Via.NONE
    csrf_secret: str = field(default="", repr=False)  # of a session: requests that change something name it
    opens: frozenset[str] | None = (
        None  # the ids that a capability opens, and nothing else; None: no such bound
    )

    # The limits that apply, each with the subject that it is counted for.

    @property
    def work(self) -> tuple[str, str]:
        return "admin" if self.role is Role.ADMIN else "user", self.key_id

    @property
    def hits(self) -> tuple[str, str]:
        return f"hits-{self.tier}", self.key_id

    @property
    def control(self) -> tuple[str, str]:
        return f"control-{self.tier}", self.key_id

    @property
    def renders(self) -> tuple[str, str]:
        return f"renders-{self.tier}", self.tenant_id


NOBODY: Final = Caller(Role.NOBODY)


def wallet(address: str) -> Caller:
    """A caller that pays by the call. All wallets share one tenant, and no tier limits what is paid for."""
    return Caller(Role.USER, address, PUBLIC, Tier.ENTERPRISE, wallet_name(address), Via.WALLET)


def wallet_name(address: str) -> str:
    return f"{address[:6]}…{address[-4:]}"


class Admission:
    """Turns a secret into a caller. Hot answers first; the database is authoritative."""

    def __init__(self, database: Database, hot: Hot, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._hot = hot
        self._clock = clock
        self._used: set[str] = set()  # written to the database now and then
        self._looking: SingleFlight[str, Key | None] = SingleFlight()

    async def identify(self, secret: str) -> Caller:
        """The caller behind an API key. The same work is done whether the key is known or not."""
        digest = tenants.key_hash(secret)
        try:
            kept = await self._hot.get(key_record(digest))
        except Unavailable:
            found = _held(await self._look_up(digest))
        else:
            found = _decode(kept) if kept is not None else _held(await self._look_up_once(digest))
        known = hmac.compare_digest(found.key.hash if found else _UNKNOWN_HASH, digest)
        if found is None or not known:
            raise unauthorized("The API key is not valid.")
        key = found.key
        if key.disabled_at is not None:
            raise Problem(problems.KEY_DISABLED, f"The API key {key.prefix} is disabled.")
        if key.expires_at is not None and self._is_over(key.expires_at):
            raise Problem(
                problems.KEY_DISABLED,
                f"The API key {key.prefix} has expired.",
                details={"reason": "expired"},
            )
        self._used.add(key.id)
        return found.holder

    def recall(self, key_record: bytes) -> Caller | None:
        """The caller behind a key of which Hot has this record, if the key is good."""
        return self._use(_decode(key_record))

    async def look_up(self, secret_hash: str) -> Caller | None:
        """The caller behind a key that Hot does not have."""
        return self._use(_held(await self._look_up_once(secret_hash)))

    def _is_over(self, expires_at: int | None) -> bool:
        """At every use: a key that was looked up before may have expired since."""
        return expires_at is not None and self._clock() * 1000 >= expires_at

    def _use(self, found: "_HeldKey | None") -> Caller | None:
        if found is None or found.key.disabled_at is not None or self._is_over(found.key.expires_at):
            return None
        self._used.add(found.key.id)
        return found.holder

    def take_used(self) -> set[str]:
        """The keys that were used since the last call."""
        used, self._used = self._used, set()
        return used

    async def refresh(self, key: Key) -> None:
        """Make a change to a key known at once to all processes that share this Hot."""
        try:
            await self._hot.put(key_record(key.hash), msgspec.msgpack.encode(key), KEY_SECONDS)
            await self._hot.put(_last_record(key.hash), msgspec.msgpack.encode(key), OUTAGE_SECONDS)
        except Unavailable:
            return  # the old record expires within KEY_SECONDS

    async def _look_up_once(self, digest: str) -> Key | None:
        """Concurrent requests with the same key share one database lookup."""
        return await self._looking.share(digest, lambda: self._look_up_to_keep(digest))

    async def _look_up_to_keep(self, digest: str) -> Key | None:
        try:
            key = await self._look_up(digest)
        except Unavailable:
            kept = await self._hot.get(_last_record(digest))
            if kept is None:
                raise
            # During an outage of the database, known callers are still served from the cache.
            await self._hot.put(key_record(digest), kept, KEY_SECONDS, only_new=True)
            found = _decode(kept)
            return found and found.key
        await self._keep(digest, key)
        return key

    async def _look_up(self, digest: str) -> Key | None:
        async with self._database.read() as connection:
            return await tenants.find_key(connection, digest)

    async def _keep(self, digest: str, key: Key | None) -> None:
        # only_new: a lookup that was overtaken by `refresh` must not bring the old state back.
        try:
            known = msgspec.msgpack.encode(key)
            is_new = await self._hot.put(key_record(digest), known, KEY_SECONDS, only_new=True)
            if is_new and key is not None:
                await self._hot.put(_last_record(digest), known, OUTAGE_SECONDS)
        except Unavailable:
            return


def unauthorized(detail: str) -> Problem:
    return Problem(problems.UNAUTHORIZED, detail, hint=_HINT, headers={"WWW-Authenticate": "Bearer"})


class _HeldKey(NamedTuple):
    key: Key
    holder: Caller


@lru_cache(maxsize=4096)
def _decode(kept: bytes) -> _HeldKey | None:
    return _held(msgspec.msgpack.decode(kept, type=Key | None))


def _held(key: Key | None) -> _HeldKey | None:
    return None if key is None else _HeldKey(key, key_holder(key))


def key_holder(key: Key) -> Caller:
    return Caller(key.role, key.id, key.tenant_id, key.tier, key.prefix, Via.KEY)


def _last_record(secret_hash: str) -> str:
    return f"key-last:{secret_hash}"


def key_record(secret_hash: str) -> str:
    """The name of an API key's record in Hot."""
    return f"key:{secret_hash}"
