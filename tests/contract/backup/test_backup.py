"""A backup brings everything back, on either database and from one to the other."""

import asyncio
import io
import time
from pathlib import Path

import pytest
from sqlalchemy import delete, func, insert, inspect, select, update
from tests.contract.backup.backup_ground import (
    BATCH_BLOB,
    BODY,
    ENDED,
    LEASED,
    NOON,
    TENANT,
    Installation,
    OpenInstallation,
    opened,
    row_of,
)
from tests.contract.memory.memory_ground import open_ground as remembering
from tests.servers.s3 import Moto

from gossamer.flows.data.backup.drill import compare_counts, read_page
from gossamer.flows.data.backup.move import Mover
from gossamer.flows.data.backup.retention import KeepRule
from gossamer.observe.logs import Log
from gossamer.state.backup import records as backups
from gossamer.state.backup.backup_place import BackupPlace
from gossamer.state.backup.dumped_tables import DUMPED, LEFT_OUT
from gossamer.state.backup.manifest import BackupFault, DumpedRows, Manifest
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl.crawl_tables import crawl_blobs, frontier, hosts
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.db.database import Database
from gossamer.state.db.tables import batch_results, jobs, search_drops, search_tenants, tenants, workers
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.pay import ledger
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.search.search_vectors import SearchVectors
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.web.search.question import Question

KEY = "correct horse battery staple"
both = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


async def test_every_table_is_in_a_backup_or_left_out_on_purpose(database: Database) -> None:
    async with database.read() as connection:
        names = set(await connection.run_sync(lambda sync: inspect(sync).get_table_names()))
    ours = {name for name in names if not name.startswith(("search_words", "alembic"))}
    assert ours == {*DUMPED, *LEFT_OUT}


@pytest.mark.parametrize(
    ("source", "target", "key"),
    [
        ("sqlite", "sqlite", KEY),
        ("sqlite", "postgres", ""),
        ("postgres", "sqlite", ""),
        ("postgres", "postgres", KEY),
    ],
)
async def test_everything_comes_back(
    open_installation: OpenInstallation, tmp_path: Path, moto: Moto, source: str, target: str, key: str
) -> None:
    old, new = open_installation(source), open_installation(target)
    await old.fill()
    # A backup of PostgreSQL goes to S3, one of SQLite to a folder.
    where = moto.url_of("pages", f"backup-{source}-{target}") if source == "postgres" else str(tmp_path / "b")
    async with opened(where, key, moto.environ) as place:
        made = await old.back_up(place)
        assert made.missing_blobs == ()
        assert made.copied_blobs == 3
        assert (await old.back_up(place)).copied_blobs == 0
        await new.restore(place)
        manifest = await place.newest()
    assert await new.rows(*ENDED, *LEASED) == await old.rows(*ENDED, *LEASED)
    assert (await compare_counts(new.url, manifest)).ok
    assert await new.blobs.get(BATCH_BLOB) == b"a long result"
    assert (await read_page(new.database, new.blobs)).detail.endswith(f"{len(BODY):,} bytes")
    for query in ("gossamer threads", "site:example.com spiders", '"title 1"'):
        assert await found(new, query) == await found(old, query) != []
    assert (
        await found(new, "gossamer", "de")
        == await found(old, "gossamer", "de")
        == ["https://sub.example.com/0"]
    )
    await new.database.migrate()  # the restore has ended


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgres"), ("postgres", "sqlite")])
async def test_memory_is_read_searched_and_written_on_after_a_restore(
    open_installation: OpenInstallation, tmp_path: Path, source: str, target: str
) -> None:
    old, new = open_installation(source), open_installation(target)
    await old.database.migrate()
    before = await remembering(old.database)
    now = int(time.time() * 1000)
    for value in ("a rope of hemp", "a rope of silk"):
        await before.put("rope", value, format="text", tags=("gear",), now=now)
    await before.put("rope", "a rope of theirs", format="text", by=before.theirs, now=now)
    async with opened(str(tmp_path / "memory"), "", {}) as place:
        await old.back_up(place)
        await new.restore(place)
    after = await remembering(new.database)
    assert await after.value("rope", now=now) == "a rope of silk"
    assert await after.found("silk") == ["rope"]
    assert (await after.size(), await after.size(after.theirs)) == (
        await before.size(),
        await before.size(before.theirs),
    )
    versions = await after.memory.versions(after.ours, ("notes", "rope"), now=now)
    assert [one.version for one in versions] == [2, 1]
    assert (await after.put("rope", "a rope of flax", format="text", if_version=2, now=now)).version == 3
    assert await after.found("flax") == ["rope"]
    assert await after.found("silk") == []


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgres"), ("postgres", "sqlite")])
async def test_a_move_takes_everything_and_leaves_the_source(
    open_installation: OpenInstallation, source: str, target: str
) -> None:
    old, new = open_installation(source), open_installation(target)
    await old.fill()
    before = await old.rows()
    report = await mover(old, new).run()
    assert report.blobs == 3
    assert report.rows == sum(map(len, before.values()))
    assert await old.rows() == before
    assert await new.rows(*LEASED) == await old.rows(*LEASED)
    assert await new.blob_names() == await old.blob_names()
    assert await found(new, "gossamer threads") == await found(old, "gossamer threads")
    await new.database.migrate()
    with pytest.raises(BackupFault, match="not empty"):
        await mover(old, new).run()


