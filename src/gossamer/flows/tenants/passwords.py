"""Passwords: hashed and checked with argon2id, in threads, a few at a time."""

import asyncio
from functools import lru_cache
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from msgspec import Struct, field

from gossamer.problems import UNPROCESSABLE_ENTITY, Problem

MIN_CHARS: Final = 10
MAX_CHARS: Final = 200
AT_ONCE: Final = 2  # each takes 64 MiB and a core


class Passwords(Struct, frozen=True):
    _hasher: PasswordHasher = field(default_factory=PasswordHasher)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def hash(self, password: str) -> str:
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def check(self, password: str, password_hash: str) -> bool:
        """Whether it is the password. Takes as long when there is none to compare with."""
        known = password_hash or _unknown_hash(self._hasher)
        async with self._turns:
            return await asyncio.to_thread(self._matches, password, known) and bool(password_hash)

    def _matches(self, password: str, password_hash: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (Argon2Error, InvalidHashError):
            return False


@lru_cache(maxsize=4)
def _unknown_hash(hasher: PasswordHasher) -> str:
    return hasher.hash("the password of somebody whom we do not know")


def check_strength(password: str, email: str) -> str:
    """The password, if it may be chosen."""
    if not MIN_CHARS <= len(password) <= MAX_CHARS:
        raise Problem(
            UNPROCESSABLE_ENTITY,
            f"A password has {MIN_CHARS} to {MAX_CHARS} characters; this one has {len(password)}.",
            hint="Several words in a row are easy to remember and hard to guess.",
        )
    if len(set(password)) < MIN_CHARS // 2 or password.lower() in (email, email.partition("@")[0]):
        raise Problem(
            UNPROCESSABLE_ENTITY,
            "This password is easy to guess.",
            hint="Several words in a row are easy to remember and hard to guess.",
        )
    return password
