"""Crawls, audits and guides at a server: `gossamer --server URL crawl|crawls|audit|llms …`."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_commands import OPEN, ask
from tests.doors.cli.commands import gossamer
from tests.doors.crawls import PROSE, ROBOTS, Web, page
from tests.doors.fetches import say
from tests.doors.services import ADMIN_KEY
from tests.site.server import Site

FAST = (*OPEN, "--crawl-delay", "0")
NO_CRAWL = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


@pytest.fixture
def site_to_crawl(site: Site) -> Web:
    return Web.on(site.origins(1)[0])


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_crawl_looks_the_same_from_a_server(server: str, tmp_path: Path, site_to_crawl: Web) -> None:
    seed = site_to_crawl.seed
    there = lines(ask(server, tmp_path, "crawl", seed, "--content", "markdown"))
    assert list(tmp_path.iterdir()) == []  # nothing was done here
    assert {page["url"] for page in there} == site_to_crawl.urls
    assert all(PROSE.strip() in page["content"] for page in there)
    here = lines(gossamer("crawl", *FAST, seed, "--content", "markdown", folder=tmp_path))
    assert [list(page) for page in there] == [list(page) for page in here]

    crawl = there[0]["crawlId"]
    again = lines(ask(server, tmp_path, "crawls", "pages", crawl, "--content", "markdown"))
    assert again == there
    assert lines(ask(server, tmp_path, "crawl", "--resume", crawl, "--content", "markdown")) == there
    ask(server, tmp_path, "crawls", "pages", crawl, "-o", "site/")
    assert len(list((tmp_path / "site").iterdir())) == len(there)


def test_crawls_are_listed_and_controlled(server: str, tmp_path: Path, site_to_crawl: Web) -> None:
    ask(
        server, tmp_path, "crawl", site_to_crawl.seed, "--max-pages", "2", "--name", "webs", "-o", "pages.csv"
    )
    with (tmp_path / "pages.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["statusCode"] for row in rows} == {"200"}
    crawl = rows[0]["crawlId"]
    heading, first = ask(server, tmp_path, "crawls", "list", "--limit", "1").stdout.splitlines()
    assert heading.startswith("ID ")
    assert re.fullmatch(rf"{crawl}  done   +2 +\d+ +0 +20\d\d-\d\d-\d\d \d\d:\d\d +webs", first)
    for verb in ("pause", "resume", "stop"):
        (told,) = json.loads(ask(server, tmp_path, "crawls", verb, crawl, "--json").stdout)
        assert (told["crawlId"], told["status"], told["seeds"]) == (crawl, "done", [site_to_crawl.seed])
    assert ask(server, tmp_path, "crawls", "delete", crawl).stdout == f"Deleted {crawl}.\n"
    assert crawl not in ask(server, tmp_path, "crawls", "list").stdout


def test_ctrl_c_pauses_a_crawl_at_a_server(server: str, tmp_path: Path, site: Site) -> None:
    origin = site.origins(1)[0]
    last = say("", pause=3600)  # cannot be had before it is interrupted
    root = page("The root", last)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "--server", server, "crawl", origin + root, "--no-sitemaps"],
        env={**clean, "GOSSAMER_KEY": ADMIN_KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + 60
        while not site.seen(last) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, told
    assert origin + root in printed
    found = re.search(rf"Go on with: gossamer --server {server} crawl --resume (\w{{26}})", told)
    assert found is not None, told
    (crawl,) = json.loads(ask(server, tmp_path, "crawls", "pause", found[1], "--json").stdout)
    assert crawl["status"] == "paused"
    ask(server, tmp_path, "crawls", "delete", found[1])


def test_what_cannot_be_crawled_costs_no_file(server: str, tmp_path: Path, site: Site) -> None:
    kept = tmp_path / "keep.csv"
    kept.write_text("what was there")
    for arguments in (
        ("crawl", "--resume", NO_CRAWL),
        ("crawl", "no url"),
        ("crawl", "http://127.0.0.9/"),
        ("crawls", "pages", NO_CRAWL),
    ):
        ask(server, tmp_path, *arguments, "-o", "keep.csv", code=1)
        assert kept.read_text() == "what was there"
    origin = site.origins(1)[0]
    ROBOTS[origin.removeprefix("http://")] = "User-agent: *\nDisallow: /"
    done = ask(server, tmp_path, "crawl", f"{origin}/said/1", code=1)
    assert "not a single page could be had: robots.txt forbids it." in done.stderr
    before = ask(server, tmp_path, "crawls", "list", "--json").stdout
    done = ask(server, tmp_path, "crawl", origin, "-o", "keep.csv/below", code=1)
    assert "keep.csv/below" in done.stderr
    assert ask(server, tmp_path, "crawls", "list", "--json").stdout == before


def test_an_audit_looks_the_same_from_a_server(server: str, tmp_path: Path, site: Site) -> None:
    words = "Words. " * 300
    url = site.url(say(f"<html lang=en><meta name=robots content=noindex><title>A</title><p>{words}"))
    command = ("audit", url, "--max-links", "0")
    there = ask(server, tmp_path, *command, "--format", "json", code=3)  # noindex is critical
    here = gossamer(*command, *OPEN, "--format", "json", folder=tmp_path, check=False)
    theirs, ours = json.loads(there.stdout), json.loads(here.stdout)
    assert list(theirs) == list(ours)
    assert (theirs["findings"], theirs["score"]) == (ours["findings"], ours["score"])
    assert "noindex" in ask(server, tmp_path, *command, "--fail-on", "never").stdout
    ask(server, tmp_path, *command, "--fail-on", "never", "--format", "html", "-o", "report.html")
    assert "<title>" in (tmp_path / "report.html").read_text()
    assert "refused" in ask(server, tmp_path, "audit", "http://127.0.0.1:1/", code=1).stderr


def test_the_audit_of_a_site_is_compared(server: str, tmp_path: Path, site_to_crawl: Web) -> None:
    command = ("audit", site_to_crawl.seed, "--max-pages", "3", "--fail-on", "never")
    first = json.loads(ask(server, tmp_path, *command, "--format", "json").stdout)
    assert (first["site"]["pages"], first["comparison"]) == (3, None)
    assert "Since the last audit" in ask(server, tmp_path, *command).stdout


@pytest.mark.parametrize("full", [False, True])
def test_a_guide_looks_the_same_from_a_server(server: str, tmp_path: Path, site: Site, full: bool) -> None:
    other = "The radii are not sticky. A spider walks on them, and never on the capture spiral. " * 5
    leaf = say(f"<html lang=en><title>Radii</title><h1>Radii</h1><p>{other}")
    command = ("llms", site.origins(1)[0] + page("The root", leaf), *(["--full"] if full else []))
    there = ask(server, tmp_path, *command).stdout
    here = gossamer(*command, *FAST, folder=tmp_path).stdout
    assert there.splitlines()[0] == here.splitlines()[0] == "# The root"
    assert sorted(there.splitlines()) == sorted(here.splitlines())
    assert "llms.txt" not in ask(server, tmp_path, "crawls", "list").stdout  # the crawl was deleted


def test_a_site_that_has_no_guide(server: str, tmp_path: Path, site: Site) -> None:
    origin = site.origins(1)[0]
    ROBOTS[origin.removeprefix("http://")] = "User-agent: *\nDisallow: /\n"
    nothing = ask(server, tmp_path, "llms", f"{origin}/", code=3)
    assert (nothing.stdout, "robots.txt" in nothing.stderr) == ("", True)
    wrong = ask(server, tmp_path, "llms", "http://127.0.0.1:9/", code=1)
    assert "robots.txt" in wrong.stderr
