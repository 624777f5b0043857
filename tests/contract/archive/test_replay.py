"""Stored pages are read again by the rules of today, or fetched again."""

import pytest
from msgspec.structs import asdict, replace
from sqlalchemy import select, update
from tests.contract.archive.shelf import HOST, Shelf, answer, step
from tests.contract.crawl.crawl_ground import NOW, SECOND

from gossamer.flows.crawl.visiting import page_processor
from gossamer.flows.data.repair.replayer import Replayer
from gossamer.state.crawl.crawl_tables import crawled_pages, frontier
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.state.db.tables import search_pages
from gossamer.web.crawl.parts import judge_briefly
from gossamer.web.outcome.outcome import Judgement, Outcome

ALL = PurgeFilter()


@pytest.fixture
def replayer(shelf: Shelf) -> Replayer:
    return Replayer(shelf.jobs, shelf.ground.crawls, shelf.blobs, shelf.parsers, "gossamer")


async def spoil(shelf: Shelf, path: str, **values: str) -> None:
    """As if an older release had read the page."""
    async with shelf.database.write() as connection:
        chosen = update(crawled_pages).where(crawled_pages.c.url == f"http://{HOST}/{path}")
        await connection.execute(chosen.values(**values))


async def test_exactly_what_has_changed_is_written(shelf: Shelf, replayer: Replayer) -> None:
    crawl = await shelf.crawl("1", "2", "3")
    good = await shelf.pages(crawl)
    await spoil(shelf, "2", title="Wrong", language="xx")
    await shelf.catch_up()
    wrong = await shelf.pages(crawl)

    dry = await replayer.replay(ALL, step, dry_run=True)
    assert (dry.pages, dry.changed, dry.changes) == (3, 1, {"title": 1, "language": 1})
    assert dry.example is not None
    assert dry.example.changes["title"] == ("Wrong", "Title of 2")
    assert await shelf.pages(crawl) == wrong

    assert await replayer.replay(ALL, step) == replace(dry)
    assert await shelf.pages(crawl) == good
    await shelf.catch_up()
    async with shelf.database.read() as connection:
        titles = await connection.scalars(select(search_pages.c.title))
        assert set(titles) == {"Title of 1", "Title of 2", "Title of 3"}
    assert (await replayer.replay(ALL, step)).changed == 0


async def test_only_pages_that_match_are_read(shelf: Shelf, replayer: Replayer) -> None:
    crawl = await shelf.crawl("1", "2")
    await spoil(shelf, "2", outcome="blocked")
    for which, pages in (
        (PurgeFilter(outcome="blocked"), 1),
        (PurgeFilter(hosts=("other.example:80",)), 0),
        (PurgeFilter(before=NOW), 0),
        (PurgeFilter(crawl_id=crawl.id, hosts=(HOST,)), 2),
    ):
        assert (await replayer.replay(which, step, dry_run=True)).pages == pages


async def test_a_page_that_is_no_page_leaves_the_index(
    shelf: Shelf, replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shelf.crawl("1", "2")
    await shelf.catch_up()

    def judge(page, seen):  # type: ignore[no-untyped-def]
        return (
            Judgement(Outcome.BLOCKED, "new_rule") if page.url.endswith("/1") else judge_briefly(page, seen)
        )

    monkeypatch.setattr(page_processor, "judge_briefly", judge)
    monkeypatch.setattr(page_processor, "judge_fully", judge)
    result = await replayer.replay(ALL, step)
    assert result.changes == {"outcome": 1}
    await shelf.catch_up()
    assert await shelf.found() == {"2"}


async def test_content_that_is_gone_is_told(shelf: Shelf, replayer: Replayer) -> None:
    await shelf.crawl("1")
    (row,) = await shelf.ground.rows(crawled_pages)
    await shelf.blobs.drop([row.blob])
    result = await replayer.replay(ALL, step)
    assert (result.pages, result.changed, result.unreadable) == (0, 0, 1)


async def test_pages_are_fetched_again_and_replaced(shelf: Shelf, replayer: Replayer) -> None:
    crawl = await shelf.crawl("1", "2")
    await shelf.ground.crawls.finish(now=NOW + SECOND)
    async with shelf.database.write() as connection:
        url_2 = frontier.c.url == f"http://{HOST}/2"
        await connection.execute(frontier.delete().where(url_2))  # not kept any more
    result = await replayer.refetch(PurgeFilter(crawl_id=crawl.id), step)
    assert result.refetched == 2
    reopened = await shelf.ground.crawls.get(crawl.id)
    assert reopened is not None
    assert (reopened.state, reopened.counts.pending, reopened.counts.pages) == ("running", 2, 2)
    (host,) = await shelf.ground.rows(frontier.metadata.tables["hosts"])
    await shelf.store(now=host.due_at + 60 * SECOND)
    rows = await shelf.pages(crawl)
    assert [row.crawled_at > NOW for row in rows] == [True, True]
    assert (await shelf.contents(crawl))[f"http://{HOST}/1"] == asdict(answer(f"http://{HOST}/1"))["body"]
    counts = await shelf.ground.crawls.counts(crawl.id)
    assert (counts.pages, counts.pending) == (2, 0)
