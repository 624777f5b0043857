"""Pictures of pages."""

import struct
import zlib
from typing import Any

import pytest

from gossamer.problems import Problem
from gossamer.reach.page.screenshot import MAX_PIXELS, MAX_SIDE_PIXELS
from gossamer.reach.page.visit import Capture, Screenshot
from tests.browser.pools import Pool
from tests.site.server import Site


async def captured(pool: Pool, url: str, **how: Any) -> Capture:
    capture = (await pool.visit(url, capture=Screenshot(**how))).capture
    assert capture is not None
    return capture


async def taken(pool: Pool, url: str, **how: Any) -> bytes:
    return (await captured(pool, url, **how)).body


async def refused(pool: Pool, url: str, **how: Any) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Problem) as caught:
        await captured(pool, url, **how)
    return caught.value.kind.code, caught.value.members["details"]


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def first_pixel(png: bytes) -> bytes:
    """Of a picture in RGB or RGBA; the first line is filtered by nothing that changes its first pixel."""
    at, data = 8, b""
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        data += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return zlib.decompressobj().decompress(data, 4)[1:4]


async def test_a_picture_is_as_large_as_it_was_asked_for(pool: Pool, site: Site) -> None:
    url = site.url("/page/tall")
    assert size(await taken(pool, url)) == (1280, 720)
    assert size(await taken(pool, url, width=400, height=300, scale=2.0)) == (800, 600)
    assert size(await taken(pool, url, width=500, full_page=True)) == (500, 3040)
    assert size(await taken(pool, url, selector="p")) == (120, 40)


async def test_a_page_is_the_result_without_a_picture_if_none_is_needed(pool: Pool, site: Site) -> None:
    missing = Screenshot(selector="#gone")
    visited = await pool.visit(site.url("/page/placed"), capture=missing, needs_capture=False)
    assert visited.capture is None
    assert b'id="split"' in visited.page.body


async def test_an_element_is_shown_in_whole_pixels(pool: Pool, site: Site) -> None:
    url = site.url("/page/placed")
    assert size(await taken(pool, url, selector="#split")) == (101, 31)  # 10 to 111, 20 to 51
    assert size(await taken(pool, url, selector="#split", scale=2.0)) == (202, 62)
    assert size(await taken(pool, url, selector="#half")) == (60, 10)  # what of it is on the page
    assert (await refused(pool, url, selector="#gone"))[0] == "ELEMENT_NOT_FOUND"


async def test_what_is_too_large_is_refused_by_name_and_never_cut(pool: Pool, site: Site) -> None:
    endless = site.url("/page/endless-height")
    details = {"reason": "too_tall", "width": 320, "height": 900_000, "limit": MAX_SIDE_PIXELS}
    assert await refused(pool, endless, width=320, full_page=True) == ("CAPTURE_TOO_LARGE", details)
    _, details = await refused(pool, endless, width=3840, full_page=True, scale=2.0)
    assert details["limit"] == MAX_PIXELS // (3840 * 4)
    _, details = await refused(pool, site.url("/page/placed"), selector="#tall")
    assert (details["reason"], details["height"]) == ("too_tall", 40_000)
    _, details = await refused(pool, site.url("/page/wide"), full_page=True)
    assert (details["reason"], details["limit"]) == ("too_wide", MAX_SIDE_PIXELS)
    before = len(site.seen("/page/tall"))
    _, details = await refused(pool, site.url("/page/tall"), width=3840, height=2160, scale=3.0)
    assert details == {"reason": "too_many_pixels", "pixels": 74_649_600, "limit": MAX_PIXELS}
    assert len(site.seen("/page/tall")) == before


async def test_what_is_too_tall_is_cut_where_it_was_asked_for(pool: Pool, site: Site) -> None:
    endless = site.url("/page/endless-height")
    cut = await captured(pool, endless, width=320, full_page=True, max_height=MAX_SIDE_PIXELS)
    assert (size(cut.body), cut.cut) == ((320, MAX_SIDE_PIXELS), True)
    cut = await captured(pool, site.url("/page/placed"), selector="#tall", max_height=700, scale=2.0)
    assert (size(cut.body), cut.cut) == ((100, 1400), True)
    whole = await captured(pool, site.url("/page/tall"), full_page=True, max_height=5000)
    assert (size(whole.body), whole.cut) == ((1280, 3040), False)
    code, _ = await refused(pool, endless, width=1280, full_page=True, scale=3.0, max_height=6000)
    assert code == "CAPTURE_TOO_LARGE"  # 18,000 pixels of the picture: the cut alone is not enough


async def test_a_picture_of_many_bytes_is_refused(pool: Pool, site: Site) -> None:
    url = site.url("/page/noise")
    code, details = await refused(pool, url, width=2200, height=2000)
    assert (code, details["reason"]) == ("CONTENT_TOO_LARGE", "capture_too_large")
    assert len(await taken(pool, url, width=2200, height=2000, format="jpeg", quality=30)) < 5_000_000


async def test_formats_and_colours(pool: Pool, site: Site) -> None:
    url = site.url("/page/tall")
    assert (await taken(pool, url, format="jpeg", quality=50)).startswith(b"\xff\xd8\xff")
    webp = await taken(pool, url, format="webp")
    assert (webp[:4], webp[8:12]) == (b"RIFF", b"WEBP")
    assert first_pixel(await taken(pool, url)) == b"\xff\xff\xff"
    assert first_pixel(await taken(pool, url, dark=True)) == b"\x00\x00\x00"


async def test_what_moves_stands_still_and_looks_the_same_twice(pool: Pool, site: Site) -> None:
    url = site.url("/page/moving")
    first, second = await taken(pool, url, width=400), await taken(pool, url, width=400)
    assert first_pixel(first) == b"\x00\x00\xff"  # as it will be in ten minutes
    assert first == second


async def test_what_loads_when_it_is_seen_is_loaded(pool: Pool, site: Site) -> None:
    url = site.url("/page/lazy")
    await taken(pool, url, full_page=True)
    assert len(site.seen("/picture?lazy")) == 1
    visit = await pool.visit(url, capture=Screenshot())
    assert len(site.seen("/picture?lazy")) == 1
    assert visit.timings.capture_ms < 5000  # what is out of sight is not waited for


async def test_an_element_that_is_not_there(pool: Pool, site: Site) -> None:
    url = site.url("/page/tall")
    for selector, code in (("b.none", "ELEMENT_NOT_FOUND"), ("p{", "INVALID_SELECTOR")):
        assert await refused(pool, url, selector=selector) == (code, {"selector": selector})
