"""Every change to a crawl is in the log of activity, with who made it."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text
from tests.doors.crawls import OPEN, Web, begin, post
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.site.server import Site

from gossamer.state.tenants.activity import ActivityEntry, ActivityFilter, Via, list_activity


@pytest.fixture
async def visit(database_url: str, visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(database_url=database_url, **OPEN) as opened:
        yield opened


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


async def logged(visit: Visit, subject: str) -> list[ActivityEntry]:
    """The lines about it, the earliest first."""
    async with visit.service.database.read() as connection:
        return (await list_activity(connection, ActivityFilter(subject=subject)))[::-1]


async def actions(visit: Visit, subject: str) -> list[str]:
    return [entry.action.value for entry in await logged(visit, subject)]


async def test_a_crawl_is_started_paused_resumed_and_stopped_by_somebody(visit: Visit, web: Web) -> None:
    begun = await begin(visit, web.seed)
    for verb in ("resume", "pause", "pause", "resume", "stop", "stop", "pause"):  # only changes count
        await post(visit, f"{begun['statusUrl']}/{verb}")
    lines = await logged(visit, begun["crawlId"])
    assert [line.action.value for line in lines] == [
        "crawl.started",
        "crawl.paused",
        "crawl.resumed",
        "crawl.stopped",
    ]
    assert lines[0].detail == web.seed
    assert {line.actor.via for line in lines} == {Via.KEY}
    assert all(line.actor.request_id and line.actor.client == "127.0.0.1" for line in lines)
    assert len({line.tenant_id for line in lines}) == 1


async def test_a_crawl_is_deleted_by_somebody(visit: Visit, web: Web) -> None:
    begun = await begin(visit, web.seed)
    for _ in range(2):  # the second one finds that it is done
        answer = await visit.client.delete(begun["statusUrl"], headers=AS_ADMIN)
        assert answer.status_code == 202
    lines = await logged(visit, begun["crawlId"])
    assert [line.action.value for line in lines] == ["crawl.started", "crawl.deleted"]
    assert (lines[1].actor.via, lines[1].detail) == (Via.KEY, "0 pages")


async def test_seeds_are_added_and_the_frontier_is_cleared(visit: Visit, web: Web) -> None:
    body = {"urls": [web.seed, f"{web.seed}?2"]}
    crawl = (await post(visit, "/api/frontier/seed", body)).json()["crawlId"]
    await post(visit, "/api/frontier/seed", body)  # adds none
    for _ in range(2):  # the second one finds none
        await visit.client.delete("/api/frontier", headers=AS_ADMIN)
    lines = await logged(visit, crawl)
    assert [line.action.value for line in lines] == ["crawl.started", "seeds.added", "frontier.cleared"]
    assert lines[1].detail == "2 URLs"


async def test_urls_of_lost_workers_are_recovered(visit: Visit, web: Web) -> None:
    await begin(visit, web.seed)
    await post(visit, "/api/frontier/recover")
    (lease,) = await visit.service.hosts.lease("lost", 1)
    assert len(await visit.service.frontier.take(lease, 1)) == 1
    async with visit.service.database.write() as connection:
        await connection.execute(text("UPDATE hosts SET locked_until = 1, due_at = 1"))
    assert (await post(visit, "/api/frontier/recover")).json() == {"recovered": 1}
    assert await actions(visit, "frontier") == ["frontier.recovered"]


async def test_a_domain_is_reset(visit: Visit, web: Web) -> None:
    await begin(visit, web.seed)
    host = web.origin.removeprefix("http://")
    await post(visit, f"/api/admin/domains/{host}/reset")
    await post(visit, "/api/admin/domains/example.com/reset")
    assert await actions(visit, host) == ["domain.reset"]
    assert await actions(visit, "example.com:443") == []
