"""Pages on paper."""

from typing import Any

import pypdfium2
import pytest

from gossamer.problems import Problem
from gossamer.reach.page.visit import Print
from gossamer.web.documents.printed_pdf import page_count
from tests.browser.pools import Pool
from tests.site.server import Site


async def printed(pool: Pool, url: str, **how: Any) -> bytes:
    capture = (await pool.visit(url, capture=Print(**how))).capture
    assert capture is not None
    assert page_count(capture.body) == len(pypdfium2.PdfDocument(capture.body))
    return capture.body


def sheets(pdf: bytes) -> list[tuple[str, tuple[int, int]]]:
    """The text of each, and its size in points."""
    found = []
    for page in pypdfium2.PdfDocument(pdf):
        width, height = page.get_size()
        found.append((page.get_textpage().get_text_range().strip(), (round(width), round(height))))
    return found


async def test_every_sheet_is_there_in_the_size_that_was_asked_for(pool: Pool, site: Site) -> None:
    url = site.url("/page/sheets")
    upright = sheets(await printed(pool, url))
    assert [text for text, _ in upright] == [f"Sheet number {n}." for n in range(1, 5)] + ["the last one"]
    assert {size for _, size in upright} <= {(595, 842), (596, 842)}  # in whole pixels of the browser
    letter = sheets(await printed(pool, url, paper="Letter", landscape=True, scale=0.5))
    assert {size for _, size in letter} == {(792, 612)}
    some = sheets(await printed(pool, url, pages="2-3,5"))
    assert [text for text, _ in some] == ["Sheet number 2.", "Sheet number 3.", "the last one"]


def first_red(pdf: bytes) -> int | None:
    """The line of the first sheet, in points from its top, that has something red."""
    picture = pypdfium2.PdfDocument(pdf)[0].render(scale=1)
    pixels = bytes(picture.buffer)
    lines = (pixels[at : at + picture.stride] for at in range(0, len(pixels), picture.stride))
    return next((number for number, line in enumerate(lines) if b"\x00\x00\xff" in line), None)


async def test_backgrounds_and_margins(pool: Pool, site: Site) -> None:
    url = site.url("/page/sheets")
    usual = first_red(await printed(pool, url))
    wide = first_red(await printed(pool, url, margins=(2.4, 0.4, 0.4, 0.4)))
    assert usual is not None
    assert wide is not None
    assert abs(wide - usual - 2 * 72) <= 2
    assert first_red(await printed(pool, url, background=False)) is None


async def test_what_cannot_be_printed(pool: Pool, site: Site) -> None:
    for how, reason in (
        ({"pages": "9"}, "page_ranges"),
        ({"pages": "3-2"}, "page_ranges"),
        ({"margins": (6.0, 6.0, 6.0, 6.0)}, "margins"),
    ):
        with pytest.raises(Problem) as caught:
            await printed(pool, site.url("/page/sheets"), **how)
        assert caught.value.kind.code == "UNPROCESSABLE_ENTITY"
        assert caught.value.members["details"]["reason"] == reason
    with pytest.raises(Problem) as caught:
        await printed(pool, site.url("/page/noise"), paper="A0")
    assert caught.value.kind.code == "CONTENT_TOO_LARGE"
