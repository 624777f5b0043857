"""GET /api/crawls/{id}/events."""

import asyncio
import json
from typing import Any

import pytest
from tests.doors.crawls import OPEN, Web, begin, crawling, get, over, post
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visiting, bearer
from tests.site.server import Site

from gossamer.doors.http.api.crawl import crawl_events
from gossamer.doors.http.core import streaming
from gossamer.state.tenants.tenants import Role

STREAM = {**AS_ADMIN, "Accept": "text/event-stream"}


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The id and the data of each."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            assert fields["event"] == "progress"
            found.append((fields["id"], json.loads(fields["data"])))
    return found


async def test_a_stream_tells_how_a_crawl_goes_and_ends_with_it(
    database_url: str, visiting: Visiting, site: Site
) -> None:
    web = Web.on(site.origins(1)[0])
    async with visiting(database_url=database_url, **OPEN) as visit:
        begun = await begin(visit, web.seed)
        where = f"{begun['statusUrl']}/events"
        streaming = asyncio.create_task(visit.client.get(where, headers=STREAM))
        async with crawling(visit):
            await over(visit, begun["crawlId"])
            answer = await asyncio.wait_for(streaming, 60)
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = events(answer.text)
        last_id, last = told[-1]
        assert len({event_id for event_id, _ in told}) == len(told)  # only what is new
        assert (last["status"], last["counts"]["pages"], last["crawlId"]) == ("done", 3, begun["crawlId"])
        assert last["rate"] > 0
        host = web.origin.removeprefix("http://")
        assert last["hosts"] == [{"host": host, "pending": 0, "inProgress": 0, "done": 3}]
        assert {page["url"] for page in last["pages"]} == web.urls
        assert set(last["pages"][0]) == {"pageId", "url", "statusCode", "outcome", "title", "at"}
        shown = await get(visit, begun["statusUrl"])
        assert {name: last[name] for name in shown} == shown
        once = await get(visit, where)
        assert {**once, "rate": 0} == {**last, "rate": 0}
        again = await visit.client.get(where, headers={**STREAM, "Last-Event-ID": "another"})
        assert [data["status"] for _, data in events(again.text)] == ["done"]
        assert last_id != "another"


async def test_who_reconnects_gets_what_is_new(
    visiting: Visiting, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawl_events, "BEAT_SECONDS", 0.3)
    web = Web.on(site.origins(1)[0])
    async with visiting(**OPEN) as visit:
        begun = await begin(visit, web.seed)
        await post(visit, f"{begun['statusUrl']}/stop")
        where = f"{begun['statusUrl']}/events"
        ((event_id, told),) = events((await visit.client.get(where, headers=STREAM)).text)
        assert told["status"] == "canceled"
        again = await visit.client.get(where, headers={**STREAM, "Last-Event-ID": event_id})
        assert (again.status_code, events(again.text)) == (200, [])
        paused = await begin(visit, web.seed)
        await post(visit, f"{paused['statusUrl']}/pause")
        monkeypatch.setattr(crawl_events, "MAX_STREAM_SECONDS", 1.0)
        quiet = await visit.client.get(f"{paused['statusUrl']}/events", headers=STREAM)
        assert len(events(quiet.text)) == 1
        assert quiet.text.count(": still here\n\n") >= 2


async def test_a_stream_is_for_its_tenant_and_a_key_has_only_so_many(
    visiting: Visiting, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "MAX_STREAMS", 1)
    web = Web.on(site.origins(1)[0])
    async with visiting(**OPEN) as visit:
        begun = await begin(visit, web.seed)
        where = f"{begun['statusUrl']}/events"
        user = bearer(await visit.key(Role.USER))
        for sent in (user, {**user, "Accept": "text/event-stream"}):
            assert_problem(await visit.client.get(where, headers=sent), "NOT_FOUND")
        assert_problem(await visit.client.get(where), "UNAUTHORIZED")
        first = asyncio.create_task(visit.client.get(where, headers=STREAM))
        async with asyncio.timeout(60):
            while not visit.service.crawl_feed._followed:
                await asyncio.sleep(0.02)
        assert_problem(await visit.client.get(where, headers=STREAM), "RATE_LIMITED")
        await post(visit, f"{begun['statusUrl']}/stop")
        assert (await asyncio.wait_for(first, 60)).status_code == 200
        assert (await visit.client.get(where, headers=STREAM)).status_code == 200
