"""Webhooks as callers register them, look at what they were sent, and send it again."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from httpx import Response
from tests.doors.crawls import OPEN
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.servers.receiver import Receiver, receiving

from gossamer.flows.tenants.keys import NewKey
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Tier
from gossamer.state.webhooks.publishing import WebhookEvent, publish
from gossamer.web.webhooks.event_type import DESCRIPTIONS, EventType

PATH = "/api/webhooks"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@pytest.fixture
async def open_visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN, quota_webhooks="2,2,2") as opened:
        yield opened


async def ask(
    visit: Visit, method: str, path: str, body: Any = None, sent: dict[str, str] = AS_ADMIN
) -> Response:
    return await visit.client.request(method, path, json=body, headers=sent)


async def register(visit: Visit, url: str, sent: dict[str, str] = AS_ADMIN, **fields: Any) -> dict[str, Any]:
    answer = await ask(visit, "POST", PATH, {"url": url, **fields}, sent)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_webhook_from_registering_to_sending_again(open_visit: Visit, receiver: Receiver) -> None:
    headers = {"X-Ours": "quite-confidential"}
    made = await register(open_visit, receiver.url, events=["monitor.*"], headers=headers)
    one = f"{PATH}/{made['id']}"
    shown = (await ask(open_visit, "GET", one)).json()
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    assert shown["headerNames"] == ["X-Ours"]
    assert (await ask(open_visit, "GET", f"{one}/secret")).json() == {"secret": made["secret"]}

    rotated = (await ask(open_visit, "POST", f"{one}/rotate", {"oldSecretSeconds": 60})).json()
    assert rotated["oldSecretUntil"] is not None
    receiver.says = "thanks for quite-confidential"
    tested = (await ask(open_visit, "POST", f"{one}/test")).json()
    assert (tested["state"], tested["attempts"][0]["status"]) == ("delivered", 200)
    assert tested["attempts"][0]["answer"] == "thanks for [REDACTED]"
    for secret in (made["secret"], rotated["secret"]):
        receiver.verify(secret)

    receiver.statuses = [410]
    async with open_visit.service.database.write() as connection:
        event = WebhookEvent(
            type=EventType.MONITOR_CHANGED, tenant_id=made["tenantId"], subject="it", data={"a": 1}
        )
        assert await publish(connection, event) == 1
    while await open_visit.service.watch.webhooks.deliver_due():
        pass
    listed = (await ask(open_visit, "GET", f"{one}/deliveries?state=given_up")).json()["deliveries"]
    assert [(each["type"], each["reason"]) for each in listed] == [("monitor.changed", "gone")]
    detail = (await ask(open_visit, "GET", f"{one}/deliveries/{listed[0]['id']}")).json()
    assert detail["body"] == receiver.heard[-1][1]
    everything = (await ask(open_visit, "GET", f"{PATH}/deliveries")).json()["deliveries"]
    assert {each["webhookId"] for each in everything} == {made["id"]}

    assert_problem(await ask(open_visit, "POST", f"{one}/retry", {}), "UNPROCESSABLE_ENTITY")
    enabled = (await ask(open_visit, "PATCH", one, {"enabled": True})).json()
    assert (enabled["disabledAt"], enabled["failingSince"]) == (None, None)
    assert (await ask(open_visit, "POST", f"{one}/retry", {})).json() == {"resent": 1}
    while await open_visit.service.watch.webhooks.deliver_due():
        pass
    assert receiver.ids[-1] == receiver.ids[-2] == listed[0]["id"]
    again = await ask(open_visit, "POST", f"{one}/deliveries/{listed[0]['id']}/retry")
    assert again.json()["state"] == "waiting"
    assert (await ask(open_visit, "DELETE", one)).status_code == 204
    assert_problem(await ask(open_visit, "GET", one), "NOT_FOUND")


async def test_nobody_sees_the_webhooks_of_others(open_visit: Visit, receiver: Receiver) -> None:
    stranger = NewKey(email="other@example.com", role="user", tier=Tier.PRO)
    other = bearer((await open_visit.service.keys.create(stranger, Actor("test"))).secret)
    mine = bearer(await open_visit.key())
    made = await register(open_visit, receiver.url, mine)
    assert not made["hearsOperatorEvents"]
    one = f"{PATH}/{made['id']}"
    tested = (await ask(open_visit, "POST", f"{one}/test", sent=mine)).json()
    for method, path, body in (
        ("GET", one, None),
        ("PATCH", one, {"enabled": False}),
        ("DELETE", one, None),
        ("GET", f"{one}/secret", None),
        ("POST", f"{one}/rotate", {}),
        ("POST", f"{one}/test", None),
        ("POST", f"{one}/retry", {}),
        ("GET", f"{one}/deliveries", None),
        ("GET", f"{one}/deliveries/{tested['id']}", None),
        ("POST", f"{one}/deliveries/{tested['id']}/retry", None),
    ):
        assert_problem(await ask(open_visit, method, path, body, other), "NOT_FOUND")
    assert (await ask(open_visit, "GET", PATH, sent=other)).json()["webhooks"] == []
    assert (await ask(open_visit, "GET", f"{PATH}/deliveries", sent=other)).json()["deliveries"] == []
    assert (await ask(open_visit, "GET", one)).status_code == 200  # an admin


async def test_a_tenant_has_as_many_as_its_quota_allows(open_visit: Visit) -> None:
    mine = bearer(await open_visit.key())
    for _ in range(2):
        await register(open_visit, "https://a.example/", mine)
    refused = await ask(open_visit, "POST", PATH, {"url": "https://a.example/"}, mine)
    assert_problem(refused, "QUOTA_EXCEEDED")
    assert refused.json()["details"]["quota"] == "webhooks"


async def test_what_cannot_be_sent_is_refused(visit: Visit) -> None:
    for body, said in (
        ({"url": "http://127.0.0.1/hook"}, "address of the webhook"),
        ({"url": "http://metadata.google.internal/"}, "address of the webhook"),
        ({"url": "https://a.example/", "events": ["crawls.*"]}, "crawls.*"),
        ({"url": "https://a.example/", "events": []}, "events"),
        ({"url": "https://a.example/", "headers": {"Webhook-Id": "x"}}, "Webhook-Id"),
        ({"url": "https://a.example/", "secret": "x"}, "secret"),
    ):
        answer = await ask(visit, "POST", PATH, body)
        assert answer.status_code == 400
        assert said in answer.text
    assert (await ask(visit, "GET", PATH)).json()["webhooks"] == []


async def test_every_type_is_described(visit: Visit) -> None:
    types = (await ask(visit, "GET", f"{PATH}/events")).json()["types"]
    assert [each["type"] for each in types] == [each.value for each in EventType] == list(DESCRIPTIONS)
