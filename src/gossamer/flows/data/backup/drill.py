"""What a drill looks at after it has restored a backup into a scratch database."""

from collections.abc import Sequence

from msgspec import Struct
from sqlalchemy import select

from gossamer.flows.crawl.content import load_page
from gossamer.state.backup.dumped_tables import DUMPED
from gossamer.state.backup.manifest import Manifest
from gossamer.state.backup.row_store import clear, count, open_snapshot, open_target
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawl_tables import crawled_pages
from gossamer.state.db.database import Database
from gossamer.state.db.tables import cached_pages

ENDED = ("sessions", "sign_in_links")  # a restore ends them


class DrillCheck(Struct, frozen=True):
    """One line of the checklist."""

    name: str
    ok: bool
    detail: str


class DrillReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a recovery would go today."""

    backup: str
    place: str
    snapshot_at: int
    recovery_point_seconds: float  # RPO: how much would be lost, the age of the backup
    recovery_time_seconds: float  # RTO: from the start of the restore until it serves
    restore_seconds: float
    checks: Sequence[DrillCheck]

    @property
    def is_good(self) -> bool:
        return all(check.ok for check in self.checks)


async def compare_counts(url: str, manifest: Manifest) -> DrillCheck:
    """Whether every table has the rows that the manifest says."""
    wrong = []
    async with open_snapshot(url) as rows:
        for name, dump in manifest.tables.items():
            found = await count(rows, DUMPED[name])
            if found != dump.rows and name not in ENDED:
                wrong.append(f"{name} has {found:,} rows instead of {dump.rows:,}")
    told = "; ".join(wrong) or f"{manifest.rows:,} rows in {len(manifest.tables)} tables, as in the manifest"
    return DrillCheck("rows", not wrong, told)


async def read_page(database: Database, blobs: Blobs) -> DrillCheck:
    """Whether the content of a stored page can be read: the newest crawled one, or else a rendered one."""
    pages = crawled_pages.c
    newest = select(pages.url, pages.blob, pages.blob_offset, pages.blob_size).where(pages.blob.is_not(None))
    rendered = select(cached_pages.c.url, cached_pages.c.blob).where(cached_pages.c.blob.is_not(None))
    async with database.read() as connection:
        crawled = (await connection.execute(newest.order_by(pages.crawled_at.desc()).limit(1))).first()
        cached = (await connection.execute(rendered.limit(1))).first()
    if crawled is not None:
        page = await load_page(blobs, crawled.blob, crawled.blob_offset, crawled.blob_size)
        size = None if page is None else len(page.body)
    elif cached is not None:
        body = await blobs.get(cached.blob)
        size = None if body is None else len(body)
    else:
        return DrillCheck("content", True, "there are no stored pages")
    url = (crawled or cached).url  # type: ignore[union-attr]
    told = "missing" if size is None else f"{size:,} bytes"
    return DrillCheck("content", size is not None, f"{url}: {told}")


async def empty(url: str) -> None:
    """Leave a scratch database as it was."""
    async with open_target(url) as rows:
        await clear(rows)
        await rows.execute("DELETE FROM restores")
