"""`gossamer crawl`, as a person or a script would use it."""

import csv
import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.doors.cli.commands import gossamer, own_environment
from tests.doors.crawls import PROSE, ROBOTS, Web, page
from tests.doors.fetches import say
from tests.forks.forked import Forked
from tests.site.server import Site

from gossamer.settings.settings import Settings
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.db.database import open_database
from gossamer.state.tenants.tenants import Tier

OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*", "--dns-servers", "127.0.0.1:9")
FAST = (*OPEN, "--crawl-delay", "0")


@pytest.fixture
def web(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


def test_pages_are_printed_as_lines_of_json(tmp_path: Path, web: Web) -> None:
    done = gossamer("crawl", *FAST, web.seed, "--content", "markdown", folder=tmp_path)
    pages = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["url"] for one in pages} == web.urls
    assert all(one["outcome"] == "ok" and PROSE.strip() in one["content"] for one in pages)
    assert done.stderr == ""
    found = gossamer("search", "orb weavers", "--format", "json", folder=tmp_path)
    assert {json.loads(line)["url"] for line in found.stdout.splitlines()} == web.urls


def test_a_table_and_a_folder_of_markdown(tmp_path: Path, web: Web) -> None:
    gossamer("crawl", *FAST, web.seed, "-o", "pages.csv", "--max-pages", "2", folder=tmp_path)
    with (tmp_path / "pages.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    assert {row["url"] for row in rows} <= web.urls
    assert {row["statusCode"] for row in rows} == {"200"}
    gossamer("crawl", *FAST, web.seed, "-o", "site/", folder=tmp_path)
    texts = [path.read_text("utf-8") for path in sorted((tmp_path / "site").iterdir())]
    assert len(texts) == 3
    assert all(text.startswith("---\n") and PROSE.strip() in text for text in texts)
    assert any('title: "The root"\n' in text and f'url: "{web.seed}"\n' in text for text in texts)


def test_ctrl_c_leaves_a_crawl_that_goes_on_where_it_was(tmp_path: Path, site: Site) -> None:
    origin = site.origins(1)[0]
    leaf, last = page("A leaf"), say("", pause=3600)  # the last one cannot be had before it is interrupted
    root = page("The root", leaf, last)
    process = Forked(
        "gossamer",
        *("crawl", *FAST, origin + root, "--no-sitemaps"),
        env=own_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + 60
        while not site.seen(last) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, told
    found = re.search(r"gossamer crawl --resume (\w{26})", told)
    assert found is not None, told
    for verb, state in (("pause", "paused"), ("resume", "running")):
        turned = gossamer("crawls", verb, found[1], "--json", folder=tmp_path).stdout
        assert [one["status"] for one in json.loads(turned)] == [state]
    say(f"<title>The last</title><p>{PROSE}", target=last)
    other = gossamer("crawl", *FAST, origin + leaf, "--max-depth", "0", folder=tmp_path)
    assert other.stderr == "Another crawl is running here too, and will go on: see gossamer crawls list.\n"
    done = gossamer("crawl", *FAST, "--resume", found[1], folder=tmp_path)
    assert {json.loads(line)["url"] for line in done.stdout.splitlines()} == {
        origin + target for target in (root, leaf, last)
    }
    assert (len(site.seen(root)), len(site.seen(last)) > 1) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Give URLs to begin with"),
        (("--resume", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"), "There is no crawl"),
        (("http://127.0.0.1/", "--format", "markdown"), "need a folder"),
        (("http://169.254.169.254/", "--header", "Accept: text/html"), "not allowed"),
        (("http://127.0.0.1/", "--include", ""), "$.include[0]"),
        (("--resume", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", "--max-pages", "9"), "leave out --max-pages"),
        (("--resume", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", "--no-sitemaps"), "leave out --no-sitemaps"),
    ],
)
def test_a_mistake_is_one_clear_message(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = gossamer("crawl", *OPEN, *arguments, folder=tmp_path, check=False)
    assert done.returncode != 0
    assert words in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("crawl", "--resume", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"),
        ("crawl", "no url"),
        ("crawl", "http://169.254.169.254/"),
        ("crawls", "pages", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"),
    ],
)
def test_a_mistake_costs_no_file(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    kept = tmp_path / "keep.csv"
    kept.write_text("what was there")
    assert gossamer(*arguments, "-o", "keep.csv", folder=tmp_path, check=False).returncode == 1
    assert kept.read_text() == "what was there"


async def test_on_ones_own_machine_a_crawl_has_no_limits(tmp_path: Path) -> None:
    gossamer("crawl", *FAST, "http://127.0.0.1:9/", "--render", "auto", folder=tmp_path, check=False)
    database = open_database(Settings.load({"GOSSAMER_DATA_DIR": str(tmp_path)}).database_url)
    try:
        (crawl,) = await Crawls(database).listing(None)
        assert crawl.tier == Tier.ENTERPRISE.value
    finally:
        await database.close()


def test_why_nothing_could_be_had_is_told(tmp_path: Path, site: Site) -> None:
    origin = site.origins(1)[0]
    ROBOTS[origin.removeprefix("http://")] = "User-agent: *\nDisallow: /"
    forbidden = gossamer("crawl", *FAST, f"{origin}/said/1", folder=tmp_path, check=False)
    assert (forbidden.returncode, forbidden.stdout) == (1, "")
    assert "not a single page could be had: robots.txt forbids it." in forbidden.stderr
    huge = f"{site.origins(1)[0]}/huge-declared"
    failed = gossamer("crawl", *FAST, huge, "-o", "none/", "--no-sitemaps", folder=tmp_path, check=False)
    assert (failed.returncode, list((tmp_path / "none").iterdir())) == (1, [])
    assert "not a single page could be had: too_large." in failed.stderr


def test_a_crawl_that_cannot_be_written_can_be_gone_on_with(tmp_path: Path, web: Web) -> None:
    done = gossamer("crawl", *FAST, web.seed, "-o", "/dev/full", folder=tmp_path, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "Cannot write to /dev/full: No space left on device." in done.stderr
    assert re.search(r"gossamer crawl(s pages| --resume) \w{26}", done.stderr)  # it may be done already


def test_crawls_are_listed_and_printed_again(tmp_path: Path, web: Web) -> None:
    named = ("--name", "A \x1b[31mweb", "--max-urls-per-page", "1")
    gossamer("crawl", *FAST, web.seed, *named, folder=tmp_path)
    table = gossamer("crawls", "list", folder=tmp_path).stdout.splitlines()
    crawl_id, state, pages, *_ = table[1].split()
    assert (state, pages) == ("done", "2")
    assert "A ?[31mweb" in table[1]
    gossamer("crawls", "pages", crawl_id, "-o", "again.jsonl", folder=tmp_path)
    lines = (tmp_path / "again.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["url"] for line in lines} == {web.seed, web.origin + web.leaf}
    unknown = gossamer("crawls", "stop", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", folder=tmp_path, check=False)
    assert (unknown.returncode, "There is no crawl" in unknown.stderr) == (1, True)


def test_a_crawl_is_deleted(tmp_path: Path, web: Web) -> None:
    gossamer("crawl", *FAST, web.seed, folder=tmp_path)
    crawl_id = gossamer("crawls", "list", folder=tmp_path).stdout.splitlines()[1].split()[0]
    assert any((tmp_path / "blobs").rglob("crawls*"))
    done = gossamer("crawls", "delete", crawl_id, folder=tmp_path)
    assert done.stdout.startswith(f"Deleted {crawl_id}: 3 pages, ")
    assert json.loads(gossamer("crawls", "list", "--json", folder=tmp_path).stdout) == []
    assert not any((tmp_path / "blobs").rglob("crawls*"))
    assert gossamer("search", "orb weavers", "--format", "json", folder=tmp_path, check=False).stdout == ""
    again = gossamer("crawls", "delete", crawl_id, folder=tmp_path, check=False)
    assert (again.returncode, "There is no crawl" in again.stderr) == (1, True)


def test_it_does_not_wait_for_hosts_that_do_not_answer(tmp_path: Path) -> None:
    done = gossamer("crawl", *FAST, "http://127.0.0.1:9/", folder=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--resume" in done.stderr
    assert "not a single page" in done.stderr
