"""An endpoint that fails is left alone, tried with one delivery, and disabled in the end."""

import pytest
from tests.contract.crawl.crawl_ground import Ground
from tests.contract.webhooks.office import NOW, Office, deliver_all, register
from tests.servers.receiver import Receiver

from gossamer.state.db.database import Database
from gossamer.state.webhooks import delivery_log, endpoints
from gossamer.state.webhooks.deliveries import PAUSES
from gossamer.state.webhooks.delivery_log import DeliveryFilter, LoggedDelivery
from gossamer.state.webhooks.endpoint_health import FAILING_MS, HOLDS
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.web.webhooks.attempt import AttemptReason, DeliveryState, DisabledReason
from gossamer.web.webhooks.event_type import EventType

AWAY = "http://127.0.0.1:9/"  # nobody listens


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def tell(office: Office, tenant: str, count: int = 1, *, now: int = NOW) -> None:
    """Each under a number, so that a receiver can tell their order."""
    events = [
        WebhookEvent(type=EventType.MONITOR_CHANGED, tenant_id=tenant, subject=f"{now}-{place}", data=place)
        for place in range(count)
    ]
    async with office.database.write() as connection:
        await publish(connection, *events, now=now)


async def look(office: Office, endpoint: WebhookEndpoint) -> WebhookEndpoint:
    async with office.database.read() as connection:
        found = await endpoints.get(connection, endpoint.id)
    assert found is not None
    return found


async def logged(office: Office, endpoint: WebhookEndpoint) -> list[LoggedDelivery]:
    """The oldest first."""
    async with office.database.read() as connection:
        found = await delivery_log.list_deliveries(connection, DeliveryFilter(endpoint_id=endpoint.id))
    return found[::-1]


async def test_events_come_in_their_order(office: Office, ground: Ground, receiver: Receiver) -> None:
    await register(office, ground.tenant, receiver.url)
    for place in range(6):
        await tell(office, ground.tenant, now=NOW + place)
    receiver.statuses = [200] * 6
    await deliver_all(office, now=NOW + 10)
    assert receiver.ids == sorted(receiver.ids)
    assert len(receiver.ids) == 6


async def test_one_goes_ahead_before_the_others_are_sent(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    made = await register(office, ground.tenant, receiver.url)
    await tell(office, ground.tenant)
    receiver.statuses = [503]
    await deliver_all(office)
    await tell(office, ground.tenant, 8)  # during the hold
    assert (await look(office, made)).held_until == NOW + HOLDS[0] * 1000
    assert await office.webhooks.deliver_due(now=NOW + PAUSES[0] * 1000 - 1) == 0
    receiver.statuses = [503]
    assert await office.webhooks.deliver_due(now=NOW + HOLDS[0] * 1000) == 1  # the probe, which fails
    assert (await look(office, made)).failures == 2
    later = NOW + (HOLDS[0] + HOLDS[1]) * 1000
    assert await office.webhooks.deliver_due(now=later) == 1  # the next one, which is heard
    assert (await look(office, made)).failures == 0
    await deliver_all(office, now=later)
    assert len(set(receiver.ids)) == 9


async def test_an_endpoint_that_fails_for_days_is_disabled_and_the_others_are_told(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    made = await register(office, ground.tenant, AWAY)
    await register(office, ground.tenant, receiver.url, "webhook.*")
    await tell(office, ground.tenant)
    await office.webhooks.deliver_due(now=NOW)
    await tell(office, ground.tenant, 3, now=NOW + FAILING_MS)
    await office.webhooks.deliver_due(now=NOW + FAILING_MS)
    found = await look(office, made)
    assert found.disabled_reason is DisabledReason.FAILING
    assert {one.state for one in await logged(office, made)} == {DeliveryState.GIVEN_UP}
    await deliver_all(office, now=NOW + FAILING_MS)
    assert receiver.types == ["webhook.disabled"]
    assert receiver.bodies[0]["data"] == {"id": made.id, "url": AWAY, "reason": "failing"}
    await tell(office, ground.tenant, now=NOW + FAILING_MS)  # it hears nothing more
    assert len(await logged(office, made)) == 4


async def test_410_disables_at_once(office: Office, ground: Ground, receiver: Receiver) -> None:
    made = await register(office, ground.tenant, receiver.url)
    await tell(office, ground.tenant, 3)
    receiver.statuses = [410] * 3
    await deliver_all(office)
    assert (await look(office, made)).disabled_reason is DisabledReason.GONE
    states = {(one.state, one.failure) for one in await logged(office, made)}
    assert states <= {
        (DeliveryState.GIVEN_UP, AttemptReason.GONE),
        (DeliveryState.GIVEN_UP, AttemptReason.DISABLED),
    }


async def test_retry_after_is_honoured(office: Office, ground: Ground, receiver: Receiver) -> None:
    made = await register(office, ground.tenant, receiver.url)
    await tell(office, ground.tenant)
    receiver.statuses, receiver.retry_after = [429], "100"
    await deliver_all(office)
    (one,) = await logged(office, made)
    assert one.due_at == NOW + 100_000
    assert await office.webhooks.deliver_due(now=NOW + 99_999) == 0
    assert await office.webhooks.deliver_due(now=NOW + 100_000) == 1


async def test_what_was_given_up_is_sent_again_under_the_same_id(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    made = await register(office, ground.tenant, receiver.url)
    await tell(office, ground.tenant, 2)
    await tell(office, ground.tenant, now=NOW + 5)
    receiver.statuses = [410]
    await office.webhooks.deliver_due(now=NOW)
    early, later = NOW, NOW + 5
    async with office.database.write() as connection:
        given_up = await delivery_log.list_deliveries(
            connection, DeliveryFilter(endpoint_id=made.id, state=DeliveryState.GIVEN_UP)
        )
        await endpoints.change(connection, made.id, {"disabled_at": None, "failures": 0})
        assert await delivery_log.resend_given_up(connection, made.id, later, now=later) == 1
        assert await delivery_log.resend_given_up(connection, made.id, early, now=later) == len(given_up) - 1
    before = list(receiver.ids)
    await deliver_all(office, now=later)
    assert set(receiver.ids[len(before) :]) == {one.id for one in given_up}
    assert {one.state for one in await logged(office, made)} == {DeliveryState.DELIVERED}
    repeated = next(one for one in await logged(office, made) if one.id == before[0])
    assert [each.status for each in repeated.attempts] == [410, 200]


async def test_what_the_receiver_said_is_kept_without_secrets(
    office: Office, ground: Ground, receiver: Receiver
) -> None:
    sealed = await office.keys.seal(ground.tenant, {"X-Ours": "quite-confidential"})
    made = await register(office, ground.tenant, receiver.url, headers_sealed=sealed)
    await tell(office, ground.tenant)
    receiver.statuses = [500]
    receiver.says = "got quite-confidential and password=hunter22 " + "x" * 5_000
    await deliver_all(office)
    (one,) = await logged(office, made)
    (attempt,) = one.attempts
    assert (attempt.status, attempt.reason) == (500, AttemptReason.STATUS)
    assert attempt.answer.startswith("got [REDACTED] and password=[REDACTED]")
    assert len(attempt.answer) <= 500
    assert receiver.heard[0][0]["x-ours"] == "quite-confidential"
