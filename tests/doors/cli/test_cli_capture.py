"""`gossamer screenshot` and `gossamer pdf`, as a person or a script would use them."""

import subprocess
from pathlib import Path

import pypdfium2
import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.fetches import say
from tests.doors.renders import article
from tests.site.server import Site

from gossamer.web.documents.image_size import size_of

OPEN = ("--egress-allow", "127.0.0.1/32", "--egress-ports", "*")


def run_capture(
    folder: Path, command: str, *arguments: str, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = gossamer(command, *OPEN, *arguments, folder=folder, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_a_picture_in_a_file(tmp_path: Path, site: Site) -> None:
    options = ("--width", "500", "--height", "400", "--scale", "2", "--full-page", "--max-height", "300")
    output = tmp_path / "new" / "page.webp"
    more = ("--dark", "--quality", "50", "--wait-for", "h1", "--timeout", "20", "-o", str(output))
    done = run_capture(tmp_path, "screenshot", site.url(say(article())), *options, *more)
    assert size_of(output.read_bytes()) == (1000, 600)
    assert done.stdout == ""
    assert "1000 x 600 pixels, cut, " in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "new"]  # not even a database


def test_a_pdf_in_a_file_and_a_code_that_says_what_it_is(tmp_path: Path, site: Site) -> None:
    options = ("--format", "A5", "--landscape", "--no-background", "--scale", "0.5", "--margin", "0")
    url = site.url(say(article("Not here"), status="404 Not Found"))
    done = run_capture(tmp_path, "pdf", url, *options, "--pages", "1", "--output", "page.pdf", code=3)
    pdf = pypdfium2.PdfDocument(tmp_path / "page.pdf")
    width, height = pdf[0].get_size()
    assert len(pdf) == 1
    assert width > height
    assert "pages: 1, " in done.stderr
    assert "gossamer: error" in done.stderr
    assert "status 404" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("screenshot", "http://127.0.0.2/"), 1, "GOSSAMER_EGRESS_ALLOW"),
        (("screenshot", "http://127.0.0.1/", "-o", "page.gif"), 2, ".png, .jpg or .webp"),
        (("screenshot", "http://127.0.0.1/", "--width", "100"), 2, "320<=x<=3840"),
        (("pdf", "nonsense"), 1, "not a URL"),
        (("pdf", "http://127.0.0.1/", "--format", "A9"), 2, "A4"),
        (("pdf", "http://127.0.0.1/", "--chromium", "/nowhere/chromium"), 1, "gossamer: "),
    ],
)
def test_what_cannot_be_done(tmp_path: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    assert words in run_capture(tmp_path, *arguments, code=code).stderr
