"""Installations with a row in every table, and backups of them."""

import io
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Float, Integer, LargeBinary, Table, insert, select
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import BUCKET, Moto

from gossamer.flows.crawl import content
from gossamer.flows.data.backup.back_up import BackupMaker, BackupReport
from gossamer.flows.data.backup.blob_copies import Report, stay_silent
from gossamer.flows.data.backup.restore import Restorer, RestoreReport
from gossamer.flows.data.backup.retention import KeepRule
from gossamer.observe.logs import Log
from gossamer.state.backup.backup_place import BackupPlace, open_place
from gossamer.state.backup.dumped_tables import LEFT_OUT
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.db.columns import metadata
from gossamer.state.db.database import Database, open_database
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.pages.page import Page

NOON = 1_800_000_000_000
TENANT = "01J00000000000000000000001"
HASH = "a" * 64
BODY = "Grüße, \u2028 and a body\n".encode() * 50
BATCH_BLOB = "batches/one/0-x"
ARCHIVE_BLOB = "archives/one.ndjson.gz"
SEARCHED = ("search_pages", "search_tenants")  # written by the index itself
ENDED = ("sessions", "sign_in_links")  # by a restore
LEASED = ("jobs", "hosts", "payments", "unindexed")  # changed by a restore

GIVEN: Mapping[str, Mapping[str, Any]] = {
    "tenants": {"id": TENANT, "email": "a@example.com", "name": 'Ä \u2028 \\u0000 "quoted"'},
    "api_keys": {"role": "user", "tier": "pro"},
    "users": {"email": "b@example.com", "role": "admin"},
    "sign_in_links": {"purpose": "usage", "user_id": None},
    "jobs": {
        "status": "running",
        "attempt": 1,
        "max_attempts": 3,
        "locked_until": NOON,
        "locked_by": "a worker",
        "lease_token": "t" * 32,
        "started_at": NOON,
        "queued_at": NOON,
    },
    "job_events": {"event_type": "metric"},
    "batches": {"total": 1},
    "batch_results": {"status": "done", "ok": True, "blob": BATCH_BLOB},
    "hosts": {"lease_token": "t" * 32, "locked_until": NOON, "due_at": NOON, "locked_by": "a worker"},
    "crawls": {"state": "running", "max_pages": 100, "in_progress": 1},
    "crawl_hosts": {"in_progress": 1},
    "frontier": {"state": "in_progress", "priority": 2},
    "search_drops": {"extent": "page"},
    "payments": {"state": "served", "amount": 2**40, "token": "t" * 32, "held_until": 2**50, "proof": ""},
    "once": {"answer": bytes(range(256))},
    "alerts": {"severity": "warning"},
    "archives": {"rows_blob": ARCHIVE_BLOB, "warc_blob": None},
    "orders": {"kind": "batch", "pages": 2, "done": 1},
    "ended_work": {"kind": "crawl"},
    "webhook_subscriptions": {"kind": "crawl"},
    "memory_entries": {"format": "json"},
}


