"""`gossamer archive`, `gossamer replay` and the commands of `gossamer upkeep`."""

import json
from pathlib import Path

import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.cli.test_cli_crawl import FAST
from tests.doors.crawls import Web
from tests.site.server import Site


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


def test_pages_are_archived_restored_replayed_and_checked_by_commands(tmp_path: Path, web: Web) -> None:
    gossamer("crawl", *FAST, web.seed, folder=tmp_path)
    assert gossamer("upkeep", "verify", folder=tmp_path).returncode == 0
    later = ("--now", "2100-01-01", "--keep-bodies", "forever", "--keep-completed-urls", "forever")
    gossamer("upkeep", *later, folder=tmp_path)
    (line,) = gossamer("archive", "list", "--json", folder=tmp_path).stdout.splitlines()
    archive = json.loads(line)
    assert (archive["pages"], archive["bodies"]) == (3, 3)
    use = json.loads(gossamer("upkeep", "storage", "--json", folder=tmp_path).stdout)
    assert {one["kind"]: one["bytes"] for one in use}["archives"] == archive["bytes"]
    gossamer("archive", "export", archive["id"], "taken.warc.gz", folder=tmp_path)
    assert (tmp_path / "taken.warc.gz").read_bytes()[:2] == (tmp_path / "taken.ndjson.gz").read_bytes()[:2]
    back = gossamer("archive", "restore", archive["id"], folder=tmp_path)
    assert back.stdout.startswith("3 pages (3 with content) are back in crawl ")
    assert gossamer("upkeep", "recount", folder=tmp_path).stdout == "All counts are right.\n"
    assert "batches of pages were indexed" in gossamer("upkeep", "reindex", folder=tmp_path).stdout
    found = json.loads(gossamer("upkeep", "verify", "--json", folder=tmp_path).stdout)
    assert (found["missing"], found["strays"], found["unindexed"]) == (0, 0, 0)
    assert gossamer("replay", "--dry-run", folder=tmp_path).stdout.startswith("0 of 3 pages would change")
    assert gossamer("replay", "--refetch", folder=tmp_path).stdout.startswith("3 URLs wait")
    assert gossamer("archive", "delete", archive["id"], folder=tmp_path).returncode == 0
    gone = gossamer("archive", "restore", archive["id"], folder=tmp_path, check=False)
    assert (gone.returncode, "no such archive" in gone.stderr) == (1, True)
