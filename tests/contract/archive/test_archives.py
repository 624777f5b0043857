"""Old pages become files that open without Gossamer, and come back as they were."""

import asyncio
import gzip
import hashlib
import io
from base64 import b32encode
from collections.abc import Sequence

import msgspec
import pytest
from sqlalchemy import update
from tests.contract.archive.shelf import HOST, LATER, Shelf, answer, step
from tests.contract.crawl.crawl_ground import NOW, SECOND, url
from warcio.archiveiterator import ArchiveIterator

from gossamer.flows.data.archive.archiver import DAY_MS
from gossamer.problems import Problem
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl import crawl_tables
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants.activity import Actor

BY = Actor("somebody")


async def test_pages_are_archived_and_come_back_as_they_were(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    await shelf.catch_up()
    before, contents = await shelf.pages(crawl), await shelf.contents(crawl)
    removed = await shelf.retention().enforce(now=LATER)
    assert removed == {"pages": 2}
    assert (await shelf.pages(crawl), await shelf.found()) == ([], set())
    (archive,) = await shelf.archives()
    assert (archive.pages, archive.bodies, archive.first_at) == (2, 2, NOW)
    assert {name.rpartition(".")[2] for name in shelf.stored()} == {"gz"}

    result = await shelf.restorer.restore(archive.id, step, now=LATER)
    assert (result.pages, result.bodies, result.skipped) == (2, 2, 0)
    assert await shelf.pages(crawl) == before
    assert await shelf.contents(crawl) == contents
    await shelf.ground.check_counts()
    await shelf.catch_up()
    assert await shelf.found() == {"1", "2"}

    again = await shelf.restorer.restore(archive.id, step, now=LATER)
    assert (again.pages, again.skipped) == (0, 2)
    assert await shelf.pages(crawl) == before
    # They are not due at once, and when they are, the new archive replaces the old one.
    assert await shelf.retention().enforce(now=LATER + DAY_MS) == {"pages": 0}
    assert await shelf.retention().enforce(now=LATER + 100 * DAY_MS) == {"pages": 2}
    (newer,) = await shelf.archives()
    assert newer.id != archive.id
    assert shelf.stored() == {name.replace("/", "~") for name in newer.blobs}


async def test_an_archive_opens_without_gossamer(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1")
    await shelf.retention().enforce(now=LATER)
    (archive,) = await shelf.archives()
    warc = await shelf.blobs.get(archive.warc_blob or "")
    rows = await shelf.blobs.get(archive.rows_blob)
    assert warc is not None
    assert rows is not None
    head, line = map(msgspec.json.decode, gzip.decompress(rows).splitlines())
    assert (head["format"], head["crawl"], line["row"]["title"]) == (
        "gossamer-archive",
        crawl.id,
        "Title of 1",
    )
    page = answer(f"http://{HOST}/1")
    found = []
    for record in ArchiveIterator(io.BytesIO(warc), check_digests="raise"):
        found.append(record.rec_type)
        assert record.rec_headers.protocol == "WARC/1.1"
        if record.rec_type == "response":
            head = record.http_headers
            assert record.rec_headers["WARC-Target-URI"] == page.url
            assert record.rec_headers["WARC-Date"] == "2023-11-14T22:13:20.000Z"
            digest = b32encode(hashlib.sha1(page.body).digest()).decode()
            assert record.rec_headers["WARC-Payload-Digest"] == f"sha1:{digest}"
            assert (head.get_statuscode(), head["content-type"]) == ("200", "text/html; charset=utf-8")
            assert (head["content-encoding"], head["x-archive-orig-content-encoding"]) == (None, "br")
            assert head["set-cookie"] == "session=; Secure; HttpOnly"
            assert record.content_stream().read() == page.body
    assert found == ["warcinfo", "response"]
    assert gzip.decompress(warc[line["offset"] :]).startswith(b"WARC/1.1")


class Killed(Exception):
    """The process ends here."""


class FailingBlobs:
    """A store that ends the process at the nth call."""

    def __init__(self, blobs: Blobs, calls: int) -> None:
        self._blobs, self._left = blobs, calls

    async def put(
        self, name: str, body: bytes, *, media_type: str = "application/octet-stream", coding: str = ""
    ) -> None:
        self._count()
        await self._blobs.put(name, body, media_type=media_type, coding=coding)

    async def get(self, name: str) -> bytes | None:
        self._count()
        return await self._blobs.get(name)

    async def drop(self, names: Sequence[str]) -> None:
        self._count()
        await self._blobs.drop(names)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Killed


async def test_a_kill_anywhere_leaves_each_page_in_one_place(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    for calls in range(20):
        try:
            await shelf.retention(FailingBlobs(shelf.blobs, calls)).enforce(now=LATER)  # type: ignore[arg-type]
        except Killed:
            archived = sum(archive.pages for archive in await shelf.archives())
            assert len(await shelf.pages(crawl)) + archived == 2
        else:
            break
    assert calls > 4
    (archive,) = await shelf.archives()
    assert (archive.pages, await shelf.pages(crawl)) == (2, [])


async def test_two_processes_archive_each_page_once(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    await asyncio.gather(*(shelf.retention().enforce(now=LATER) for _ in range(2)))
    assert [archive.pages for archive in await shelf.archives()] == [2]
    assert await shelf.pages(crawl) == []


async def test_what_the_crawl_has_again_stays_and_the_archive_too(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    await shelf.ground.crawls.finish(now=NOW + SECOND)
    await shelf.retention().enforce(now=LATER)
    await shelf.ground.frontier.add(crawl.id, [url(HOST, "1")], now=LATER)
    await shelf.store(now=LATER)
    (archive,) = await shelf.archives()
    result = await shelf.restorer.restore(archive.id, step, now=LATER)
    assert (result.pages, result.skipped) == (1, 1)
    await shelf.ground.check_counts()
    assert {row.url[-1]: row.crawled_at for row in await shelf.pages(crawl)} == {"1": LATER, "2": NOW}
    # The older page 1 is in the archive alone, so that one stays.
    await shelf.retention().enforce(now=LATER + 200 * DAY_MS)
    assert sorted(each.pages for each in await shelf.archives()) == [2, 2]


async def test_a_crawl_that_is_full_takes_its_pages_back(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1", "2")
    await shelf.retention().enforce(now=LATER)
    async with shelf.database.write() as connection:
        await connection.execute(update(crawl_tables.crawls).values(max_pages=1))
    (archive,) = await shelf.archives()
    await shelf.restorer.restore(archive.id, step, now=LATER)
    assert (await shelf.ground.crawls.counts(crawl.id)).pages == 2


async def test_a_crawl_takes_its_archives_with_it(shelf: Shelf) -> None:
    crawl = await shelf.crawl("1")
    await shelf.retention().enforce(now=LATER)
    await shelf.deleter.delete_here(Deletion(DeletionKind.CRAWL, crawl.id), BY, step)
    assert (await shelf.archives(), shelf.stored()) == ([], set())


async def test_damage_is_told(shelf: Shelf) -> None:
    await shelf.crawl("1")
    await shelf.retention().enforce(now=LATER)
    (archive,) = await shelf.archives()
    warc = await shelf.blobs.get(archive.warc_blob or "")
    await shelf.blobs.put(archive.warc_blob or "", (warc or b"")[:-30])
    with pytest.raises(Problem, match="damaged"):
        await shelf.restorer.restore(archive.id, step, now=LATER)
    await shelf.blobs.drop([archive.rows_blob])
    with pytest.raises(Problem, match="missing"):
        await shelf.restorer.restore(archive.id, step, now=LATER)