@dataclass
class Installation:
    """A database and its blobs."""

    url: str
    database: Database
    blobs_url: str
    blobs: Blobs

    async def fill(self) -> None:
        """A row in every table, with pages that can be searched and read."""
        packed = content.pack([_page(BODY)])
        await self.blobs.put(packed.name, packed.body)
        await self.blobs.put(BATCH_BLOB, b"a long result")
        await self.blobs.put(ARCHIVE_BLOB, b"an archive")
        at = packed.places[0]
        where = {"blob": at.blob, "blob_offset": at.offset, "blob_size": at.size}
        given = {
            **GIVEN,
            "crawled_pages": where,
            "crawl_blobs": {"blob": at.blob},
            "unindexed": {"blob": at.blob, "due_at": 2**50},
        }
        async with self.database.write() as connection:
            for table in metadata.sorted_tables:
                if table.name not in (*LEFT_OUT, *SEARCHED):
                    await connection.execute(insert(table).values(row_of(table, given.get(table.name, {}))))
        index = SearchIndex(self.database, Log(io.StringIO()), max_pages=100)
        for number, language in enumerate(("de", "en-GB", "")):
            index.note(TENANT, _document(number, language))
        await index.flush()

    async def rows(self, *without: str) -> dict[str, list[tuple[Any, ...]]]:
        """All rows by table, in the order of their text."""
        found = {}
        async with self.database.read() as connection:
            for table in metadata.sorted_tables:
                if table.name not in (*LEFT_OUT, *without):
                    rows = [tuple(row) for row in await connection.execute(select(table))]
                    found[table.name] = sorted(rows, key=repr)
        return found

    async def blob_names(self) -> list[str]:
        return sorted(
            [name for prefix in ("crawls", "batches") async for name, _ in self.blobs.listing(prefix)]
        )

    async def back_up(
        self, place: BackupPlace, keep: KeepRule | None = None, report: Report = stay_silent, now: int = NOON
    ) -> BackupReport:
        maker = BackupMaker(
            database=self.database,
            database_url=self.url,
            blobs=self.blobs,
            place=place,
            report=report,
            clock=lambda: now / 1000,
        )
        return await maker.run(keep)

    async def restore(
        self, place: BackupPlace, *, replace: bool = False, report: Report = stay_silent
    ) -> RestoreReport:
        restorer = Restorer(
            database=self.database,
            database_url=self.url,
            blobs=self.blobs,
            hot=MemoryHot(),
            place=place,
            report=report,
        )
        return await restorer.run(await place.newest(), replace=replace)


def row_of(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which every column that is not given has some value of its kind, or none."""
    values: dict[str, Any] = {}
    for column in table.columns:
        if column.name in given or column.nullable or column is table.autoincrement_column:
            continue
        if column.name == "tenant_id":
            values[column.name] = TENANT
        elif isinstance(column.type, Boolean):
            values[column.name] = False
        elif isinstance(column.type, LargeBinary):
            values[column.name] = b"\x00\xff"
        elif isinstance(column.type, Integer):
            values[column.name] = 7
        elif isinstance(column.type, Float):
            values[column.name] = 0.1
        else:
            values[column.name] = HASH[: getattr(column.type, "length", None) or 4]
    return {**values, **given}


def _page(body: bytes) -> Page:
    address = "https://example.com/"
    return Page(
        url=address,
        final_url=address,
        status=200,
        headers=(),
        body=body,
        media_type="text/html",
        charset="utf-8",
    )


def _document(number: int, language: str) -> IndexedDocument:
    return IndexedDocument(
        url=f"https://sub.example.com/{number}",
        title=f"Title {number}",
        description="About spiders",
        text="A web of gossamer threads",
        language=language,
        seen_at=NOON / 1000,
    )


OpenInstallation = Callable[[str], Installation]


@pytest.fixture
async def open_installation(
    tmp_path: Path, sqlite_template: Path, postgres_server: PostgresServer, moto: Moto
) -> AsyncIterator[OpenInstallation]:
    """Opens empty installations: "sqlite" with a folder, "postgres" with a bucket."""
    made: list[Installation] = []
    created: list[str] = []

    def open_one(kind: str) -> Installation:
        number, environ = len(made), dict[str, str]()
        if kind == "sqlite":
            folder = tmp_path / f"installation{number}"
            folder.mkdir()
            (folder / "gossamer.db").write_bytes(sqlite_template.read_bytes())
            url, blobs_url = f"sqlite:///{folder}/gossamer.db", f"file://{folder}/blobs"
        else:
            created.append(postgres_server.create_database())
            prefix = f"installation{os.urandom(4).hex()}"
            url, blobs_url, environ = created[-1], moto.url_of(BUCKET, prefix), dict(moto.environ)
        made.append(Installation(url, open_database(url), blobs_url, open_blobs(blobs_url, environ)))
        return made[-1]

    yield open_one
    for each in made:
        await each.database.close()
        await each.blobs.close()
    for url in created:
        postgres_server.drop_database(url)


@asynccontextmanager
async def opened(
    url: str, key: str = "", environ: Mapping[str, str] | None = None
) -> AsyncIterator[BackupPlace]:
    place = await open_place(url, key, environ or {}, create=True)
    try:
        yield place
    finally:
        await place.close()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[BackupPlace]:
    async with opened(str(tmp_path / "backups")) as folder:
        yield folder
