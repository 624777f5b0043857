"""How a crawl found a URL, on both databases."""

import pytest
from msgspec.structs import replace
from tests.contract.crawl.crawl_ground import NOW, Ground, url

from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.reading import trail
from gossamer.state.crawl.reading.trail import MAX_STEPS, Trail
from gossamer.state.db.database import Database


@pytest.fixture
async def ground(database: Database) -> Ground:
    return await Ground.on(database)


def found(new: NewUrl, on: NewUrl, *, as_sitemap: bool = False) -> NewUrl:
    return replace(new, found_on=on.url_hash, depth=on.depth + 1, as_sitemap=as_sitemap)


async def trail_of(ground: Ground, crawl_id: str, new: NewUrl) -> Trail:
    async with ground.database.read() as connection:
        return await trail.look(connection, crawl_id, new.url_hash)


async def test_a_trail_leads_from_a_seed_to_the_url_by_whatever_found_it_first(ground: Ground) -> None:
    seed = url("a:80", "seed")
    sitemap = found(url("a:80", "sitemap.xml"), seed, as_sitemap=True)
    page, other = found(url("a:80", "page"), sitemap), url("a:80", "other")
    crawl, elsewhere = await ground.crawl([seed, other]), await ground.crawl([found(page, other)])
    await ground.frontier.add(crawl.id, [sitemap, page], now=NOW)
    assert await ground.frontier.add(crawl.id, [found(page, other)], now=NOW) == 0
    shown = await trail_of(ground, crawl.id, page)
    assert [(step.url, step.is_sitemap) for step in shown.steps] == [(seed.url, False), (sitemap.url, True)]
    assert [step.url_hash for step in shown.steps] == [seed.url_hash, sitemap.url_hash]
    assert shown.is_whole
    assert await trail_of(ground, crawl.id, seed) == Trail()
    # In another crawl, where the page that led to it is not known.
    assert await trail_of(ground, elsewhere.id, page) == Trail(is_whole=False)
    assert await trail_of(ground, elsewhere.id, seed) == Trail(is_whole=False)


async def test_a_url_that_was_added_before_this_was_stored_is_no_seed(ground: Ground) -> None:
    deep = url("a:80", "deep", depth=3)
    crawl = await ground.crawl([deep])
    assert await trail_of(ground, crawl.id, deep) == Trail(is_whole=False)


async def test_a_long_trail_is_cut_at_its_beginning(ground: Ground) -> None:
    chain = [url("a:80", 0)]
    for number in range(1, MAX_STEPS + 2):
        chain.append(found(url("a:80", number), chain[-1]))
    crawl = await ground.crawl(chain)
    whole = await trail_of(ground, crawl.id, chain[-2])
    assert (len(whole.steps), whole.is_whole) == (MAX_STEPS, True)
    cut = await trail_of(ground, crawl.id, chain[-1])
    assert [step.url for step in cut.steps] == [new.url for new in chain[1:-1]]
    assert not cut.is_whole
