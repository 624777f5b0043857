"""Webhook keys: the secret that signs the webhooks of each owner, and the seal of the headers they send.

All follow from one secret that the servers share, so nothing has to be stored for an owner.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.signing import PREFIX
from gossamer.state.db.database import Database
from gossamer.state.pay.server_secrets import ensure_secret
from gossamer.state.tenants.activity import Via

_NAME: Final = "webhooks"
_NONCE_BYTES: Final = 12


def owner_of(caller: Caller) -> str:
    """Whose secret it is: the tenant's, and of wallets, which share a tenant, each wallet's own."""
    return f"{caller.tenant_id}:{caller.key_id}" if caller.via is Via.WALLET else caller.tenant_id


@dataclass(frozen=True, slots=True)
class WebhookKeys:
    database: Database
    _shared: list[bytes] = field(default_factory=list)  # looked up once

    async def secret_of(self, owner: str) -> str:
        return PREFIX + base64.b64encode(await self._derive(f"sign:{owner}")).decode()

    async def seal(self, owner: str, headers: Mapping[str, str]) -> bytes | None:
        if not headers:
            return None
        nonce = os.urandom(_NONCE_BYTES)
        clear = msgspec.json.encode(headers)
        return nonce + AESGCM(await self._derive("seal")).encrypt(nonce, clear, owner.encode())

    async def open(self, owner: str, sealed: bytes | None) -> dict[str, str]:
        if sealed is None:
            return {}
        cipher = AESGCM(await self._derive("seal"))
        clear = cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], owner.encode())
        return msgspec.json.decode(clear, type=dict[str, str])

    async def _derive(self, purpose: str) -> bytes:
        if not self._shared:
            async with self.database.write() as connection:
                self._shared.append(await ensure_secret(connection, _NAME))
        return hmac.digest(self._shared[0], purpose.encode(), hashlib.sha256)
