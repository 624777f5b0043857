"""`gossamer delete` and `gossamer upkeep`."""

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


def test_what_a_crawl_has_stored_is_deleted_by_commands(tmp_path: Path, web: Web) -> None:
    gossamer("crawl", *FAST, web.seed, folder=tmp_path)
    host = web.origin.partition("//")[2]
    nothing = gossamer("delete", "pages", folder=tmp_path, check=False)
    assert (nothing.returncode, "at least one" in nothing.stderr) == (1, True)
    look = gossamer("delete", "pages", "--host", host, "--dry-run", folder=tmp_path)
    assert look.stdout.startswith("3 pages (")
    later = ("--now", "2100-01-01", "--keep-pages", "forever")
    due = json.loads(gossamer("upkeep", *later, "--dry-run", "--json", folder=tmp_path).stdout)
    assert (due["bodies"]["rows"], due["completed URLs"]["rows"] > 2, "pages" in due) == (3, True, False)
    assert any((tmp_path / "blobs").rglob("crawls*"))
    removed = gossamer("upkeep", *later, folder=tmp_path).stdout
    assert [line.split()[:3] for line in removed.splitlines() if line.startswith("bodies")] == [
        ["bodies", "30d", "3"]
    ]
    assert not any((tmp_path / "blobs").rglob("crawls*"))
    done = gossamer("delete", "pages", "--host", host, "--before", "2100-01-01T00:00:00Z", folder=tmp_path)
    assert done.stdout == "Deleted pages: 3 pages, 1 crawls.\n"
    crawl_id = gossamer("crawls", "list", folder=tmp_path).stdout.splitlines()[1].split()[0]
    assert gossamer("delete", "crawl", crawl_id, folder=tmp_path).stdout.startswith(f"Deleted {crawl_id}")
    for kind in ("crawl", "audit", "batch", "tenant"):
        again = gossamer("delete", kind, crawl_id, folder=tmp_path, check=False)
        assert (again.returncode, f"There is no {kind}" in again.stderr) == (1, True)
    own = gossamer("delete", "tenant", "admin@localhost", folder=tmp_path, check=False)
    assert (own.returncode, "own tenant" in own.stderr) == (1, True)
    gossamer("keys", "create", "--email", "a@example.com", folder=tmp_path)
    assert gossamer("delete", "tenant", "A@example.com", folder=tmp_path).stdout.startswith("Deleted ")
