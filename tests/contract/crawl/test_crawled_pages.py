"""Crawled pages: the few that are not as the others are found without reading all."""

import pytest
from sqlalchemy import select, text
from tests.contract.crawl.crawl_ground import NOW, Ground, page, urls

from gossamer.state.crawl import crawled_pages
from gossamer.state.crawl.crawl_tables import crawled_pages as table
from gossamer.state.crawl.crawled_pages import PageFilter
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db.database import Database


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ({"outcome": "soft_404"}, "ix_crawled_pages_odd_outcome"),
        ({"status_code": 404}, "ix_crawled_pages_odd_status_code"),
        ({"outcome": "ok"}, None),
        ({"status_code": 200}, None),
    ],
)
async def test_odd_pages_have_an_index_of_their_own(
    database: Database, wanted: dict[str, str | int], index: str | None
) -> None:
    ground = await Ground.on(database)
    crawl = await ground.crawl(urls("a:80", 20))
    [lease] = await ground.lease()
    tasks = await ground.frontier.take(lease, 20, now=NOW)
    odd = {tasks[3].url_hash: ("soft_404", 200), tasks[7].url_hash: ("error", 404)}
    judged = [(task, *odd.get(task.url_hash, ("ok", 200))) for task in tasks]
    ends = [
        TaskEnd(task=task, state="completed", page=page(task, status=status, outcome=outcome))
        for task, outcome, status in judged
    ]
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends), now=NOW)
    which = PageFilter(crawl_id=crawl.id, **wanted)  # type: ignore[arg-type]
    async with database.read() as connection:
        found = await crawled_pages.listing(connection, which, limit=100)
        if database.dialect == "postgresql":  # which would read so few rows in any case
            await connection.execute(text("SET LOCAL enable_seqscan = off"))
        query = select(table.c.url_hash).where(*which.conditions()).order_by(table.c.crawled_at).limit(10)
        written = query.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
        explain = "EXPLAIN QUERY PLAN" if database.dialect == "sqlite" else "EXPLAIN"
        plan = str((await connection.execute(text(f"{explain} {written}"))).all())
    asked = {"outcome": lambda one: one.outcome, "status_code": lambda one: one.status_code}
    assert found
    assert all(asked[name](one) == value for one in found for name, value in wanted.items())
    assert (index in plan) if index else ("odd" not in plan), plan
