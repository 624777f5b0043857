"""`gossamer render`, as a person or a script would use it."""

import socket
import struct
import subprocess
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.fetches import say
from tests.doors.renders import APP, article
from tests.site.server import Site

OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*")


def render(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = gossamer("render", *OPEN, *arguments, folder=folder, check=False)
    assert done.returncode == code, done.stderr
    return done


def browsers() -> set[int]:
    """Those of this process and what it started; other tests may have theirs."""
    children = psutil.Process().children(recursive=True)
    return {child.pid for child in children if "chrom" in child.name().lower()}


def test_the_rendered_page_is_printed_and_nothing_else(tmp_path: Path, site: Site) -> None:
    target, before = say(APP), browsers()
    done = render(tmp_path, site.url(target))
    assert "<h1>Rendered by a script</h1>" in done.stdout
    assert "<script>" not in done.stdout
    assert done.stdout.lower().startswith("<!doctype html>")
    assert f'<base href="{site.url(target)}">' in done.stdout
    assert list(tmp_path.iterdir()) == []  # not even a database
    assert browsers() <= before


def test_a_picture_a_file_and_the_numbers(tmp_path: Path, site: Site) -> None:
    done = render(
        tmp_path,
        site.url(say(APP)),
        *("--keep-scripts", "--stats", "--wait-for", "h1", "--timeout", "20"),
        *("--output", str(tmp_path / "new" / "page.html"), "--screenshot", str(tmp_path / "page.png")),
    )
    assert done.stdout == ""
    assert "getElementById" in (tmp_path / "new" / "page.html").read_text()
    picture = (tmp_path / "page.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (1280, 720)
    table = dict(line.split(None, 1) for line in done.stderr.splitlines() if not line.startswith("  "))
    assert table["status"] == "200"
    assert table["outcome"] == "ok"
    assert table["settled"] == "yes"
    assert table["time"].endswith(" ms")
    assert {"requests", "received", "HTML", "redirects"} <= set(table)


def test_the_code_says_how_bad_it_was(tmp_path: Path, site: Site) -> None:
    missing = site.url(say(article("Not here"), status="404 Not Found"))
    done = render(tmp_path, "--stats", missing, code=3)
    assert "Not here" in done.stdout
    assert "404" in done.stderr
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        dead = render(tmp_path, f"http://127.0.0.1:{bound.getsockname()[1]}/", code=1)
    assert dead.stdout == ""
    assert dead.stderr.startswith("gossamer: ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("http://127.0.0.2/",), 1, "GOSSAMER_EGRESS_ALLOW"),
        (("nonsense",), 1, "not a URL"),
        (("http://127.0.0.1/", "--screenshot", "page.gif"), 2, ".png, .jpg or .webp"),
        (("http://127.0.0.1/", "--chromium", "/nowhere/chromium"), 1, "gossamer: "),
        (("http://127.0.0.1/", "--browser-url", "ws://127.0.0.1:1/"), 2, "browser_proxy_url"),
        ((), 2, "URL"),
    ],
)
def test_what_cannot_be_done(tmp_path: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    assert words in render(tmp_path, *arguments, code=code).stderr
