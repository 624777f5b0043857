"""The pages and hosts of all crawls of a tenant: each once, and of nobody else."""

import pytest
from tests.contract.crawl.crawl_ground import NOW, SECOND, Ground, page, url

from gossamer.state.crawl import tenant_pages
from gossamer.state.crawl.crawled_pages import PageFilter, Position, StoredPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database
from gossamer.state.tenants import tenants

HOSTS = ("a:80", "b:80", "c:80")
PAGES = 4  # of each host


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


async def stored(ground: Ground, *hosts: str, status: int = 200, now: int = NOW) -> Crawl:
    """A crawl that has stored some pages of each host, one transaction for each host."""
    crawl = await ground.crawl([url(host, number) for host in hosts for number in range(PAGES)], now=now)
    for lease in await ground.lease(len(hosts), now=now):
        tasks = await ground.frontier.take(lease, PAGES, now=now)
        ends = [TaskEnd(task=task, page=page(task, status=status)) for task in tasks]
        assert await ground.frontier.settle(lease, HostSettlement(ends=ends), now=now)
        assert await ground.hosts.release(lease, now=now)
    return crawl


async def pages_of(
    ground: Ground, limit: int, after: Position | None = None, **which: object
) -> list[StoredPage]:
    wanted = PageFilter(tenant=ground.tenant, **which)  # type: ignore[arg-type]
    async with ground.database.read() as connection:
        return await tenant_pages.listing(connection, wanted, after=after, limit=limit)


async def walk(ground: Ground, limit: int, **which: object) -> list[tuple[str, str]]:
    """The crawl and the URL of every page, a few at a time."""
    seen: list[tuple[str, str]] = []
    after = None
    while found := await pages_of(ground, limit, after, **which):
        seen += [(one.crawl_id, one.url) for one in found]
        after = Position(found[-1].crawled_at, found[-1].url_hash, found[-1].crawl_id)
    return seen


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_every_page_is_shown_once_the_newest_crawl_first(ground: Ground, limit: int) -> None:
    made = [await stored(ground, *HOSTS[: 1 + number % 3], now=NOW + number * SECOND) for number in range(5)]
    await ground.crawl()  # which has no pages
    seen = await walk(ground, limit)
    assert len(seen) == len(set(seen)) == PAGES * (1 + 2 + 3 + 1 + 2)
    assert list(dict.fromkeys(crawl for crawl, _ in seen)) == [crawl.id for crawl in made[::-1]]
    alone = await pages_of(ground, 100)
    assert [(one.crawl_id, one.url) for one in alone] == seen
    for crawl in made:
        own = [(one.crawled_at, one.url_hash) for one in alone if one.crawl_id == crawl.id]
        assert own == sorted(own)


async def test_filters_look_into_every_crawl(ground: Ground) -> None:
    first = await stored(ground, "a:80", "b:80")
    await stored(ground, "b:80", status=404, now=NOW + SECOND)
    last = await stored(ground, "a:80", now=NOW + 2 * SECOND)
    assert {crawl for crawl, _ in await walk(ground, 3, hosts=("a:80",))} == {first.id, last.id}
    assert len(await walk(ground, 3, status_code=404)) == PAGES
    assert len(await walk(ground, 3, status_code=200)) == 3 * PAGES
    assert await walk(ground, 3, hosts=()) == []


async def test_more_crawls_than_are_read_at_once(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_pages, "MAX_CRAWLS_AT_ONCE", 4)
    oldest = await stored(ground, "a:80")
    for number in range(1, 12):
        await stored(ground, "b:80", now=NOW + number * SECOND)
    assert {crawl for crawl, _ in await walk(ground, 2, hosts=("a:80",))} == {oldest.id}
    assert len(await walk(ground, 5)) == 12 * PAGES


async def test_a_cursor_shows_nothing_of_another_tenant(ground: Ground) -> None:
    theirs = await stored(ground, "a:80")
    async with ground.database.write() as connection:
        other = await tenants.ensure_tenant(connection, "b@example.com")
    ground.tenant = other.id
    assert await walk(ground, 10) == []
    assert await pages_of(ground, 10, Position(0, "", theirs.id)) == []
    assert await ground.hosts.listing(tenant=other.id) == []


async def test_hosts_of_all_crawls_are_summed(ground: Ground) -> None:
    await stored(ground, "a:80", "b:80")
    await stored(ground, "b:80", "c:80", now=NOW + SECOND)
    found = await ground.hosts.listing(tenant=ground.tenant, now=NOW)
    told = [(one.host, one.counts.completed) for one in found if one.counts is not None]
    assert told == [("a:80", PAGES), ("b:80", 2 * PAGES), ("c:80", PAGES)]
    assert all(type(one.counts.completed) is int for one in found if one.counts is not None)
    first = await ground.hosts.listing(tenant=ground.tenant, limit=1, now=NOW)
    rest = await ground.hosts.listing(tenant=ground.tenant, after=first[-1].host, now=NOW)
    assert [one.host for one in (*first, *rest)] == list(HOSTS)
    (one,) = await ground.hosts.listing(tenant=ground.tenant, host="b:80", now=NOW)
    assert one.counts is not None
    assert one.counts.completed == 2 * PAGES


async def test_the_history_of_a_url_is_the_newest_first_and_of_the_tenant_alone(ground: Ground) -> None:
    made = [await stored(ground, "a:80", now=NOW + number * SECOND) for number in range(3)]
    one = (await pages_of(ground, 1))[0]
    async with ground.database.read() as connection:
        found = await tenant_pages.history(connection, ground.tenant, one.url_hash, limit=2)
        assert [page.crawl_id for page in found] == [made[2].id, made[1].id]
        assert {page.url for page in found} == {one.url}
        assert await tenant_pages.history(connection, "another", one.url_hash, limit=2) == []


async def test_pages_are_found_by_a_text_in_their_url_in_any_case(ground: Ground) -> None:
    await stored(ground, *HOSTS)
    one = (await pages_of(ground, 1))[0]
    found = await pages_of(ground, 100, contains=one.url.upper())
    assert one.url in {page.url for page in found}
    assert len(found) < len(HOSTS) * PAGES
    assert len(await pages_of(ground, 100, contains="http://")) == len(HOSTS) * PAGES
    for wild in ("%", "_", "\\", "*"):
        assert await pages_of(ground, 100, contains=wild) == []  # a text, not a pattern