@both
async def test_numbers_go_on_where_they_were(
    open_installation: OpenInstallation, place: BackupPlace, kind: str
) -> None:
    old, new = open_installation("sqlite"), open_installation(kind)
    await old.fill()
    await old.back_up(place)
    await new.restore(place)
    async with new.database.write() as connection:
        before = await connection.scalar(select(func.max(search_drops.c.id)))
        await connection.execute(insert(search_drops).values(row_of(search_drops, {"extent": "page"})))
        assert await connection.scalar(select(func.max(search_drops.c.id))) > before


async def test_a_character_that_postgresql_refuses_is_left_out(
    open_installation: OpenInstallation, place: BackupPlace
) -> None:
    old, new, moved = (
        open_installation("sqlite"),
        open_installation("postgres"),
        open_installation("postgres"),
    )
    async with old.database.write() as connection:
        await connection.execute(insert(tenants).values(id=TENANT, email="a@b", name="a\0b", created_at=1))
    await old.back_up(place)
    await new.restore(place)
    await mover(old, moved).run()
    for each in (new, moved):
        async with each.database.read() as connection:
            assert await connection.scalar(select(tenants.c.name).where(tenants.c.id == TENANT)) == "ab"


@both
async def test_a_backup_is_of_one_moment(
    open_installation: OpenInstallation, place: BackupPlace, kind: str
) -> None:
    """The count of a table is changed with its rows, before, during and after the snapshot."""
    old, new = open_installation(kind), open_installation("sqlite")
    async with old.database.write() as connection:
        await connection.execute(insert(search_tenants).values(tenant_id=TENANT, pages=0))
    stop, began = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        while not stop.is_set():
            async with old.database.write() as connection:
                await connection.execute(update(search_tenants).values(pages=search_tenants.c.pages + 1))
                row = row_of(search_drops, {"extent": "page", "url": "x" * 1000})
                await connection.execute(insert(search_drops).values(row))
            began.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        await began.wait()
        await old.back_up(place)
        stop.set()
    await new.restore(place)
    async with new.database.read() as connection:
        pages = await connection.scalar(select(search_tenants.c.pages))
        assert pages
        assert pages == await connection.scalar(select(func.count()).select_from(search_drops))


@both
async def test_after_a_restore_leases_and_sessions_are_over(
    open_installation: OpenInstallation, place: BackupPlace, kind: str
) -> None:
    old, new = open_installation("sqlite"), open_installation(kind)
    await old.fill()
    await old.back_up(place)
    await new.restore(place)
    rows = await new.rows()
    assert [rows[name] for name in ENDED] == [[], []]
    async with new.database.read() as connection:
        for table in (jobs, hosts):
            assert await connection.scalar(select(table.c.lease_token)) != "t" * 32
        assert await ledger.find_left_behind(connection)
    wakeups = open_wakeups(new.database)
    queue = Jobs(new.database, wakeups)
    (lease,) = await queue.lease({rows["jobs"][0][2]: 1}, worker="another")
    assert lease.job.attempt == 2
    await wakeups.close()
    assert await Hosts(new.database).recover() == 1
    async with new.database.read() as connection:
        assert await connection.scalar(select(frontier.c.state)) == "pending"


@both
async def test_a_restore_replaces_only_when_told_to(
    open_installation: OpenInstallation, place: BackupPlace, kind: str
) -> None:
    old = open_installation(kind)
    await old.fill()
    before = await old.rows(*ENDED, *LEASED)
    vectors = SearchVectors(old.database)
    await vectors.prepare()
    await vectors.put("space", [(await vectors.last_page(), [(1.0, 0.0)])])
    assert (await vectors.count("space")).embedded == 1
    await old.back_up(place)
    await old.blobs.put("crawls/newer", b"newer")
    async with old.database.write() as connection:
        await connection.execute(delete(search_drops))
        row = row_of(crawl_blobs, {"blob": "crawls/newer"})
        await connection.execute(insert(crawl_blobs).values(row))
    with pytest.raises(BackupFault, match="not empty"):
        await old.restore(place)
    async with old.database.write() as connection:
        beat = {"name": "w", "kinds": "", "running": 0, "started_at": 1, "seen_at": 2**50}
        await connection.execute(insert(workers).values(beat))
    with pytest.raises(BackupFault, match="is running on this database"):
        await old.restore(place, replace=True)
    async with old.database.write() as connection:
        await connection.execute(delete(workers))
    await old.restore(place, replace=True)
    after = await old.rows(*ENDED, *LEASED)
    assert [row[0] for row in after.pop("stray_blobs")] == ["aaaa", "crawls/newer"]  # upkeep drops it
    before.pop("stray_blobs")
    assert after == before
    assert (await vectors.count("space")).embedded == 0  # they are made again


