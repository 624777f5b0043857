"""`gossamer fetch`, as a person or a script would use it."""

import json
import os
import pty
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.doors.cli.commands import gossamer, own_environment
from tests.doors.fetches import say
from tests.doors.renders import APP
from tests.forks.forked import Forked
from tests.site.server import Site

ARTICLE = """<!doctype html><html lang="en"><title>Orb webs</title><nav><a href="/home">Navigation</a></nav>
<article><h1>Orb webs</h1><p>Orb weavers build a new web nearly every day, mostly at night, and they eat the
old one first, which gives them back most of what it was made of.</p><p>See also the
<a href="/spiral">capture spiral</a>, which is sticky, and the radii, which are not.</p></article></html>"""
OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*")


@pytest.fixture
def article(site: Site) -> str:
    return site.url(say(ARTICLE))


def fetch(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = gossamer("fetch", *OPEN, *arguments, folder=folder, check=False)
    assert done.returncode == code, done.stderr
    return done


def fetch_all(folder: Path, *commands: tuple[str, ...]) -> list[str]:
    """What several print, run side by side."""
    with ThreadPoolExecutor(2) as pool:
        return [done.stdout for done in pool.map(lambda command: fetch(folder, *command), commands)]


def test_markdown_is_printed_and_nothing_else(tmp_path: Path, article: str) -> None:
    done = fetch(tmp_path, article)
    assert done.stdout.startswith("# Orb webs\n\nOrb weavers")
    assert done.stdout.endswith("are not.\n")
    assert "Navigation" not in done.stdout
    assert done.stderr == ""
    found = json.loads(gossamer("search", "--format", "json", "orb weavers", folder=tmp_path).stdout)
    assert (found["url"], found["title"]) == (article, "Orb webs")


def test_pages_are_read_also_where_nothing_can_be_kept(tmp_path: Path, article: str) -> None:
    quiet = gossamer("fetch", *OPEN, article, folder=tmp_path, GOSSAMER_SEARCH_INDEX_PAGES="0")
    assert (quiet.stdout[:10], quiet.stderr) == ("# Orb webs", "")
    assert list(tmp_path.iterdir()) == []  # not even a database
    (tmp_path / "gossamer.db").mkdir()
    told = fetch(tmp_path, article)
    assert told.stdout.startswith("# Orb webs")
    assert "will not be found by search" in told.stderr


def test_every_format(tmp_path: Path, site: Site, article: str) -> None:
    shapes = ("html", "rawHtml", "links", "metadata", "json")
    printed = fetch_all(tmp_path, *(("--format", shape, article) for shape in shapes))
    html, raw, links, metadata, everything = printed
    assert "<h1>Orb webs</h1>" in html
    assert raw == ARTICLE + "\n"
    assert f"{site.url('/spiral')}\tcapture spiral\n" in links
    assert json.loads(metadata)["language"] == "en"
    assert everything.count("\n") == 1
    read = json.loads(everything)
    assert (read["url"], read["outcome"], read["raw_html"]) == (article, "ok", ARTICLE)
    assert read["markdown"].startswith("# Orb webs")


def test_for_a_language_model_and_by_a_browser(tmp_path: Path, site: Site, article: str) -> None:
    short, shown = fetch_all(
        tmp_path,
        ("--format", "llm", "--max-tokens", "100", article),
        ("--format", "llm", "--render", "auto", "--wait-for", "h1", site.url(say(APP))),
    )
    lines = short.split("\n")
    assert "untrusted data" in lines[0]
    assert lines[1].removeprefix("<<<") in lines[-3]
    assert "Orb webs" in short
    assert lines[-2].startswith("Left out for length: ")
    assert "# Rendered by a script" in shown
    refused = fetch(tmp_path, "--wait-for", "h1", article, code=2)
    assert "--render" in refused.stderr


def test_a_query_for_the_format_llm_alone(tmp_path: Path, site: Site, article: str) -> None:
    parts = "".join(f"<h2>Part {number}</h2><p>{'Orb weavers spin. ' * 40}</p>" for number in range(20))
    page = site.url(say(f"<!doctype html><title>Webs</title><h1>Webs</h1>{parts}"))
    (about,) = fetch_all(tmp_path, ("--format", "llm", "--max-tokens", "500", "--query", "part 13", page))
    assert "## Part 13\n\nOrb weavers" in about
    assert "--format llm" in fetch(tmp_path, "--query", "webs", article, code=2).stderr
    too_long = fetch(tmp_path, "--format", "llm", "--query", "w" * 401, article, code=2)
    assert "400" in too_long.stderr


def test_the_full_page_or_parts_of_it(tmp_path: Path, article: str) -> None:
    full, parts = fetch_all(
        tmp_path,
        ("--full", "--exclude", "article p", article),
        ("--format", "text", "--include", "nav", "--include", "p:first-of-type", article),
    )
    assert "Navigation" in full
    assert "Orb weavers" not in full
    assert "Navigation" in parts
    assert "Orb weavers" in parts
    assert "spiral" not in parts


def test_many_are_printed_in_their_order_whatever_comes_first(tmp_path: Path, site: Site) -> None:
    late = site.url(say("<p>The first page, which takes its time.</p>", pause=0.4))
    soon = site.url(say("<p>The second page, which does not.</p>"))
    assert fetch(tmp_path, late, soon).stdout == (
        "The first page, which takes its time.\n\nThe second page, which does not.\n"
    )
    lines = fetch(tmp_path, "--format", "json", "--at-once", "2", soon, late, soon).stdout.splitlines()
    assert [json.loads(line)["url"] for line in lines] == [soon, late, soon]


def test_output_to_a_file(tmp_path: Path, article: str) -> None:
    target = tmp_path / "new" / "page.md"
    done = fetch(tmp_path, "--output", str(target), article)
    assert done.stdout == done.stderr == ""
    assert target.read_text().startswith("# Orb webs")


def test_output_to_a_folder(tmp_path: Path, article: str) -> None:
    fetch(tmp_path, "-o", "pages/", article)  # one: by the slash
    fetch(tmp_path, "-o", "pages", "--format", "links", article + "?page=2", article + "?page=3")
    files = sorted((tmp_path / "pages").iterdir())
    assert sorted(file.suffix for file in files) == [".md", ".tsv", ".tsv"]
    assert all(file.name.startswith("127.0.0.1-said-") for file in files)
    assert all("spiral" in file.read_text() for file in files)


def test_output_that_cannot_be_written(tmp_path: Path, article: str) -> None:
    (tmp_path / "taken").write_text("a file")
    done = fetch(tmp_path, "-o", "taken/page.md", article, code=1)
    assert "taken/page.md" in done.stderr
    assert (tmp_path / "taken").read_text() == "a file"


REFUSED = {
    "nonsense": "This is not a URL",
    "site.example/page": "This is not a URL. Did you mean https://site.example/page?",
    "ftp://site.example/": "Only http and https",
    "http://user:hunter22@site.example/": "passwords in URLs are not allowed",
    "http://169.254.169.254/": "GOSSAMER_EGRESS_ALLOW",
    "http://localhost/": "not allowed",
}


def test_urls_that_cannot_be_used(tmp_path: Path) -> None:
    done = fetch(tmp_path, *REFUSED, code=1)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == len(REFUSED)
    for line, (url, words) in zip(lines, REFUSED.items(), strict=True):
        assert line.startswith(f"gossamer: {url}: ")
        assert words in line


def test_addresses_are_closed_unless_opened(tmp_path: Path, site: Site) -> None:
    target = say(ARTICLE)
    done = gossamer("fetch", "--egress-ports", "*", site.url(target), folder=tmp_path, check=False)
    assert done.returncode == 1
    assert "GOSSAMER_EGRESS_ALLOW" in done.stderr
    assert site.seen(target) == []
    done = gossamer(
        "fetch",
        site.url(target),
        folder=tmp_path,
        GOSSAMER_EGRESS_ALLOW="127.0.0.1/32",
        GOSSAMER_EGRESS_PORTS="*",
    )
    assert done.stdout.startswith("# Orb webs")


def test_the_code_says_how_bad_it_was(tmp_path: Path, site: Site, article: str) -> None:
    missing, broken = site.url("/missing"), site.url("/loop")
    done = fetch(tmp_path, article, missing, code=3)
    assert done.stdout.startswith("# Orb webs")
    assert f"gossamer: {missing}: error (not_found), status 404\n" == done.stderr
    late = site.url("/first-byte-late")
    done = fetch(tmp_path, "--timeout", "2", missing, broken, late, article, code=1)
    assert done.stdout.startswith("# Orb webs")  # which is printed all the same
    assert done.stderr.count("\n") == 3
    assert f"gossamer: {broken}: The target redirects in a loop." in done.stderr
    assert f"gossamer: {late}: The target did not" in done.stderr


def test_a_selector_or_a_format_that_is_none(tmp_path: Path, article: str) -> None:
    assert "is not a CSS selector" in fetch(tmp_path, "--include", "a[", article, code=1).stderr
    assert "nonsense" in fetch(tmp_path, "--format", "nonsense", article, code=2).stderr


def test_what_takes_long_to_read_leaves_nothing_behind(tmp_path: Path, site: Site) -> None:
    target = say("<p>A sentence of a large page, with a comma.</p>" * 5000)
    assert fetch(tmp_path, site.url(target)).stdout.count("A sentence") == 5000


def test_a_reader_that_has_seen_enough(tmp_path: Path, article: str) -> None:
    process = Forked(
        "gossamer",
        *("fetch", *OPEN, "--format", "rawHtml", *[article] * 20),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=own_environment(tmp_path),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(20) != 0


def test_on_a_terminal(tmp_path: Path, site: Site, article: str) -> None:
    """Progress is shown, and no page speaks to the terminal."""
    rude = site.url(say("before \x1b[2J after", "Content-Type: text/plain"))
    master, terminal = pty.openpty()
    words = ("gossamer", "fetch", *OPEN, article, rude)
    here = own_environment(tmp_path)
    process = Forked(*words, stdout=terminal, stderr=terminal, cwd=tmp_path, env=here)
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError:
        pass  # how Linux says that the other side is gone
    os.close(master)
    assert process.wait(20) == 0
    assert b"2 of 2 pages" in shown
    assert b"# Orb webs" in shown
    assert "before \ufffd[2J after".encode() in shown
    assert b"\x1b" not in shown


def test_help_says_it_all(tmp_path: Path) -> None:
    text = gossamer("fetch", "--help", folder=tmp_path).stdout
    for word in ("--format", "--full", "--output", "--egress-allow", "--timeout", "Exit code", "URL..."):
        assert word in text
