"""Starting jobs: equal requests that come within seconds are one.

The clients for Python send a start again if its connection is cut, without anything to tell it from the first
one. So a start gets an Idempotency-Key of ours, which is forgotten so soon that nobody waits for it.
"""

import hashlib
import secrets
from typing import Final

from msgspec import Struct

from gossamer.doors.http.core.exchange import Exchange
from gossamer.problems import Unavailable
from gossamer.state.kv.hot import Hot

JOIN_SECONDS: Final = 10.0


class JobStarts(Struct, frozen=True):
    hot: Hot

    async def headers(self, exchange: Exchange) -> dict[str, str]:
        """Headers for the call that starts the job."""
        if exchange.dialect is not None and exchange.header(exchange.dialect.idempotency_header):
            return {}  # the client's own, which is passed on
        body = await exchange.body()
        caller = exchange.header(b"authorization") or exchange.header(b"cookie") or exchange.client
        parts = (caller.encode("latin-1"), exchange.path.encode(), body)
        digests = b"".join(hashlib.sha256(part).digest() for part in parts)
        name = f"start:{hashlib.sha256(digests).hexdigest()}"
        mine = secrets.token_hex(16).encode()
        try:
            if not await self.hot.put(name, mine, JOIN_SECONDS, only_new=True):
                mine = await self.hot.get(name) or mine
        except Unavailable:
            return {}
        return {"idempotency-key": mine.decode()}
