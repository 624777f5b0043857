"""The doctor: every part that can be well or not, on real stores."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.servers.valkey import Valkey
from tests.site.dns import name_server

from gossamer.flows.doctor import choices, machine
from gossamer.flows.doctor.diagnosis import Condition, Diagnosis, improvable, ok, worst
from gossamer.flows.doctor.machine import GIGABYTE
from gossamer.settings.settings import Settings
from gossamer.state.backup import records
from gossamer.state.db.database import open_database

OK, BETTER, BROKEN = Condition
NO_BROWSER = {"chromium": "/nowhere/chromium"}


async def examine(visit: Visit) -> dict[str, Diagnosis]:
    response = await visit.client.get("/api/admin/doctor", headers=AS_ADMIN)
    assert response.status_code == 200, response.text
    found = response.json()
    diagnoses = {one["subject"]: Diagnosis(**one) for one in found["diagnoses"]}
    assert found["condition"] == worst(list(diagnoses.values()))
    assert all(one.advice for one in diagnoses.values() if one.condition != OK)
    return diagnoses


async def test_a_new_installation_is_told_what_is_left_to_do(visiting: Visiting) -> None:
    async with name_server() as names:
        names.say("gossamer.example", ("127.0.0.1",))
        async with visiting(dns_servers=names.address, **NO_BROWSER) as visit:
            found = await examine(visit)
    conditions = {subject: one.condition for subject, one in found.items()}
    well = ("database", "schema", "hot store", "blobs", "descriptors", "clock", "names", "workers", "secrets")
    assert {subject: conditions[subject] for subject in well} == dict.fromkeys(well, OK)
    assert conditions["public URL"] == OK
    assert conditions["browser"] == BETTER  # everything else works without one
    assert found["contact"].finding.endswith("(+https://gossamer.example)")


async def test_a_store_that_evicts_could_be_better(
    visiting: Visiting, start_valkey: Callable[..., Valkey]
) -> None:
    server = start_valkey("--maxmemory-policy", "allkeys-lru")
    async with visiting(redis_url=server.url, **NO_BROWSER) as visit:
        found = await examine(visit)
        assert found["hot store"].condition == OK
        assert found["hot store"].finding.startswith("Valkey ")
        assert (found["eviction"].condition, found["eviction"].finding) == (BETTER, "allkeys-lru")
        assert "noeviction" in found["eviction"].advice
        server.kill()
        assert (await examine(visit))["hot store"].condition == BROKEN


async def test_names_that_do_not_resolve_are_broken(visiting: Visiting) -> None:
    async with name_server() as names, visiting(dns_servers=names.address, **NO_BROWSER) as visit:
        found = (await examine(visit))["names"]
    assert (found.condition, "gossamer.example" in found.finding) == (BROKEN, True)


async def test_blobs_that_cannot_be_written_are_broken(visiting: Visiting, tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("a file, not a folder")
    async with visiting(blobs_url=(tmp_path / "in-the-way").as_uri(), **NO_BROWSER) as visit:
        assert (await examine(visit))["blobs"].condition == BROKEN


async def test_an_empty_database_and_a_newer_one_are_told_apart(visiting: Visiting, tmp_path: Path) -> None:
    async with visiting(**NO_BROWSER) as visit:
        doctor = visit.service.doctor
        async with visit.service.database.write() as connection:
            await connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        found = {one.subject: one for one in await doctor.examine()}
        assert found["schema"].condition == BROKEN
        assert "clock" not in found  # nothing is read from tables that are not known
        async with visit.service.database.write() as connection:
            await connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
        assert {one.subject: one for one in await doctor.examine()}["schema"].condition == BETTER


async def test_a_server_that_leaves_work_to_nobody_could_be_better(visiting: Visiting) -> None:
    async with visiting(serve_worker="no", **NO_BROWSER) as visit:
        found = (await examine(visit))["workers"]
    assert (found.condition, "nobody works on audit" in found.finding) == (BETTER, True)


@pytest.mark.parametrize(
    ("free", "condition"), [(50, OK), (9, BETTER), (1.5, BROKEN)], ids=["half", "little", "full"]
)
def test_a_disk_is_judged_by_what_is_left(
    free: float, condition: Condition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage(tmp_path))(100 * GIGABYTE, 0, int(free * GIGABYTE))
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: usage)
    settings = Settings.load({}, None, {"data_dir": str(tmp_path / "not" / "yet")})
    (found,) = machine.examine_disks(settings)  # both folders are on one disk
    assert (found.subject, found.condition) == ("disk of the data", condition)


def test_memory_is_judged_by_the_browsers_it_must_hold() -> None:
    assert machine.examine_memory(4, available=8 * GIGABYTE).condition == OK
    assert machine.examine_memory(4, available=2 * GIGABYTE).condition == BETTER
    assert machine.examine_memory(1).condition == OK  # of this machine


@pytest.mark.parametrize(
    ("flags", "subject", "words"),
    [
        ({}, "public URL", "the default"),
        ({"public_url": "http://crawl.example.org"}, "public URL", "no TLS"),
        ({"public_url": "http://127.0.0.1:9"}, "contact", "without a contact"),
        ({"cdp_api_key_id": "an-id"}, "secrets", "GOSSAMER_CDP_API_KEY_SECRET"),
        ({"wallet_address": "0x" + "1" * 40}, "secrets", "GOSSAMER_BASE_RPC_URL"),
        ({"openai_model": "gpt-5"}, "secrets", "GOSSAMER_OPENAI_API_KEY"),
    ],
)
def test_choices_that_could_be_better(flags: dict[str, str], subject: str, words: str) -> None:
    settings = Settings.load({}, None, flags)
    found = [choices.examine_public_url(settings), choices.examine_contact(settings)]
    by_subject = {one.subject: one for one in [*found, *choices.examine_secrets(settings)]}
    assert (by_subject[subject].condition, words in by_subject[subject].finding) == (BETTER, True)


def test_the_worst_of_all_is_told() -> None:
    assert worst([]) == OK
    assert worst([ok("a", ""), improvable("b", "", "")]) == BETTER
    assert worst([improvable("b", "", ""), Diagnosis("c", BROKEN, "")]) == BROKEN


async def test_a_clock_that_differs_could_be_better(sqlite: str) -> None:
    database = open_database(sqlite)
    try:
        assert (await machine.examine_clock(database)).condition == OK
        found = await machine.examine_clock(database, lambda: time.time() + 60)
        assert (found.condition, found.finding) == (BETTER, "it is 60.0 s ahead of the database's")
    finally:
        await database.close()


async def test_a_backup_is_judged_by_its_age(visiting: Visiting) -> None:
    async with visiting(backup_max_age="86400") as visit:
        database, settings = visit.service.database, visit.service.settings
        now = 1_700_000_000.0
        assert (await choices.examine_backups(database, settings, now)).condition == BETTER
        async with database.write() as connection:
            moment = int(now * 1000)
            made = await records.begin(connection, "file:///backups", now=moment)
            await records.finish(connection, made, snapshot_at=moment, rows=1, size=1, now=moment)
        assert (await choices.examine_backups(database, settings, now + 3600)).condition == OK
        old = await choices.examine_backups(database, settings, now + 30 * 3600)
        assert (old.condition, old.finding) == (BROKEN, "the last one is 30 hours old, in file:///backups")
