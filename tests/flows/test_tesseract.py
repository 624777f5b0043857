"""Scanned PDFs: the text on their pages is recognised where tesseract is installed."""

import shutil
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.web.documents.pdf_files import Shown, laid_out, scanned

from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.parsers.tesseract import Tesseract
from gossamer.web.documents.documents import read
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import read as read_page
from gossamer.web.pages.reading_options import ReadingOptions

LINE = laid_out([Shown(72, 700, "Orb weavers", 40)])
SCAN = scanned(LINE)


def page(body: bytes = SCAN) -> Page:
    url = "https://site.example/scan.pdf"
    return Page(
        url=url, final_url=url, status=200, headers=(), body=body, media_type="application/pdf", charset=""
    )


@pytest.fixture
async def patient() -> AsyncIterator[ParserPool]:
    parsers = ParserPool(1, seconds=120.0, tesseract=shutil.which("tesseract") or "it is not installed")
    yield parsers
    await parsers.close()


async def test_a_scanned_page_is_recognised_and_says_so(patient: ParserPool) -> None:
    found = await patient.read(page(), ReadingOptions())
    assert (found.text.strip(), found.markdown) == ("Orb weavers", "Orb weavers")
    assert (found.judgement.outcome, found.recognised, found.cut) == (Outcome.OK, True, False)


def test_without_an_engine_it_is_empty_and_says_why() -> None:
    found = read_page(page(), ReadingOptions())
    assert (found.judgement.outcome, found.judgement.reason) == (Outcome.EMPTY, "scanned")
    assert (found.text, found.recognised, found.cut) == ("", False, False)


@pytest.mark.parametrize(
    ("answers", "text", "is_cut"),
    [
        (["One", "Two"], "One\fTwo", False),
        (["", "Two"], "\fTwo", False),
        (["One", None], "One\f", True),
        ([None], "", True),
    ],
)
def test_what_is_not_recognised_in_time_is_missing(
    answers: list[str | None], text: str, is_cut: bool
) -> None:
    given = iter(answers)
    found = read(page(scanned(LINE, 2)), lambda _: next(given))
    assert (found.text, found.truncated, found.recognised) == (text, is_cut, answers[0] is not None)


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[str], Tesseract]:
    def make(script: str) -> Tesseract:
        path = tmp_path / "engine"
        path.write_text(
            f'#!/bin/sh\n[ "$1" = --list-langs ] && printf "Languages:\\neng\\nosd\\n" && exit\n{script}\n'
        )
        path.chmod(0o755)
        return Tesseract(str(path))

    return make


@pytest.mark.parametrize("script", ["exec /bin/sleep 60", "exit 1", "kill -9 $$"])
def test_an_engine_that_hangs_or_fails_recognises_nothing(
    engine: Callable[[str], Tesseract], script: str
) -> None:
    before = time.monotonic()
    assert engine(script).recognise(b"P5 1 1 255\n\0", before + 0.5) is None
    assert time.monotonic() - before < 30


def test_an_engine_gets_the_installed_languages_and_no_environment(
    engine: Callable[[str], Tesseract],
) -> None:
    shown = engine('echo "$@"; echo "$HOME"').recognise(b"", time.monotonic() + 60)
    assert shown == "stdin stdout -l eng\n\n"


def test_no_engine_is_started_when_time_is_up(engine: Callable[[str], Tesseract], tmp_path: Path) -> None:
    assert engine(f"echo > {tmp_path}/started").recognise(b"", time.monotonic()) is None
    assert not (tmp_path / "started").exists()
