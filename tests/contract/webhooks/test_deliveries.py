"""Webhooks are signed, repeated until they are heard, and never say two things under one id."""

import asyncio
import base64
import hashlib
import hmac
import io

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import select
from tests.contract.webhooks.office import NOW, SECRET, Office
from tests.servers.receiver import Receiver

from gossamer.flows.webhooks.signing import sign
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.reach.http.post import PostClient
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.state.webhooks import deliveries
from gossamer.state.webhooks.deliveries import (
    DEADLINE_MS,
    ENDPOINT_AT_ONCE,
    PAUSES,
    TAKEN_MS,
    NewDelivery,
)
from gossamer.state.webhooks.endpoint_health import HOLDS
from gossamer.state.webhooks.webhook_tables import webhook_deliveries as rows

HOLD_MS = HOLDS[0] * 1000
MONTH_MS = 30 * 86_400_000


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
    assert await office.webhooks.deliver_due(now=NOW + MONTH_MS) == 0
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
    now = NOW
    for pause in (*PAUSES, 0):
        assert await office.webhooks.deliver_due(now=now) == 1
        now += pause * 1000
    assert await office.webhooks.deliver_due(now=now + MONTH_MS) == 0
    assert 'gossamer_webhook_attempts_total{outcome="given_up"} 1.0' in office.told()
    async with office.database.write() as connection:
        assert await deliveries.count_old(connection, NOW) == 1
        assert await deliveries.forget_old(connection, NOW) == 1
        assert await deliveries.forget_old(connection, NOW) == 0


async def test_two_processes_deliver_once_and_a_killed_one_is_replaced(
    office: Office, receiver: Receiver
) -> None:
    await office.queue(receiver.url)
    both = await asyncio.gather(*(office.webhooks.deliver_due(now=NOW) for _ in range(2)))
    assert sorted(both) == [0, 1]
    await office.queue(receiver.url)
    async with office.database.write() as connection:
        taken = await deliveries.take_due(connection, 10, now=NOW)  # and then it is killed
    assert len(taken) == 1
    assert await office.webhooks.deliver_due(now=NOW + TAKEN_MS - 1) == 0
    assert await office.webhooks.deliver_due(now=NOW + TAKEN_MS) == 1
    assert len(receiver.heard) == 2


async def test_the_fence_holds(office: Office, receiver: Receiver) -> None:
    names = Names(())
    fenced = PostClient(Dialer(names, ports="*"), "Gossamer/0 (tests)")
    sender = replace(office.webhooks.sender, client=fenced)
    webhooks = replace(office.webhooks, sender=sender, log=Log(stream := io.StringIO()))
    await office.queue(receiver.url)
    assert await webhooks.deliver_due(now=NOW) == 1
    assert receiver.heard == []
    assert "hostname_blocked" in stream.getvalue()
    await fenced.close()
    await names.close()


async def test_a_receiver_that_is_away_is_asked_for_few_and_delays_nobody(
    office: Office, receiver: Receiver
) -> None:
    for _ in range(20):
        await office.queue("http://127.0.0.1:9/")  # nobody listens
    await office.queue(receiver.url)
    assert await office.webhooks.deliver_due(now=NOW) == ENDPOINT_AT_ONCE + 1
    assert len(receiver.heard) == 1
    assert await office.webhooks.deliver_due(now=NOW + HOLD_MS - 1) == 1
    async with office.database.read() as connection:
        attempts = (await connection.scalars(select(rows.c.attempt))).all()
    assert sorted(attempts) == [0] * 19 + [1, 2]  # the same one again, and no others


async def test_what_is_too_old_is_given_up_together(office: Office) -> None:
    for _ in range(20):
        await office.queue("http://127.0.0.1:9/")
    late = NOW + DEADLINE_MS
    assert await office.webhooks.deliver_due(now=late) == ENDPOINT_AT_ONCE
    assert await office.webhooks.deliver_due(now=late + MONTH_MS) == 0


async def test_what_comes_after_a_failure_waits_for_it(office: Office, receiver: Receiver) -> None:
    receiver.statuses = [503]
    async with office.database.write() as connection:
        new = [
            NewDelivery(sender="us", url=receiver.url, event=event, body=f'{{"type":"{event}"}}')
            for event in ("a", "b", "b")
        ]
        await deliveries.queue(connection, new, now=NOW)
    assert await office.webhooks.deliver_due(now=NOW) == 3
    assert receiver.types == ["a"]
    assert await office.webhooks.deliver_due(now=NOW + HOLD_MS) == 3
    assert receiver.types == ["a", "a", "b", "b"]
    async with office.database.read() as connection:
        attempts = (await connection.scalars(select(rows.c.attempt).order_by(rows.c.id))).all()
    assert attempts == [2, 1, 1]


async def test_an_event_without_an_address_cannot_be_sent_by_a_server_that_knows_no_subscriptions(
    office: Office,
) -> None:
    with pytest.raises(Problem):
        await office.webhooks.client.post("", {}, b"{}")
