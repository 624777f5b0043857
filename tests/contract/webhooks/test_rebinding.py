"""A receiver whose name leads inside the second time is not asked there: every attempt judges the address."""

import asyncio
from urllib.parse import urlsplit

from sqlalchemy import select
from tests.contract.webhooks.office import NOW, deliver_all, open_office, register
from tests.servers.receiver import Receiver
from tests.site.dns import Clock, name_server

from gossamer.reach.net.names import MIN_LIFETIME, Names
from gossamer.state.db.database import Database
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.state.webhooks.webhook_tables import webhook_deliveries
from gossamer.web.webhooks.event_type import EventType

INSIDE = "127.0.0.2"  # only 127.0.0.1 may be asked


async def test_a_name_that_is_bound_to_a_forbidden_address_later_is_refused(
    database: Database, receiver: Receiver
) -> None:
    clock, inside = Clock(), Receiver()
    port = urlsplit(receiver.url).port
    async with (
        name_server() as dns,
        await asyncio.start_server(inside.accept, INSIDE, port),
        open_office(database, names=Names([dns.address], limit=1.0, clock=clock)) as office,
    ):
        dns.say("hook.test", ("127.0.0.1",), (INSIDE,))
        tenant = await _tenant(database)
        await register(office, tenant, f"http://hook.test:{port}/hook")
        for count in range(2):
            event = WebhookEvent(
                type=EventType.CRAWL_CANCELED,
                tenant_id=tenant,
                subject=str(count),
                data={"event": "canceled"},
            )
            async with database.write() as connection:
                await publish(connection, event, now=NOW)
            await deliver_all(office)
            clock.now += MIN_LIFETIME
    assert (len(receiver.heard), inside.heard) == (1, [])
    async with database.read() as connection:
        rows = (await connection.execute(select(webhook_deliveries).order_by(webhook_deliveries.c.id))).all()
    assert [bool(row.delivered_at) for row in rows] == [True, False]
    assert INSIDE not in rows[1].attempts_json  # the receiver's owner does not learn what is inside


async def _tenant(database: Database) -> str:
    from gossamer.state.tenants import tenants

    async with database.write() as connection:
        return (await tenants.ensure_tenant(connection, "hook@example.com", now=NOW)).id
