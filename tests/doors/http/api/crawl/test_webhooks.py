"""Webhooks of crawls and batches, as callers ask for them and receivers get them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, post
from tests.doors.services import Visit, Visiting, bearer
from tests.servers.receiver import Receiver, receiving
from tests.site.server import Site

from gossamer.state.webhooks.webhook_tables import webhook_endpoints

NAMES = ("started", "page", "completed", "failed", "canceled")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@pytest.fixture
async def open_visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


async def deliver(visit: Visit, receiver: Receiver, last: str) -> None:
    """Until the receiver has heard this."""
    async with asyncio.timeout(60):
        while last not in receiver.types:
            if not await visit.service.watch.webhooks.deliver_due():
                await asyncio.sleep(0.02)


async def run_batch(visit: Visit, batch_id: str) -> None:
    stop = asyncio.Event()
    task = asyncio.create_task(visit.service.worker().run(stop))
    async with asyncio.timeout(60):
        while not (await get(visit, f"/batch/fetch/{batch_id}"))["finishedAt"]:
            await asyncio.sleep(0.02)
    stop.set()
    await task


async def test_a_crawl_tells_its_receiver(open_visit: Visit, receiver: Receiver, web: Web) -> None:
    asked = {
        "url": receiver.url,
        "headers": {"X-Team": "spiders", "User-Agent": "ours"},
        "metadata": {"order": "7"},
    }
    begun = await begin(open_visit, web.seed, webhook=asked)
    told = begun["webhook"]
    assert (told["url"], tuple(told["events"])) == (receiver.url, NAMES)
    assert await get(open_visit, "/api/webhook-secret") == {"secret": told["secret"]}
    async with crawling(open_visit):
        shown = await over(open_visit, begun["crawlId"])
    assert "webhook" not in shown
    await deliver(open_visit, receiver, "crawl.completed")
    receiver.verify(told["secret"])
    assert (receiver.types[0], receiver.types[-1]) == ("crawl.started", "crawl.completed")
    pages = [page for body in receiver.bodies for page in body["data"].get("pages", ())]
    assert {page["url"] for page in pages} == web.urls
    content = pages[0]["resultUrl"].removeprefix(open_visit.service.settings.public_url)
    assert (await open_visit.client.get(content, headers=bearer_of(open_visit))).status_code == 200
    for headers, body in receiver.heard:
        assert (headers["x-team"], headers["user-agent"]) == ("spiders", "ours")
        assert '"metadata":{"order":"7"}' in body


def bearer_of(visit: Visit) -> dict[str, str]:
    return bearer(visit.service.settings.bootstrap_key)


async def test_a_batch_tells_its_receiver_what_was_asked_for(
    open_visit: Visit, receiver: Receiver, web: Web
) -> None:
    receiver.statuses = [500]
    asked = {"url": receiver.url, "events": ["page", "completed"]}
    body = {"urls": [web.seed, "http://no:99999/"], "webhook": asked}
    begun = (await post(open_visit, "/batch/fetch", body)).json()
    await run_batch(open_visit, begun["batchId"])
    async with open_visit.service.database.write() as connection:
        later = await connection.scalar(select(func.max(webhook_endpoints.c.created_at)))
    webhooks = open_visit.service.watch.webhooks
    while await webhooks.deliver_due():
        pass
    while await webhooks.deliver_due(now=later + 600_000):  # the receiver is back
        pass
    receiver.verify(begun["webhook"]["secret"])
    assert set(receiver.types) == {"batch.page", "batch.completed"}
    assert receiver.ids[0] in receiver.ids[1:]
    pages = {page["id"]: page for one in receiver.bodies for page in one["data"].get("pages", ())}
    assert [(page["url"], page["ok"]) for _, page in sorted(pages.items())] == [
        (web.seed, True),
        ("http://no:99999/", False),
    ]
    result = pages["0"]["resultUrl"].removeprefix(open_visit.service.settings.public_url)
    assert (await get(open_visit, result))["results"][0]["url"] == web.seed


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"url": "http://127.0.0.1/hook"}, "address of the webhook"),
    ({"url": "http://metadata.google.internal/"}, "address of the webhook"),
    ({"url": "https://a.example:22/"}, "address of the webhook"),
    ({"url": "ftp://a.example/"}, "address of the webhook"),
    ({"url": "https://a.example/", "headers": {"Host": "b.example"}}, "'Host'"),
    ({"url": "https://a.example/", "headers": {"transfer-encoding": "chunked"}}, "transfer-encoding"),
    ({"url": "https://a.example/", "headers": {"Webhook-Signature": "v1,x"}}, "Webhook-Signature"),
    ({"url": "https://a.example/", "headers": {"a b": "c"}}, "'a b'"),
    ({"url": "https://a.example/", "headers": {"a": "b\r\nc: d"}}, "value"),
    ({"url": "https://a.example/", "headers": {"a": "b" * 9_000}}, "too long"),
    ({"url": "https://a.example/", "metadata": {"a": "b" * 9_000}}, "too long"),
    ({"url": "https://a.example/", "events": ["exploded"]}, "events"),
    ({"url": "https://a.example/", "shape": "round"}, "shape"),
    ({"url": "https://a.example/", "secret": "x"}, "secret"),
    ({}, "url"),
]


@pytest.mark.parametrize("path", ["/api/crawls", "/batch/fetch"])
async def test_what_cannot_be_sent_is_refused(visit: Visit, path: str) -> None:
    body: dict[str, Any] = {"seeds" if "crawl" in path else "urls": ["https://a.example/"]}
    for webhook, said in REFUSED:
        response = await post(visit, path, {**body, "webhook": webhook})
        assert 400 <= response.status_code < 500
        assert said in response.text
    assert (await get(visit, "/api/crawls"))["crawls"] == []


async def test_each_tenant_has_its_own_secret(visit: Visit) -> None:
    own = await get(visit, "/api/webhook-secret", sent=bearer(await visit.key()))
    assert own != await get(visit, "/api/webhook-secret")
    assert (await visit.client.get("/api/webhook-secret")).status_code == 401