@both
async def test_blobs_are_held_while_a_backup_runs(
    open_installation: OpenInstallation, place: BackupPlace, kind: str
) -> None:
    old = open_installation(kind)
    async with old.database.write() as connection:
        await orphan_blobs.mark(connection, ["crawls/gone"], now=NOON)
        first = await backups.begin(connection, "here", now=NOON)
    async with old.database.write() as connection:
        await backups.hold(connection, first)
    with pytest.raises(BackupFault, match="Another backup"):
        await old.back_up(place)
    later = NOON + 60_000
    async with old.database.write() as connection:
        await backups.hold(connection, first, now=NOON)
        assert not await orphan_blobs.are_due(connection, now=later)
        assert await orphan_blobs.take_due(connection, 10, now=later) == []
        after_its_end = NOON + backups.HOLD_MS
        assert await orphan_blobs.are_due(connection, now=after_its_end)
        await backups.let_go(connection, first)
        assert await orphan_blobs.take_due(connection, 10, now=later) == ["crawls/gone"]
        assert await backups.last_backup(connection) is None
    report = await old.back_up(place)
    async with old.database.read() as connection:
        last = await backups.last_backup(connection)
    assert last is not None
    assert (last.id, last.place, last.snapshot_at, last.rows) == (report.id, place.url, NOON, report.rows)


async def test_a_blob_that_was_deleted_meanwhile_is_reported(
    open_installation: OpenInstallation, place: BackupPlace
) -> None:
    old, new = open_installation("sqlite"), open_installation("sqlite")
    await old.fill()
    await old.blobs.drop([BATCH_BLOB])
    assert (await old.back_up(place)).missing_blobs == (BATCH_BLOB,)
    assert (await new.restore(place)).missing_blobs == (BATCH_BLOB,)


async def test_older_backups_are_removed_with_what_only_they_need(
    open_installation: OpenInstallation, place: BackupPlace
) -> None:
    old = open_installation("sqlite")
    await old.fill()
    first = await old.back_up(place, now=NOON)
    async with old.database.write() as connection:
        await connection.execute(delete(batch_results))
    second = await old.back_up(place, now=NOON + 86_400_000)
    assert BATCH_BLOB in await place.blob_sizes()
    third = await old.back_up(place, KeepRule(last=2), now=NOON + 2 * 86_400_000)
    assert third.removed_backups == (first.id,)
    assert await place.list_ids() == [second.id, third.id]
    assert BATCH_BLOB not in await place.blob_sizes()
    assert {name.split("/")[1] async for name in place.row_objects()} == {second.id, third.id}
    await open_installation("sqlite").restore(place)


def test_days_and_weeks_keep_their_newest() -> None:
    day = 86_400_000
    found = [manifest_at(f"{number:03}", NOON + number * day // 2) for number in range(60)]
    assert KeepRule(last=3).kept(found) == {"057", "058", "059"}
    daily = sorted(KeepRule(daily=3).kept(found))
    assert len(daily) == 3
    assert daily[-1] == "059"
    assert len({manifest.moment.date() for manifest in found if manifest.id in daily}) == 3
    weekly = KeepRule(weekly=4).kept(found)
    assert len({manifest.moment.isocalendar()[:2] for manifest in found if manifest.id in weekly}) == 4
    assert KeepRule(last=1, daily=3, weekly=4).kept(found) == weekly | set(daily)


def manifest_at(identity: str, moment: int) -> Manifest:
    nothing = DumpedRows((), 0, ())
    return Manifest(
        id=identity,
        gossamer="1",
        revision="0001",
        dialect="sqlite",
        snapshot_at=moment,
        finished_at=moment,
        tables={},
        blobs=nothing,
        blob_bytes=0,
    )


async def found(installation: Installation, text: str, language: str = "") -> list[str]:
    index = SearchIndex(installation.database, Log(io.StringIO()), max_pages=100)
    asked = Question.parse(text, language=language)
    return sorted(match.url for match in (await index.search(TENANT, asked)).found)


def mover(old: Installation, new: Installation) -> Mover:
    return Mover(
        source=old.database,
        source_url=old.url,
        target=new.database,
        target_url=new.url,
        blobs=old.blobs,
        target_blobs=new.blobs,
    )
