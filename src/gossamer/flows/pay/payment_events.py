"""Changes of payments that operators are told about, each in the transaction that writes it."""

from collections.abc import Awaitable, Callable

import msgspec

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.pay.ledger import LedgerEntry
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.web.webhooks.event_type import EventType

Write = Callable[[AsyncConnection], Awaitable[bool]]


class PaymentNews(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A payment that changed."""

    id: str
    network: str
    payer: str
    amount: str  # in units of the asset
    asset: str
    endpoint: str
    request_id: str
    transaction: str = ""
    reason: str = ""


async def write_and_tell(
    database: Database,
    entry: LedgerEntry,
    event: EventType,
    write: Write,
    *,
    transaction: str = "",
    reason: str = "",
) -> bool:
    """Whether `write` changed anything; only then it is told."""
    async with database.write() as connection:
        return await tell_written(
            connection, entry, event, await write(connection), transaction=transaction, reason=reason
        )


async def tell_written(
    connection: AsyncConnection,
    entry: LedgerEntry,
    event: EventType,
    written: bool,
    *,
    transaction: str = "",
    reason: str = "",
) -> bool:
    if written:
        news = PaymentNews(
            id=entry.id,
            network=entry.network,
            payer=entry.payer,
            amount=str(entry.amount),
            asset=entry.asset,
            endpoint=entry.endpoint,
            request_id=entry.request_id,
            transaction=transaction,
            reason=reason,
        )
        await publish(connection, WebhookEvent(type=event, subject=entry.id, data=news))
    return written
