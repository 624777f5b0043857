"""Sitemaps: what they list, how they are packed, and what they cannot do to who reads them."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.robots.sitemap import (
    MAX_GZIP_MEMBERS,
    MAX_IMAGES,
    MAX_SITEMAP_BYTES,
    MAX_SITEMAP_ENTRIES,
    MAX_VALUE_CHARS,
    SitemapEntry,
    read,
)

SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def listing(*entries: str, root: str = "urlset", **spaces: str) -> bytes:
    declared = "".join(f' xmlns:{name}="{space}"' for name, space in spaces.items())
    return f'<?xml version="1.0"?><{root} xmlns="{SPACE}"{declared}>{"".join(entries)}</{root}>'.encode()


def test_pages_with_when_they_changed() -> None:
    found = read(
        listing(
            "<url><loc> https://a.example/1\n</loc><lastmod>2024-05-01</lastmod><priority>0.5</priority></url>",
            "<url><lastmod>2024-05-01T10:00:00+02:00</lastmod><loc>https://a.example/2?x=1&amp;y=2</loc></url>",
            "<url><loc><![CDATA[https://a.example/3]]></loc></url>",
        )
    )
    assert found.entries == (
        SitemapEntry("https://a.example/1", "2024-05-01"),
        SitemapEntry("https://a.example/2?x=1&y=2", "2024-05-01T10:00:00+02:00"),
        SitemapEntry("https://a.example/3"),
    )
    assert found.urls[1] == "https://a.example/2?x=1&y=2"
    assert (found.is_index, found.problem) == (False, "")


def test_an_index_lists_sitemaps() -> None:
    entry = "<sitemap><loc>https://a.example/s.xml.gz</loc><lastmod>2024</lastmod></sitemap>"
    found = read(listing(entry, "<url><loc>https://a.example/no</loc></url>", root="sitemapindex"))
    assert found.is_index
    assert found.entries == (SitemapEntry("https://a.example/s.xml.gz", "2024"),)


@pytest.mark.parametrize(
    "space", ["http://www.google.com/schemas/sitemap-image/1.1", "https://misspelt.example"]
)
def test_images_are_told_and_are_no_pages(space: str) -> None:
    image = "<i:image><i:loc>https://a.example/{}.png</i:loc><i:title>x</i:title></i:image>"
    entry = f"<url>{image.format(1)}<loc>https://a.example/</loc>{image.format(2)}</url>"
    (found,) = read(listing(entry, i=space)).entries
    assert found == SitemapEntry(
        "https://a.example/", images=("https://a.example/1.png", "https://a.example/2.png")
    )
    crowded = listing(
        f"<url><loc>https://a.example/</loc>{image.format(1) * (MAX_IMAGES + 1)}</url>", i=space
    )
    assert len(read(crowded).entries[0].images) == MAX_IMAGES


def test_news_tell_headline_and_date() -> None:
    news = (
        "<n:news><n:publication><n:name>The Example</n:name></n:publication>"
        "<n:publication_date>2024-05-01</n:publication_date><n:title>A &amp; B</n:title></n:news>"
    )
    (found,) = read(listing(f"<url><loc>https://a.example/n</loc>{news}</url>", n="urn:news")).entries
    assert (found.published, found.headline) == ("2024-05-01", "A & B")


def test_namespaces_are_not_asked_for() -> None:
    assert read(b"<urlset><url><loc>https://a.example/</loc></url></urlset>").urls == ("https://a.example/",)
    assert read(b"<urlset><url><a><loc>https://a.example/</loc></a></url></urlset>").urls == ()


def test_plain_text_is_an_address_a_line() -> None:
    found = read(b"\xef\xbb\xbfhttps://a.example/1\r\nhttp://a.example/2\nftp://a.example/\n\n")
    assert found.urls == ("https://a.example/1", "http://a.example/2")
    assert read(b"not a sitemap").problem == "it is not a sitemap"
    assert read(b"").problem == "it is not a sitemap"
    assert read(b"<html><body>Not found</body></html>").problem == "it is not a sitemap"


# Packed.


def test_gzip_also_in_several_members() -> None:
    body = listing("<url><loc>https://a.example/</loc></url>")
    assert read(gzip.compress(body)).urls == ("https://a.example/",)
    assert read(gzip.compress(body[:50]) + gzip.compress(body[50:])).urls == ("https://a.example/",)


def test_what_is_cut_off_is_read_as_far_as_it_goes() -> None:
    body = listing(
        *(f"<url><loc>https://a.example/{zlib.crc32(b'%d' % n)}</loc></url>" for n in range(5_000))
    )
    packed = gzip.compress(body)
    found = read(packed[: len(packed) // 2])
    assert found.problem == "it ends too early"
    assert 1_000 < len(found.entries) < 4_000
    assert read(packed[:40] + b"\xff" * 100).problem == "it cannot be unpacked"


# Bombs.


def test_a_bomb_is_not_unpacked() -> None:
    packing = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packing.compress(b" " * 1_000_000) for _ in range(MAX_SITEMAP_BYTES // 1_000_000 + 2))
    found = read(bomb + packing.flush())
    assert (found.entries, found.problem) == ((), "it is larger than 50 MB")
    assert read(gzip.compress(b"") * (MAX_GZIP_MEMBERS + 1)).problem == "it is packed in too many pieces"


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://127.0.0.1/x.dtd"> %a;',
    ],
)
def test_entities_are_refused(declared: str) -> None:
    body = f"<!DOCTYPE urlset [{declared}]><urlset><url><loc>https://a.example/&a;</loc></url></urlset>"
    found = read(body.encode())
    assert (found.entries, found.problem) == ((), "it has a DOCTYPE")


def test_depth_number_and_length_are_bounded() -> None:
    assert read(b"<a>" * 300).problem == "it is nested too deeply"
    many = read(listing("<url><loc>https://a.example/</loc></url>" * (MAX_SITEMAP_ENTRIES + 1)))
    assert (len(many.entries), many.problem) == (MAX_SITEMAP_ENTRIES, "it has more than 50,000 entries")
    assert len(read(b"https://a.example/\n" * (MAX_SITEMAP_ENTRIES + 1)).entries) == MAX_SITEMAP_ENTRIES
    assert (
        len(read(listing(f"<url><loc>https://a.example/{'a' * 9_000}</loc></url>")).urls[0])
        == MAX_VALUE_CHARS
    )


def test_what_is_not_well_formed_is_read_up_to_there() -> None:
    found = read(b"<urlset><url><loc>https://a.example/1</loc></url><url><loc>https://a.example/2</url>")
    assert found.urls == ("https://a.example/1",)
    assert found.problem.startswith("it is not well formed")
    listed = (
        b'<?xml version="1.0" encoding="klingon"?><urlset><url><loc>https://a.example/</loc></url></urlset>'
    )
    assert read(listed).urls == ("https://a.example/",)


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(body: bytes) -> None:
    read(body)
    read(b"\x1f\x8b\x08" + body)
    read(b"<urlset>" + body)


URL = "<url><loc>https://a.example/1</loc></url>"
MISTAKES = {
    "a raw ampersand": "<urlset><url><loc>https://a.example/?a=1&b=2</loc></url></urlset>",
    "an undeclared prefix": f"<urlset><url><loc>https://a.example/1</loc><image:image/></url>{URL}</urlset>",
    "blanks before the declaration": f" \n<?xml version='1.0'?><urlset>{URL}</urlset>",
    "a warning before it": f"<br /><b>Warning</b>: x in a.php<?xml version='1.0'?><urlset>{URL}</urlset>",
    "words before it": f"Notice: a & b <?xml version='1.0'?><urlset>{URL}</urlset>",
    "a DOCTYPE without declarations": f'<!DOCTYPE urlset SYSTEM "http://localhost/x.dtd"><urlset>{URL}</urlset>',
    "entities of HTML": "<urlset><url><loc>https://a.example/&uuml;&nbsp;</loc></url></urlset>",
    "a control character": f"<urlset>\x08{URL}</urlset>",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_with_one_meaning_is_repaired(name: str) -> None:
    found = read(MISTAKES[name].encode())
    assert (bool(found.urls), found.problem) == (True, "")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_read(encoding: str) -> None:
    assert read(f"<urlset>{URL}</urlset>".encode(encoding)).urls == ("https://a.example/1",)


@pytest.mark.parametrize(
    "feed",
    [
        "<rss><channel><link>https://a.example/</link><item><link>/1</link></item></channel></rss>",
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="https://a.example/1"/></entry></feed>',
        '<!DOCTYPE rss PUBLIC "-//N//DTD" "http://x/rss.dtd"><rss><item><link>https://a.example/1</link></item></rss>',
    ],
)
def test_a_feed_is_a_sitemap(feed: str) -> None:
    assert read(feed.encode()).urls == ("https://a.example/1",)
