"""Webhook keys: the secrets that sign webhooks, and the seal of what is stored for endpoints.

All work of an owner that brings its own webhook is signed with one secret, which follows from a secret that
the servers share. An endpoint that was registered has a secret of its own, stored under the seal.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.signing import PREFIX
from gossamer.state.db.database import Database
from gossamer.state.pay.server_secrets import ensure_secret
from gossamer.state.seal import Seal
from gossamer.state.tenants.activity import Via
from gossamer.state.webhooks.endpoints import WebhookEndpoint

_NAME: Final = "webhooks"
_SECRET_BYTES: Final = 32


def owner_of(caller: Caller) -> str:
    """Whose it is: the tenant's, and of wallets, which share a tenant, each wallet's own."""
    return f"{caller.tenant_id}:{caller.key_id}" if caller.via is Via.WALLET else caller.tenant_id


def new_secret() -> str:
    return PREFIX + base64.b64encode(os.urandom(_SECRET_BYTES)).decode()


class WebhookKeys(Struct, frozen=True):
    database: Database
    _shared: list[bytes] = field(default_factory=list)  # looked up once

    async def secret_of(self, owner: str) -> str:
        return PREFIX + base64.b64encode(await self._derive(f"sign:{owner}")).decode()

    async def secrets_of(self, endpoint: WebhookEndpoint, timestamp: int) -> list[str]:
        """Those that sign now (Unix seconds), the newest first."""
        if endpoint.secret_sealed is None:
            return [await self.secret_of(endpoint.owner)]
        found = [await self.open_secret(endpoint.owner, endpoint.secret_sealed)]
        if endpoint.old_secret_sealed is not None and timestamp * 1000 < (endpoint.old_secret_until or 0):
            found.append(await self.open_secret(endpoint.owner, endpoint.old_secret_sealed))
        return found

    async def seal_secret(self, owner: str, secret: str) -> bytes:
        return await self._seal(owner, secret.encode())

    async def open_secret(self, owner: str, sealed: bytes) -> str:
        return (await self._open(owner, sealed)).decode()

    async def seal(self, owner: str, headers: Mapping[str, str]) -> bytes | None:
        return await self._seal(owner, msgspec.json.encode(headers)) if headers else None

    async def open(self, owner: str, sealed: bytes | None) -> dict[str, str]:
        if sealed is None:
            return {}
        return msgspec.json.decode(await self._open(owner, sealed), type=dict[str, str])

    async def _seal(self, owner: str, clear: bytes) -> bytes:
        return Seal(await self._derive("seal")).seal(clear, owner)

    async def _open(self, owner: str, sealed: bytes) -> bytes:
        return Seal(await self._derive("seal")).open(sealed, owner)

    async def _derive(self, purpose: str) -> bytes:
        if not self._shared:
            async with self.database.write() as connection:
                self._shared.append(await ensure_secret(connection, _NAME))
        return hmac.digest(self._shared[0], purpose.encode(), hashlib.sha256)
