"""Seal: what only the holder of its key can read, and nobody can change, with AES-256-GCM.

The cipher's library is imported with the first seal: it holds eight megabytes, which most servers never need.
"""

import os
from typing import Final

from msgspec import Struct

NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16


class BrokenSeal(Exception):
    """It was changed, or sealed with another key, or about something else."""


class Seal(Struct, frozen=True):
    key: bytes

    def seal(self, clear: bytes, about: str) -> bytes:
        """`about` is not kept; whoever opens it has to know it."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(NONCE_BYTES)
        return nonce + AESGCM(self.key).encrypt(nonce, clear, about.encode())

    def open(self, sealed: bytes, about: str) -> bytes:
        """Raises `BrokenSeal`."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(self.key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], about.encode())
        except (InvalidTag, ValueError) as error:  # it is too short for a nonce
            raise BrokenSeal(about) from error
