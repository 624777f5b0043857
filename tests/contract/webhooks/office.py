"""Those who send webhooks, with a clock of their own."""

import base64
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_network

from tests.servers.receiver import Receiver

from gossamer.flows.webhooks.composing import Composer, NativeEvents
from gossamer.flows.webhooks.delivery import Webhooks
from gossamer.flows.webhooks.sending import WebhookSender
from gossamer.flows.webhooks.signing import sign
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.reach.http.post import PostClient
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.state.db.database import Database
from gossamer.state.webhooks import deliveries, endpoints
from gossamer.state.webhooks.deliveries import NewDelivery
from gossamer.state.webhooks.endpoints import WebhookEndpoint

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
async def open_office(
    database: Database, *, clock: Callable[[], float] = lambda: NOW / 1000, names: Names | None = None
) -> AsyncIterator[Office]:
    names, metrics = names or Names(()), Metrics("0")
    dialer = Dialer(names, allow=(ip_network("127.0.0.1/32"),), ports="*")
    client = PostClient(dialer, "Gossamer/0 (tests)")
    composer = Composer(database, WebhookKeys(database), lambda _shape: NativeEvents(PUBLIC_URL))
    log = Log(io.StringIO())
    sender = WebhookSender(client, {"us": SECRET}, composer, log, clock)
    webhooks = Webhooks(database, sender, metrics, log)
    yield Office(database, webhooks, metrics, dialer)
    await client.close()
    await names.close()


async def register(office: Office, tenant: str, url: str, *events: str, **fields: object) -> WebhookEndpoint:
    """An endpoint of a tenant, with a secret of its own."""
    owner = str(fields.pop("owner", tenant))
    made = WebhookEndpoint(
        tenant_id=tenant,
        owner=owner,
        url=url,
        events=events or ("*",),
        secret_sealed=await office.keys.seal_secret(owner, SECRET),
    )
    made = replace(made, **fields)  # type: ignore[arg-type]
    async with office.database.write() as connection:
        await endpoints.add(connection, made, now=NOW)
    return made


async def deliver_all(office: Office, *, now: int = NOW) -> None:
    while await office.webhooks.deliver_due(now=now):
        pass


def assert_signed(receiver: Receiver, *secrets: str) -> None:
    """With all of these. The library for receivers is not asked: it compares the time with its own."""
    for headers, body in receiver.heard:
        expected = [sign(secret, headers["webhook-id"], NOW // 1000, body) for secret in secrets]
        assert headers["webhook-signature"] == " ".join(expected)
