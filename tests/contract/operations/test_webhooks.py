"""Webhooks are signed, repeated until they are heard, and never say two things under one id."""

import asyncio
import base64
import hashlib
import hmac
import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network

import msgspec
import pytest

from gossamer.flows.webhooks.delivery import Webhooks
from gossamer.flows.webhooks.signing import sign
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.reach.http.post import PostClient
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.state.db.database import Database
from gossamer.state.operations import webhook_deliveries
from gossamer.state.operations.webhook_deliveries import KEEP_MS, PAUSES, TAKEN_MS, NewWebhook

NOW = 1_800_000_000_000
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, eh").decode()


@dataclass
class Receiver:
    """Answers with these statuses, one after the other, and then with 200. A redirect is not followed."""

    statuses: list[int] = field(default_factory=list)
    heard: list[tuple[dict[str, str], str]] = field(default_factory=list)
    url: str = ""

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
        headers = {name.lower(): value for name, _, value in lines}
        body = (await reader.readexactly(int(headers["content-length"]))).decode()
        self.heard.append((headers, body))
        status = self.statuses.pop(0) if self.statuses else 200
        answer = (
            f"HTTP/1.1 {status} X\r\nlocation: {self.url}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
        writer.write(answer.encode())
        writer.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?for=us"
    async with server:
        yield made


@dataclass
class Office:
    database: Database
    webhooks: Webhooks
    metrics: Metrics

    async def queue(self, url: str, body: str = '{"type":"test"}') -> None:
        async with self.database.write() as connection:
            await webhook_deliveries.queue(connection, [NewWebhook("us", url, "test", body)], now=NOW)

    def told(self) -> str:
        return self.metrics.exposition.text()[0].decode()


@pytest.fixture
async def office(database: Database) -> AsyncIterator[Office]:
    names, metrics = Names(()), Metrics("0")
    dialer = Dialer(names, allow=(ip_network("127.0.0.1/32"),), ports="*")
    client = PostClient(dialer, "Gossamer/0 (tests)")
    log = Log(io.StringIO())
    yield Office(
        database,
        Webhooks(database, client, {"us": SECRET}, metrics, log, clock=lambda: NOW / 1000),
        metrics,
    )
    await client.close()
    await names.close()


async def test_a_receiver_can_verify_what_it_gets(office: Office, receiver: Receiver) -> None:
    await office.queue(receiver.url)
    assert await office.webhooks.deliver_due(now=NOW) == 1
    ((headers, body),) = receiver.heard
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-timestamp"] == str(NOW // 1000)
    assert headers["content-type"] == "application/json"
    assert msgspec.json.decode(body) == {"type": "test"}
    assert await office.webhooks.deliver_due(now=NOW + KEEP_MS) == 0
    assert 'gossamer_webhook_attempts_total{outcome="delivered"} 1.0' in office.told()


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of Standard Webhooks."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


async def test_a_failure_is_repeated_with_the_same_id_and_contents(
    office: Office, receiver: Receiver
) -> None:
    receiver.statuses = [500, 302]
    await office.queue(receiver.url)
    assert await office.webhooks.deliver_due(now=NOW) == 1
    assert await office.webhooks.deliver_due(now=NOW + PAUSES[0] * 1000 - 1) == 0
    second = NOW + PAUSES[0] * 1000
    assert await office.webhooks.deliver_due(now=second) == 1
    assert await office.webhooks.deliver_due(now=second + PAUSES[1] * 1000) == 1
    assert len({(headers["webhook-id"], body) for headers, body in receiver.heard}) == 1
    assert len(receiver.heard) == 3
    assert await office.webhooks.deliver_due(now=NOW + 10**9) == 0


async def test_it_is_given_up_in_the_end(office: Office) -> None:
    await office.queue("http://127.0.0.1:9/")  # nobody listens
    now, tries = NOW, 0
    while await office.webhooks.deliver_due(now=now):
        tries += 1
        now += 43_200_000
    assert tries == len(PAUSES) + 1
    assert 'gossamer_webhook_attempts_total{outcome="given_up"} 1.0' in office.told()
    async with office.database.write() as connection:
        assert await webhook_deliveries.forget_old(connection, now=NOW + KEEP_MS) == 1


async def test_two_processes_deliver_once_and_a_killed_one_is_replaced(
    office: Office, receiver: Receiver
) -> None:
    await office.queue(receiver.url)
    both = await asyncio.gather(*(office.webhooks.deliver_due(now=NOW) for _ in range(2)))
    assert sorted(both) == [0, 1]
    await office.queue(receiver.url)
    async with office.database.write() as connection:
        taken = await webhook_deliveries.take_due(connection, 10, now=NOW)  # and then it is killed
    assert len(taken) == 1
    assert await office.webhooks.deliver_due(now=NOW + TAKEN_MS - 1) == 0
    assert await office.webhooks.deliver_due(now=NOW + TAKEN_MS) == 1
    assert len(receiver.heard) == 2


async def test_the_fence_holds(office: Office, receiver: Receiver) -> None:
    names = Names(())
    fenced = PostClient(Dialer(names, ports="*"), "Gossamer/0 (tests)")
    webhooks = Webhooks(office.database, fenced, {}, office.metrics, Log(stream := io.StringIO()))
    await office.queue(receiver.url)
    assert await webhooks.deliver_due(now=NOW) == 1
    assert receiver.heard == []
    assert "hostname_blocked" in stream.getvalue()
    await fenced.close()
    await names.close()
