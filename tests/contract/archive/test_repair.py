"""Counts, blobs and the search index are checked and repaired, and storage is measured."""

from pathlib import Path

from sqlalchemy import delete, select, update
from tests.contract.archive.shelf import HOST, LATER, Shelf
from tests.contract.crawl.crawl_ground import NOW

from gossamer.flows.data.repair.recounter import Recounter
from gossamer.flows.data.repair.verifier import Verifier
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.upkeep import storage
from gossamer.state.crawl.upkeep.storage import StorageKind
from gossamer.state.db.tables import search_pages
from gossamer.state.search import search_rows


def verifier(shelf: Shelf) -> Verifier:
    return Verifier(shelf.database, shelf.blobs, shelf.ground.crawls)


async def test_wrong_counts_are_found_and_corrected(shelf: Shelf) -> None:
    await shelf.crawl("1", "2")
    recounter = Recounter(shelf.database)
    assert await recounter.recount() == []
    async with shelf.database.write() as connection:
        await connection.execute(update(crawl_tables.crawls).values(pages=7, completed=1, bytes=0))
        await connection.execute(delete(crawl_tables.crawl_hosts))
        await connection.execute(update(crawl_tables.hosts).values(pages=9))
    told = await recounter.recount(dry_run=True)
    assert await recounter.recount(dry_run=True) == told
    found = {(one.table, one.name): (one.counted, one.found) for one in await recounter.recount()}
    assert found[("crawls", "pages")] == (7, 2)
    assert found[("crawls", "completed")] == (1, 2)
    assert found[("crawl_hosts", "completed")] == (0, 2)
    await shelf.ground.check_counts()
    assert await recounter.recount() == []
    (host,) = await shelf.ground.rows(crawl_tables.hosts)
    assert host.pages == 2


async def test_missing_and_stray_blobs_are_found_and_repaired(shelf: Shelf) -> None:
    await shelf.crawl("1")
    kept = await shelf.crawl("2", now=NOW + 100_000)
    await shelf.catch_up()
    assert (await verifier(shelf).verify()).is_good
    lost, _ = sorted({row.blob for row in await shelf.ground.rows(crawl_tables.crawl_blobs)})
    await shelf.blobs.drop([lost])
    await shelf.blobs.put("crawls/stray", b"nobody's")
    await shelf.blobs.put("backups/1", b"somebody else's")
    async with shelf.database.write() as connection:
        await orphan_blobs.register(connection, "crawls/upload")
    await shelf.blobs.put("crawls/upload", b"on its way")

    found = await verifier(shelf).verify()
    assert (found.missing, found.strays, found.unindexed, found.is_good) == (1, 1, 0, False)
    assert found.examples == {"missing": [f"{lost} (crawled)"], "strays": ["crawls/stray"]}
    assert (await verifier(shelf).verify(repair=True)).is_good
    again = await verifier(shelf).verify()
    assert (again.missing, again.strays) == (0, 0)
    assert len(await shelf.contents(kept)) == 1
    rows = await shelf.ground.rows(crawl_tables.crawled_pages)
    assert sorted(row.url[-1] for row in rows if row.blob is None) == ["1"]


async def test_pages_that_search_has_lost_are_found_again(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    await shelf.catch_up()
    async with shelf.database.write() as connection:
        await search_rows.drop(connection, shelf.ground.tenant, search_pages.c.title == "Title of 1")
    found = await verifier(shelf).verify()
    assert (found.unindexed, found.examples) == (1, {"unindexed": [f"http://{HOST}/1"]})
    assert (await verifier(shelf).verify(repair=True)).is_good
    await shelf.catch_up()
    assert await shelf.found() == {"1", "2"}
    async with shelf.database.write() as connection:
        await search_rows.drop(connection, shelf.ground.tenant, search_pages.c.id > 0)
    assert await shelf.found() == set()
    assert await verifier(shelf).queue_all(crawl.id) == 1
    await shelf.catch_up()
    assert await shelf.found() == {"1", "2"}


async def test_storage_is_what_is_stored(shelf: Shelf) -> None:
    await shelf.crawl("1", "2")
    await shelf.catch_up()
    await shelf.retention().enforce(now=LATER)
    await shelf.crawl("3", now=LATER)
    await shelf.catch_up()
    async with shelf.database.read() as connection:
        use = {one.kind: one for one in await storage.measure(connection)}
        texts = (await connection.scalars(select(search_pages.c.text))).all()
    sizes = {path.name.partition("~")[0]: 0 for path in files(shelf.folder)}
    for path in files(shelf.folder):
        sizes[path.name.partition("~")[0]] += path.stat().st_size
    assert use[StorageKind.ARCHIVES].bytes == sizes["archives"]
    assert use[StorageKind.CRAWLED].bytes == sizes["crawls"]
    assert (use[StorageKind.CRAWLED].items, use[StorageKind.ARCHIVES].items) == (1, 1)
    assert use[StorageKind.SEARCH].bytes == sum(map(len, texts)) + len("Title of 3")
    assert {one.email for one in use.values()} == {"a@example.com"}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*~*") if path.is_file()]
