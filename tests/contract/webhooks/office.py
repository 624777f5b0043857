"""Those who send webhooks, with a clock of their own."""

import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_network

from gossamer.flows.webhooks.composing import Composer, NativeEvents
from gossamer.flows.webhooks.delivery import Webhooks
from gossamer.flows.webhooks.sending import WebhookSender
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.reach.http.post import PostClient
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.state.db.database import Database
from gossamer.state.webhooks import deliveries
from gossamer.state.webhooks.deliveries import NewDelivery

NOW = 1_800_000_000_000
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, eh").decode()
PUBLIC_URL = "https://gossamer.example"


@dataclass
class Office:
    database: Database
    webhooks: Webhooks
    metrics: Metrics
    dialer: Dialer

    @property
    def keys(self) -> WebhookKeys:
        return self.webhooks.sender.composer.keys

    async def queue(self, url: str, body: str = '{"type":"test"}') -> None:
        async with self.database.write() as connection:
            new = NewDelivery(sender="us", url=url, event="test", body=body)
            await deliveries.queue(connection, [new], now=NOW)

    def told(self) -> str:
        return self.metrics.exposition.text()[0].decode()


@asynccontextmanager
async def open_office(database: Database) -> AsyncIterator[Office]:
    names, metrics = Names(()), Metrics("0")
    dialer = Dialer(names, allow=(ip_network("127.0.0.1/32"),), ports="*")
    client = PostClient(dialer, "Gossamer/0 (tests)")
    composer = Composer(database, WebhookKeys(database), {"gossamer": NativeEvents(PUBLIC_URL)})
    log = Log(io.StringIO())
    sender = WebhookSender(client, {"us": SECRET}, composer, log, clock=lambda: NOW / 1000)
    webhooks = Webhooks(database, sender, metrics, log)
    yield Office(database, webhooks, metrics, dialer)
    await client.close()
    await names.close()
