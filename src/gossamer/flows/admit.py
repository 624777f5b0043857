"""Admit: who is asking?"""

import asyncio
import hmac
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from gossamer import problems
from gossamer.problems import Problem, Unavailable
from gossamer.state import tenants
from gossamer.state.database import Database
from gossamer.state.hot import Hot
from gossamer.state.tenants import PUBLIC, Key, Role, Tier

KEY_SECONDS: Final = 5.0  # how long a key that was looked up is believed; disabling overwrites it at once
OUTAGE_SECONDS: Final = 600.0  # and how long where the database cannot be asked again
_HINT: Final = "Provide an API key in the Authorization header: Bearer sk_live_..."
_UNKNOWN_HASH: Final = "0" * 64


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking, and what they may do."""

    role: Role
    key_id: str = ""  # or the wallet that pays
    tenant_id: str = ""
    tier: Tier = Tier.FREE
    name: str = ""  # the key's display prefix, or the wallet in short


NOBODY: Final = Caller(Role.NOBODY)


def wallet(address: str) -> Caller:
    """Who pays by the call: all wallets share one tenant, and what it has paid for is no tier's to limit."""
    return Caller(Role.USER, address, PUBLIC, Tier.ENTERPRISE, f"{address[:6]}…{address[-4:]}")


class Admission:
    """Turns a secret into a caller. Hot answers first; the database is the truth."""

    def __init__(self, database: Database, hot: Hot) -> None:
        self._database = database
        self._hot = hot
        self._used: set[str] = set()  # written down now and then
        self._looking: dict[str, asyncio.Task[Key | None]] = {}

    async def identify(self, secret: str) -> Caller:
        """The caller behind an API key. The same work is done whether the key is known or not."""
        digest = tenants.key_hash(secret)
        key = await self._find(digest)
        known = hmac.compare_digest(key.hash if key else _UNKNOWN_HASH, digest)
        if key is None or not known:
            raise unauthorized("The API key is not valid.")
        if key.disabled_at is not None:
            raise Problem(problems.KEY_DISABLED, f"The API key {key.prefix} is disabled.")
        self._used.add(key.id)
        return _caller(key)

    async def recall(self, secret_hash: str, kept: bytes | None) -> Caller | None:
        """The caller behind a key of which Hot has this record, if it is a good one."""
        caller = _remembered(kept) if kept is not None else _if_good(await self._shared(secret_hash))
        if caller is not None:
            self._used.add(caller.key_id)
        return caller

    def take_used(self) -> set[str]:
        """The keys that were used since this was last asked."""
        used, self._used = self._used, set()
        return used

    async def refresh(self, key: Key) -> None:
        """Make a change to a key known at once to whoever shares this Hot."""
        try:
            await self._hot.put(key_record(key.hash), msgspec.msgpack.encode(key), KEY_SECONDS)
            await self._hot.put(_last_record(key.hash), msgspec.msgpack.encode(key), OUTAGE_SECONDS)
        except Unavailable:
            return  # what Hot still holds runs out by itself within KEY_SECONDS

    async def _find(self, digest: str) -> Key | None:
        try:
            kept = await self._hot.get(key_record(digest))
        except Unavailable:
            return await self._look_up(digest)
        return _decoded(kept) if kept is not None else await self._shared(digest)

    async def _shared(self, digest: str) -> Key | None:
        """A busy key runs out for all who use it at the same moment: one of them looks, the others wait."""
        task = self._looking.get(digest)
        if task is None:
            task = self._looking[digest] = asyncio.create_task(self._look_up_to_keep(digest))
            task.add_done_callback(lambda ended: self._looked(digest, ended))
        return await asyncio.shield(task)

    def _looked(self, digest: str, task: asyncio.Task[Key | None]) -> None:
        del self._looking[digest]
        if not task.cancelled():
            task.exception()  # heard by who waits, if anybody still does

    async def _look_up_to_keep(self, digest: str) -> Key | None:
        try:
            key = await self._look_up(digest)
        except Unavailable:
            kept = await self._hot.get(_last_record(digest))
            if kept is None:
                raise
            # Hits are served while the database is away, to who was known before.
            await self._hot.put(key_record(digest), kept, KEY_SECONDS, only_new=True)
            return _decoded(kept)
        await self._keep(digest, key)
        return key

    async def _look_up(self, digest: str) -> Key | None:
        async with self._database.read() as connection:
            return await tenants.find_key(connection, digest)

    async def _keep(self, digest: str, key: Key | None) -> None:
        # only_new: a look-up that was overtaken by `refresh` must not bring the old state back.
        try:
            known = msgspec.msgpack.encode(key)
            is_new = await self._hot.put(key_record(digest), known, KEY_SECONDS, only_new=True)
            if is_new and key is not None:
                await self._hot.put(_last_record(digest), known, OUTAGE_SECONDS)
        except Unavailable:
            return


def unauthorized(detail: str) -> Problem:
    return Problem(problems.UNAUTHORIZED, detail, hint=_HINT, headers={"WWW-Authenticate": "Bearer"})


@lru_cache(maxsize=4096)
def _decoded(kept: bytes) -> Key | None:
    return msgspec.msgpack.decode(kept, type=Key | None)


@lru_cache(maxsize=4096)
def _remembered(kept: bytes) -> Caller | None:
    return _if_good(_decoded(kept))


def _if_good(key: Key | None) -> Caller | None:
    return None if key is None or key.disabled_at is not None else _caller(key)


def _caller(key: Key) -> Caller:
    return Caller(key.role, key.id, key.tenant_id, key.tier, key.prefix)


def _last_record(secret_hash: str) -> str:
    return f"key-last:{secret_hash}"


def key_record(secret_hash: str) -> str:
    """Under which key Hot has what is known of an API key."""
    return f"key:{secret_hash}"
