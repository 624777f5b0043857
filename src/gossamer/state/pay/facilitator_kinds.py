"""What facilitators add to the terms of a network, for times when they do not answer."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import select

from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.single import Executor
from gossamer.state.pay.pay_tables import facilitator_kinds

_SAVE: Final = bulk(
    """
INSERT INTO facilitator_kinds (url, network, extra_json) VALUES ({url}, {network}, {extra})
ON CONFLICT (url, network) DO UPDATE SET extra_json = excluded.extra_json""",
    values={"url": "text", "network": "text", "extra": "text"},
)
_DROP: Final = bulk(
    "DELETE FROM facilitator_kinds WHERE url = {url} AND network = {network}",
    values={"url": "text", "network": "text"},
)


async def find(connection: AsyncConnection, url: str, network: str) -> Mapping[str, Any] | None:
    columns = facilitator_kinds.c
    query = select(columns.extra_json).where(columns.url == url, columns.network == network)
    found = (await connection.execute(query)).scalar_one_or_none()
    return None if found is None else msgspec.json.decode(found, type=dict[str, Any])


async def save(executor: Executor, url: str, network: str, extra: Mapping[str, Any]) -> None:
    await _SAVE(executor, None, url=url, network=network, extra=msgspec.json.encode(extra).decode())


async def drop(executor: Executor, url: str, network: str) -> None:
    """The facilitator takes no payments on this network."""
    await _DROP(executor, None, url=url, network=network)
