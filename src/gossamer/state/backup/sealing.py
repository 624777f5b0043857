"""Sealing: encrypts the objects of a backup with AES-256-GCM, each bound to its name.

An object that was changed, renamed or exchanged for another cannot be opened. Objects are parts of a few
megabytes, and the manifest, which is sealed too, names them in their order: so none can be left out either.
The key is derived from the operator's with scrypt and the place's own salt.
"""

from typing import Final, Protocol

from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec import Struct

from gossamer.state.seal import NONCE_BYTES, TAG_BYTES, BrokenSeal, Seal

SALT_BYTES: Final = 16
_KEY_BYTES: Final = 32
_COST: Final = 2**15  # 32 MiB and a tenth of a second


class CannotOpen(Exception):
    """The object was changed, or sealed with another key."""


class Sealer(Protocol):
    @property
    def overhead(self) -> int:
        """Bytes that sealing adds."""
        ...

    def seal(self, name: str, body: bytes) -> bytes: ...

    def open(self, name: str, sealed: bytes) -> bytes:
        """Raises `CannotOpen`."""
        ...


class NoSealer(Struct, frozen=True):
    """For places without a key: their objects are only hashed."""

    overhead: int = 0

    def seal(self, name: str, body: bytes) -> bytes:
        return body

    def open(self, name: str, sealed: bytes) -> bytes:
        return sealed


class KeySealer(Struct, frozen=True):
    of_key: Seal
    overhead: int = NONCE_BYTES + TAG_BYTES

    def seal(self, name: str, body: bytes) -> bytes:
        return self.of_key.seal(body, name)

    def open(self, name: str, sealed: bytes) -> bytes:
        try:
            return self.of_key.open(sealed, name)
        except BrokenSeal as error:
            raise CannotOpen(name) from error


def sealer_of(key: str, salt: bytes) -> KeySealer:
    """For a thread: it takes a while on purpose."""
    derive = Scrypt(salt=salt, length=_KEY_BYTES, n=_COST, r=8, p=1)
    return KeySealer(Seal(derive.derive(key.encode())))
