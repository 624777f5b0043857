"""Pictures of pages."""

import struct
import zlib
from typing import Any

import pytest

from gossamer.problems import Problem
from gossamer.reach.shot import TALLEST
from gossamer.reach.visit import Shot
from tests.browser.pools import Pool
from tests.site.server import Site


async def taken(pool: Pool, url: str, **how: Any) -> bytes:
    picture = (await pool.visit(url, shot=Shot(**how))).shot
    assert picture is not None
    return picture


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


async def test_a_picture_has_its_bounds(pool: Pool, site: Site) -> None:
    width, height = size(await taken(pool, site.url("/page/endless-height"), width=320, full_page=True))
    assert (width, height) == (320, TALLEST)


async def test_formats_and_colours(pool: Pool, site: Site) -> None:
    url = site.url("/page/tall")
    assert (await taken(pool, url, format="jpeg", quality=50)).startswith(b"\xff\xd8\xff")
    webp = await taken(pool, url, format="webp")
    assert (webp[:4], webp[8:12]) == (b"RIFF", b"WEBP")
    assert first_pixel(await taken(pool, url)) == b"\xff\xff\xff"
    assert first_pixel(await taken(pool, url, dark=True)) == b"\x00\x00\x00"


async def test_an_element_that_is_not_there(pool: Pool, site: Site) -> None:
    for selector, code in (("b.none", "ELEMENT_NOT_FOUND"), ("p{", "INVALID_SELECTOR")):
        with pytest.raises(Problem) as caught:
            await taken(pool, site.url("/page/tall"), selector=selector)
        assert caught.value.kind.code == code
        assert caught.value.members["details"] == {"selector": selector}
