"""The command line at a server: `gossamer --server URL …`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gossamer.doors.cli import COMMANDS
from tests.doors.cli.commands import gossamer
from tests.doors.fetches import say
from tests.doors.services import ADMIN_KEY
from tests.site.server import Site

ARTICLE = """<!doctype html><html lang="en"><title>Orb webs</title><meta name="author" content="A. Spider">
<article><h1>Orb webs</h1><p>Orb weavers build a new web nearly every day, mostly at night, and they eat the
old one first, which gives them back most of what it was made of.</p><p>See also the
<a href="/spiral">capture spiral</a>, which is sticky, and the radii, which are not.</p></article></html>"""
OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*")


def ask(server: str, folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = gossamer("--server", server, "--key", ADMIN_KEY, *arguments, folder=folder, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("shape", ["markdown", "links", "metadata", "json"])
def test_a_page_looks_the_same_from_a_server(server: str, tmp_path: Path, site: Site, shape: str) -> None:
    url = site.url(say(ARTICLE))
    there = ask(server, tmp_path, "fetch", url, "--format", shape).stdout
    assert list(tmp_path.iterdir()) == []  # nothing was done here
    here = gossamer("fetch", *OPEN, url, "--format", shape, folder=tmp_path).stdout
    if shape == "json":
        theirs, ours = json.loads(there), json.loads(here)
        different = {name for name in ours if ours[name] != theirs[name]}
        assert different <= {"fetched_at", "elapsed_ms"}
    else:
        assert there == here


def test_by_the_environment_and_with_a_code_that_says_how_bad_it_was(
    server: str, tmp_path: Path, site: Site
) -> None:
    url = site.url(say("<title>Gone", status="404 Not Found"))
    environment: dict[str, Any] = {"GOSSAMER_SERVER": server, "GOSSAMER_KEY": ADMIN_KEY}
    done = gossamer("fetch", url, "--format", "llm", folder=tmp_path, check=False, **environment)
    assert done.returncode == 3
    assert "not_found" in done.stderr
    done = gossamer("fetch", "http://127.0.0.9/", folder=tmp_path, check=False, **environment)
    assert done.returncode == 1
    assert "http://127.0.0.9/: " in done.stderr


def test_data_is_extracted_there_and_here(server: str, tmp_path: Path, site: Site) -> None:
    command = ("extract", site.url(say(ARTICLE)), "--field", "author", "--no-model")
    there = ask(server, tmp_path, *command).stdout
    assert json.loads(there) == {"author": "A. Spider"}
    assert gossamer(*command, *OPEN, folder=tmp_path).stdout == there
    missing = gossamer(*command, "--field", "price:number", *OPEN, folder=tmp_path, check=False)
    assert missing.returncode == 3
    assert "/price" in missing.stderr


def test_a_site_is_mapped_there_and_here(server: str, tmp_path: Path, site: Site) -> None:
    page = say("<title>A page")
    start = site.url(say(f'<title>Start</title><a href="{page}">a page</a>'))
    assert site.url(page) in ask(server, tmp_path, "map", start, "--sitemap", "skip").stdout.splitlines()
    lines = gossamer(
        "map", start, "--sitemap", "skip", "--format", "json", *OPEN, folder=tmp_path
    ).stdout.splitlines()
    assert site.url(page) in [json.loads(line)["url"] for line in lines]


def test_a_batch_a_search_and_a_picture(server: str, tmp_path: Path, site: Site) -> None:
    url = site.url(say(ARTICLE))
    listed = tmp_path / "urls.txt"
    listed.write_text(f"{url}\nftp://example.com/\n")
    lines = ask(server, tmp_path, "batch", str(listed), code=1).stdout.splitlines()
    assert [(line["index"], line["status"]) for line in map(json.loads, lines)] == [
        (0, "done"),
        (1, "failed"),
    ]
    ask(server, tmp_path, "search", "nothingissocalled", code=3)
    picture = tmp_path / "page.png"
    done = ask(server, tmp_path, "screenshot", url, "--width", "320", "--height", "240", "-o", str(picture))
    assert "320 x 240 pixels" in done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = tmp_path / "page.pdf"
    ask(server, tmp_path, "pdf", url, "-o", str(printed))
    assert printed.read_bytes().startswith(b"%PDF")
    rendered = ask(server, tmp_path, "render", url, "--stats", "--screenshot", "page.webp")
    assert "<h1>Orb webs</h1>" in rendered.stdout
    assert "settled        yes" in rendered.stderr
    assert (tmp_path / "page.webp").read_bytes().startswith(b"RIFF")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("serve",), "works on this machine's own data: leave out --server"),
        (("keys", "list"), "works on this machine's own data"),
        (("fetch", "http://127.0.0.1/", "--egress-ports", "*"), "--egress-ports is a setting of the server"),
        (("batch", "-", "--at-once", "2"), "--at-once does not go with --server"),
        (("render", "http://127.0.0.1/", "--fence", "prefer"), "--fence is a setting of the server"),
    ],
)
def test_what_a_server_cannot_be_asked_for(tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    done = ask("http://127.0.0.1:9", tmp_path, *arguments, code=2)
    assert why in done.stderr


LOCAL = {
    "serve worker mcp": "they are a server, or a part of one",
    "keys users alerts migrate doctor config": "they set up this machine",
    "delete archive replay upkeep backup restore move": "they work on the data itself",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_asks_a_server_or_is_local_by_nature(tmp_path: Path, name: str) -> None:
    """One that asks a server gets as far as its own arguments."""
    is_local = name in " ".join(LOCAL).split()
    done = ask("http://127.0.0.1:9", tmp_path, name, "--no-such-option", code=2)
    assert (f"`gossamer {name}` works on this machine's own data" in done.stderr) is is_local
    assert ("No such option" in done.stderr) is not is_local


def test_a_server_that_is_none(tmp_path: Path) -> None:
    done = ask("gossamer.example.com", tmp_path, "fetch", "http://127.0.0.1/", code=2)
    assert "is not the address of a server" in done.stderr
    done = gossamer("--key", "sk", "fetch", "http://127.0.0.1/", folder=tmp_path, check=False)
    assert "add --server URL" in done.stderr


def test_only_the_owner_may_wait_longer_than_a_server_lets_strangers_wait(
    server: str, tmp_path: Path, site: Site
) -> None:
    command = ("fetch", site.url(say(ARTICLE)), "--timeout", "90")
    assert "Orb webs" in gossamer(*command, *OPEN, folder=tmp_path).stdout
    assert "timeout" in ask(server, tmp_path, *command, code=1).stderr


def test_without_a_data_folder_that_can_be_written_nothing_is_kept(tmp_path: Path, site: Site) -> None:
    (tmp_path / "file").touch()
    command = ("batch", *OPEN, "--data-dir", f"{tmp_path}/file/data", "-")
    done = gossamer(*command, folder=tmp_path, given=site.url(say(ARTICLE)))
    assert "every day, mostly at night" in done.stdout
    assert "cannot be written" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_what_is_remembered_there_is_found_and_brought_here(server: str, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("# Plan\n\nClimb the mountain.")
    put = ("memory", "put", "plan", "--file", "plan.md", "--namespace", "commands", "--if-version", "0")
    assert ask(server, tmp_path, *put).stdout == "commands/plan: version 1, 31 bytes.\n"
    assert "has version 1" in ask(server, tmp_path, *put, code=1).stderr
    found = ask(server, tmp_path, "memory", "search", "mountain", "-n", "commands").stdout
    assert found == "commands/plan\nClimb the mountain.\n\n"
    ask(server, tmp_path, "memory", "export", "-n", "commands", "--output", "memory.ndjson")
    gossamer("memory", "import", "memory.ndjson", folder=tmp_path)
    here = gossamer("memory", "get", "plan", "-n", "commands", folder=tmp_path).stdout
    assert here == "# Plan\n\nClimb the mountain.\n"
    gossamer("memory", "delete", "--all", "-n", "commands", folder=tmp_path)
    assert gossamer("memory", "get", "plan", folder=tmp_path, check=False).returncode == 3
    ask(server, tmp_path, "memory", "delete", "--all", "-n", "commands")
