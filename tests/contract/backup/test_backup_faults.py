"""What goes wrong with backups: nothing half-done is believed, and nothing is written for nothing."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from tests.contract.backup.backup_ground import ENDED, LEASED, Installation, OpenInstallation, opened

from gossamer.flows.data.backup.checking import check_backup
from gossamer.flows.data.backup.move import Mover
from gossamer.flows.data.backup.restore import check_known, is_empty
from gossamer.state.backup.backup_place import BackupPlace, open_place
from gossamer.state.backup.manifest import BackupFault
from gossamer.state.db.database import UnfinishedRestore

KEY = "correct horse battery staple"


class Crash(BaseException):
    """The process is gone, as far as the code after it is concerned."""


def crash_at(step: int) -> Callable[[str], None]:
    left = step

    def report(_line: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Crash

    return report


async def survives(work: Awaitable[object]) -> bool:
    """Whether the work came to its end before the crash."""
    try:
        await work
    except Crash:
        return False
    return True


async def is_untouched(target: Installation) -> bool:
    await target.database.migrate()  # no restore has begun
    return await is_empty(target.url) and await target.blob_names() == []


async def test_a_backup_needs_its_key(open_installation: OpenInstallation, tmp_path: Path) -> None:
    where, target = str(tmp_path / "backups"), open_installation("sqlite")
    async with opened(where, KEY) as place:
        await open_installation("sqlite").back_up(place)
    with pytest.raises(BackupFault, match="is not the key of the backups"):
        await open_place(where, "another key, also long", {})
    with pytest.raises(BackupFault, match="are encrypted: set GOSSAMER_BACKUP_KEY"):
        await open_place(where, "", {})
    with pytest.raises(BackupFault, match="There is no folder"):
        await open_place(str(tmp_path / "nowhere"), KEY, {})
    assert not (tmp_path / "nowhere").exists()
    assert await is_untouched(target)


async def test_a_key_is_refused_where_backups_are_readable(place: BackupPlace) -> None:
    with pytest.raises(BackupFault, match="are not encrypted"):
        await open_place(place.url, KEY, {})


@pytest.mark.parametrize("key", ["", KEY])
async def test_no_byte_can_be_changed_and_no_file_can_be_missing(
    open_installation: OpenInstallation, tmp_path: Path, key: str
) -> None:
    source, target = open_installation("sqlite"), open_installation("sqlite")
    await source.fill()
    where = tmp_path / "backups"
    async with opened(str(where), key) as place:
        await source.back_up(place)
        # Of each kind one.
        kinds = ("manifests~*", "blobs~crawls~*", "rows~*~blobs-*", "rows~*~once-*")
        objects = [path for kind in kinds for path in where.glob(f"??/{kind}")]
        assert len(objects) == len(kinds)
        for path in objects:
            body = path.read_bytes()
            changed = bytearray(body)
            changed[len(body) // 2] ^= 1
            path.write_bytes(changed)
            with pytest.raises(BackupFault, match="damaged"):
                await target.restore(place)
            with pytest.raises(BackupFault, match="damaged"):
                await check_backup(place, await place.newest(), lambda _line: None)
            path.write_bytes(body[:-1])
            with pytest.raises(BackupFault, match="damaged"):
                await target.restore(place)
            path.unlink()
            with pytest.raises(BackupFault, match=r"is missing|no finished backup"):
                await target.restore(place)
            path.write_bytes(body)
        assert await is_untouched(target)
        await target.restore(place)


async def test_objects_cannot_take_each_others_place(
    open_installation: OpenInstallation, tmp_path: Path
) -> None:
    source, target = open_installation("sqlite"), open_installation("sqlite")
    await source.fill()
    where = tmp_path / "backups"
    async with opened(str(where), KEY) as place:
        await source.back_up(place)
        blob, other, *_ = sorted(where.glob("??/blobs~*"))
        blob.write_bytes(other.read_bytes())
        with pytest.raises(BackupFault, match="damaged"):
            await target.restore(place)
        older, newer = [(await source.back_up(place)).id for _ in range(2)]
        (old,), (new,) = (list(where.glob(f"??/manifests~{name}")) for name in (older, newer))
        new.write_bytes(old.read_bytes())
        with pytest.raises(BackupFault, match="damaged"):
            await target.restore(place)
    assert await is_untouched(target)


async def test_a_backup_of_a_later_release_is_refused(
    open_installation: OpenInstallation, place: BackupPlace
) -> None:
    await open_installation("sqlite").back_up(place)
    manifest = await place.newest()
    with pytest.raises(BackupFault, match="install a newer Gossamer"):
        check_known(msgspec.structs.replace(manifest, revision="9999"))


async def test_a_backup_that_ends_early_is_not_believed(
    open_installation: OpenInstallation, place: BackupPlace
) -> None:
    source = open_installation("sqlite")
    await source.fill()
    step = 0
    while not await survives(source.back_up(place, report=crash_at(step))):
        finished = await place.list_ids()
        if finished:  # it crashed after its manifest, while it removed what is not needed
            break
        step += 11
    assert step > 20
    await source.back_up(place)
    await check_backup(place, await place.newest(), lambda _line: None)
    kept = set(await place.list_ids())
    assert {name.split("/")[1] async for name in place.row_objects()} == kept  # what crashes left is gone


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_restore_that_ends_early_leaves_nothing_to_start_on(
    open_installation: OpenInstallation, place: BackupPlace, kind: str
) -> None:
    source, target = open_installation("sqlite"), open_installation(kind)
    await source.fill()
    await source.back_up(place)
    steps = refused = 0
    while not await survives(target.restore(place, report=crash_at(steps))):
        assert await is_empty(target.url)
        try:
            await target.database.migrate()
        except UnfinishedRestore:
            refused += 1
        steps += 9
    assert refused > 2
    await target.database.migrate()
    assert await target.rows(*ENDED, *LEASED) == await source.rows(*ENDED, *LEASED)


async def test_a_move_that_ends_early_leaves_nothing_to_start_on(open_installation: OpenInstallation) -> None:
    source, target = open_installation("sqlite"), open_installation("sqlite")
    await source.fill()

    def move(report: Callable[[str], None]) -> Awaitable[object]:
        return Mover(
            source=source.database,
            source_url=source.url,
            target=target.database,
            target_url=target.url,
            blobs=source.blobs,
            target_blobs=target.blobs,
            report=report,
        ).run()

    step = 0
    while not await survives(move(crash_at(step))):
        assert await is_empty(target.url)
        with pytest.raises(UnfinishedRestore, match="did not finish"):
            await target.database.migrate()
        step += 9
    assert step > 9
    await target.database.migrate()
    assert await target.rows(*LEASED) == await source.rows(*LEASED)


@pytest.mark.parametrize(
    ("work", "fatal"),
    [
        ("backup", "frontier"),
        ("backup", "checking blobs"),
        ("restore", "blobs: 2"),
        ("restore", "users"),
        ("move", "users"),
    ],
)
async def test_a_killed_process_leaves_nothing_that_is_believed(
    open_installation: OpenInstallation, place: BackupPlace, work: str, fatal: str
) -> None:
    source, target = open_installation("sqlite"), open_installation("sqlite")
    await source.fill()
    if work == "restore":
        await source.back_up(place)
    urls = [text for each in (source, target) for text in (each.url, each.blobs_url)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.contract.backup.killed", work, fatal, place.url, *urls
    )
    assert await process.wait() == -signal.SIGKILL
    if work == "backup":
        assert await place.list_ids() == []
        return
    assert await is_empty(target.url)
    with pytest.raises(UnfinishedRestore):
        await target.database.migrate()
    if work == "restore":
        await target.restore(place)
        await target.database.migrate()
        assert await target.rows(*ENDED, *LEASED) == await source.rows(*ENDED, *LEASED)
