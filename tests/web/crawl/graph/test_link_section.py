"""Links as they are noted on a page, and as they are kept."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.crawl.crawl_view import view_page
from gossamer.web.crawl.graph.link_note import LinkPlace
from gossamer.web.crawl.graph.link_section import (
    NotedLink,
    SectionDamaged,
    SectionWriter,
    links_of_pages,
    unpack_section,
)
from gossamer.web.pages.page import Page

PAGE = b"""<html><head><link rel=canonical href=/canonical></head><body>
<header><a href=/logo title=Home><img></a><nav><a href=/menu>Menu</a></nav></header>
<main><a href=/text rel="nofollow  UGC"> Some
  text </a><a href=/menu>again</a><a href=#here>here</a><svg><use href=/sprite.svg /></svg></main>
<aside><a href=/beside>beside</a></aside><footer><a href=/imprint></a><a href=/imprint>Imprint</a></footer>"""


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def page_of(body: bytes) -> Page:
    url = "https://a.test/"
    return Page(
        url=url,
        final_url=url,
        status=200,
        headers=(),
        body=body,
        media_type="text/html",
        charset="utf-8",
    )


def test_text_rel_and_place_of_each_link_are_noted() -> None:
    seen = view_page(page_of(PAGE))
    writer = SectionWriter()
    writer.add(hashed("a"), seen.links, seen.notes)
    [(_, links)] = links_of_pages(unpack_section(writer.pack()), [hashed("a")])
    assert links == [
        NotedLink("https://a.test/logo", "Home", (), LinkPlace.HEADER),
        NotedLink("https://a.test/menu", "Menu", (), LinkPlace.NAV),
        NotedLink("https://a.test/text", "Some text", ("nofollow", "ugc"), LinkPlace.MAIN),
        NotedLink("https://a.test/beside", "beside", (), LinkPlace.ASIDE),
        NotedLink("https://a.test/imprint", "Imprint", (), LinkPlace.FOOTER),
        NotedLink("https://a.test/canonical", "", (), LinkPlace.HEAD),
    ]
    assert "https://a.test/text" in seen.nofollowed


notes = st.tuples(st.text(max_size=20), st.sampled_from(["", "nofollow"]), st.integers(0, 5))


@settings(max_examples=30)
@given(st.lists(st.dictionaries(st.text(max_size=10), notes, max_size=5), max_size=5))
def test_what_is_packed_comes_back(pages: list[dict[str, tuple[str, str, int]]]) -> None:
    writer = SectionWriter((("user-agent", "x"),))
    for number, links in enumerate(pages):
        writer.add(hashed(str(number)), list(links), list(links.values()), sent=(("a", ""),))
    section = unpack_section(writer.pack())
    found = dict(links_of_pages(section, [hashed(str(number)) for number in range(len(pages))]))
    for number, links in enumerate(pages):
        assert [link.url for link in found[hashed(str(number))]] == list(links)
    assert section.request == (("user-agent", "x"),)


def test_equal_links_are_kept_once() -> None:
    one, many = SectionWriter(), SectionWriter()
    urls = [f"https://a.test/{number}" for number in range(100)]
    for number in range(200):
        (one if number == 0 else many).add(hashed(str(number)), urls, [("text", "", 0)] * 100)
    many.add(hashed("first"), urls, [("text", "", 0)] * 100)
    assert len(unpack_section(many.pack()).urls) == 100
    assert len(many.pack()) < len(one.pack()) + 200 * 60


@pytest.mark.parametrize("damage", [lambda packed: packed[:-5], lambda packed: b"x" + packed, lambda _: b""])
def test_a_damaged_section_is_refused(damage) -> None:  # type: ignore[no-untyped-def]
    writer = SectionWriter()
    writer.add(hashed("a"), ["https://a.test/"], [("", "", 0)])
    with pytest.raises(SectionDamaged):
        unpack_section(damage(writer.pack()))
