"""Bodies of a crawl, many in one object, and the memory of what is known."""

from pathlib import Path

from msgspec.structs import replace

from gossamer.flows.crawl.content import MAX_HEADER_CHARS, keep_headers, load_page, pack, unpack
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.state.blobs.blobs import open_blobs
from gossamer.web.pages.page import Hop, Page


def page(number: int) -> Page:
    return Page(
        url=f"http://127.0.0.1/{number}",
        final_url=f"http://127.0.0.1/{number}",
        status=200,
        headers=(("content-type", "text/html"), ("x-odd", "\xff")),
        body=b"\x00\xff<p>" + b"word " * number,
        media_type="text/html",
        charset="windows-1252",
        redirects=(Hop("http://127.0.0.1/", 301),),
    )


async def test_every_page_of_a_parcel_comes_back_as_it_was(tmp_path: Path) -> None:
    blobs = open_blobs(tmp_path.as_uri(), {})
    pages = [page(number) for number in (0, 1, 20_000)]
    made = pack(pages)
    await blobs.put(made.name, made.body)
    for kept, place in zip(pages, made.places, strict=True):
        assert await load_page(blobs, place.blob, place.offset, place.size) == kept
    assert len(made.body) < 2_000
    await blobs.drop([made.name])
    assert await load_page(blobs, made.name, 0, 10) is None
    await blobs.close()


def test_the_values_of_cookies_are_not_kept_and_headers_are_bounded() -> None:
    cookies = ("set-cookie", "a=secret; Secure\nb=other=secret"), ("x-robots-tag", "noindex")
    kept = (("set-cookie", "a=; Secure\nb="), ("x-robots-tag", "noindex"))
    assert keep_headers(cookies) == kept
    assert keep_headers((*kept, ("x-long", "x" * MAX_HEADER_CHARS), ("x-more", ""))) == kept
    made = pack([replace(page(0), headers=cookies)])
    assert unpack(made.body).headers == kept


def test_nothing_is_no_parcel_worth_keeping() -> None:
    made = pack([])
    assert (made.body, made.places) == (b"", [])


def test_what_is_known_is_bounded_and_the_oldest_is_forgotten_first() -> None:
    known = KnownUrls(most=100)
    for key in range(1_000):
        known.add([key])
        assert key in known
        assert len(known) <= 202
    assert 999 in known
    assert 900 in known
    assert 1 not in known
