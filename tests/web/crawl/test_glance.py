"""Glance: everything that a crawler takes from a page by one parse, and what no page can do to it."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.crawl.crawl_view import (
    MAX_LINE_CHARS,
    MAX_LINK_CHARS,
    MAX_TEXT_CHARS,
    CrawlView,
    outlined_text_of,
    view_page,
)
from gossamer.web.crawl.fingerprint import fingerprint
from gossamer.web.pages.page import Page
from gossamer.web.robots.directives import Directives

URL = "https://site.example/docs/page.html?x=1"


def seen(
    html: str | bytes,
    *headers: tuple[str, str],
    url: str = URL,
    media_type: str = "text/html",
    max_links: int = 1_000,
) -> CrawlView:
    body = html.encode() if isinstance(html, str) else html
    page = Page(
        url=url,
        final_url=url,
        status=200,
        headers=headers,
        body=body,
        media_type=media_type,
        charset="utf-8",
    )
    found = view_page(page, agent="GossamerBot/1.0", max_links=max_links)
    assert " ".join(found.text.split()) == outlined_text_of(page).text
    return found


def test_what_the_head_says() -> None:
    found = seen(
        """<!doctype html><html lang="de-AT"><head><meta charset=utf-8><title> A
        page </title><title>Another</title><META NAME="Description" content=" What  it is ">
        <meta property="og:description" content="not this"><link rel="Canonical" href="/docs/#x"></head>
        <body><svg><title>drawing</title></svg>"""
    )
    assert (found.title, found.description, found.language) == ("A page", "What it is", "de-AT")
    assert found.canonical == "https://site.example/docs/"
    assert found.links == ("https://site.example/docs/",)


def test_what_the_head_says_after_a_stray_element_ended_it() -> None:
    found = seen(
        "<html><head><div>stray</div><title>Late</title><meta name=robots content=noindex>"
        "<link rel=canonical href=/c></head><body>text</body></html>"
    )
    assert (found.title, found.canonical, found.directives.noindex) == (
        "Late",
        "https://site.example/c",
        True,
    )


def test_what_the_body_says_is_not_the_heads() -> None:
    found = seen(
        "<head><title>Head</title></head><body><link rel=canonical href=/x><meta name=robots content=none>"
    )
    assert (found.canonical, found.directives) == ("", Directives())


@pytest.mark.parametrize(
    ("html", "header", "language"),
    [
        ("<html lang=en>", "fr", "en"),
        ("<html xml:lang='pt_BR'>", "", "pt-BR"),
        ("<meta http-equiv=Content-Language content='nl, en'>", "fr", "nl"),
        ("<p>x", "fr, en", "fr"),
        ("<html lang='{{lang}}'>", "", ""),
        ("<p>x", "", ""),
    ],
)
def test_language(html: str, header: str, language: str) -> None:
    assert seen(html, ("content-language", header)).language == language


def test_the_text_is_what_is_seen() -> None:
    found = seen(
        "<title>t</title><body>One<p>two <b>three</b>\n\n four<script>no</script><style>no</style>"
        "<noscript>no</noscript><template>no</template><svg><text>no</text></svg><p hidden>no</p>"
        "<div style='color:red;display:none'>no</div><!-- no --><textarea>five</textarea>&nbsp;six"
    )
    assert found.text == "One two three four five six"
    assert found.content_hash == sha256(b"Onetwothreefourfive\xc2\xa0six").hexdigest()
    assert found.fingerprint == fingerprint("One two three four five \u00a0six")


def test_white_space_does_not_change_what_identifies_a_text() -> None:
    words = [f"word{number}" for number in range(2_000)]  # a long text, whose white space is left
    lines = "\n\t".join(words)
    one, other = seen(f"<p>{' '.join(words)}</p>"), seen(f"<div>\n  {lines}\n</div>")
    assert one.text != other.text
    assert (one.content_hash, one.fingerprint) == (other.content_hash, other.fingerprint)


def test_pages_that_say_the_same_have_the_same_hashes() -> None:
    one, other = seen("<title>a</title><p>The  same</p>"), seen("<h1>The</h1>\n<script>1</script><b>same</b>")
    assert (one.content_hash, one.fingerprint) == (other.content_hash, other.fingerprint)


def test_links_are_absolute_without_fragments_and_each_is_there_once() -> None:
    found = seen(
        """<a href="a">1</a><a href="./a#x">2</a><a href="../b?y=1&amp;z">3</a><a href="//other.example">4</a>
        <a href=" /c d ">5</a><area href="/map"><a href="?q">6</a><a href="HTTP://SITE.example:80/up">7</a>
        <a href="#top">8</a><a href="">9</a><a name="x">10</a><a href>11</a>"""
    )
    assert found.links == (
        "https://site.example/docs/a",
        "https://site.example/b?y=1&z",
        "https://other.example/",
        "https://site.example/c%20d",
        "https://site.example/map",
        "https://site.example/docs/page.html?q",
        "http://site.example/up",
    )
    assert found.followed == found.links
    assert not found.cut


@pytest.mark.parametrize(
    "reference",
    [
        "mailto:a@b.example",
        "tel:1",
        "javascript:void(0)",
        "java\nscript:x",
        "data:text/html,x",
        "ftp://a.example/",
        "http://[",
        "https://",
        "x" * (MAX_LINK_CHARS + 1),
    ],
)
def test_what_cannot_be_crawled_is_no_link(reference: str) -> None:
    assert seen(f"<a href='{reference}'>x</a><a href=/ok>").links == ("https://site.example/ok",)


def test_other_ways_to_lead_on() -> None:
    found = seen(
        """<link rel=alternate hreflang=de href=/de><link rel="alternate stylesheet" href=/s.css>
        <link rel=next href=/2><link rel=stylesheet href=/t.css><link rel=icon href=/i>
        <meta http-equiv=Refresh content="3; URL='/moved'">""",
        ("link", '</c>; rel="canonical", </style.css>; rel=preload, <//x.example/>; rel=alternate'),
    )
    assert set(found.links) == {
        "https://site.example/de",
        "https://site.example/2",
        "https://site.example/moved",
        "https://site.example/c",
        "https://x.example/",
    }
    assert found.canonical == "https://site.example/c"
    frames = seen("<frameset><frame src=menu.html><frame src=/main.html></frameset>")
    assert frames.links == ("https://site.example/docs/menu.html", "https://site.example/main.html")


def test_the_base_of_a_page() -> None:
    assert seen("<base href=/other/><a href=x>").links == ("https://site.example/other/x",)
    assert seen("<base href='http://b.example'><a href=x>").links == ("http://b.example/x",)
    assert seen("<base href='javascript:x'><a href=x>").links == ("https://site.example/docs/x",)
    assert seen("<base target=_top><a href=x>").links == ("https://site.example/docs/x",)


def test_links_that_the_page_does_not_vouch_for() -> None:
    found = seen(
        "<a rel='nofollow noopener' href=/a><a rel=NoFollow href=/b><a href=/b><a rel=nofollow href=/b>"
        "<a rel=ugc href=/c><a rel=nofollow href=/a#x>"
    )
    assert found.nofollowed == {"https://site.example/a"}
    assert found.followed == ("https://site.example/b", "https://site.example/c")
    assert len(found.links) == 3


@pytest.mark.parametrize(
    ("html", "header", "expected"),
    [
        ("<meta name=robots content='noindex,nofollow'>", "", Directives(True, True)),
        ("<meta name=gossamerbot content=nofollow>", "", Directives(False, True)),
        ("<meta name=robots content=all><meta name=robots content=noindex>", "", Directives(True, False)),
        ("", "googlebot: noindex, gossamerbot: noindex", Directives(True, False)),
        ("<meta name=robots content=nofollow>", "noindex", Directives(True, True)),
    ],
)
def test_what_the_page_asks_of_robots(html: str, header: str, expected: Directives) -> None:
    found = seen(f"{html}<a href=/x>", ("x-robots-tag", header))
    assert found.directives == expected
    assert found.links == ("https://site.example/x",)
    assert bool(found.followed) is not expected.nofollow


def test_only_so_many_links_are_taken() -> None:
    html = "".join(f"<a href=/{number}>" for number in range(50))
    found = seen(html, max_links=10)
    assert (len(found.links), found.cut) == (10, True)
    assert not seen(html, max_links=50).cut


def test_what_is_no_html_has_text_or_not() -> None:
    plain = seen("a <a href=/x>b</a>  c", media_type="text/plain")
    assert (plain.text, plain.links, plain.title) == ("a <a href=/x>b</a> c", (), "")
    picture = seen(b"\x89PNG\r\n\x1a\n\x00\x00", ("x-robots-tag", "noindex"), media_type="image/png")
    assert (picture.text, picture.fingerprint) == ("", "")
    assert picture.content_hash == sha256(b"\x89PNG\r\n\x1a\n\x00\x00").hexdigest()
    assert picture.directives.noindex
    assert seen("", media_type="text/html").text == ""


def test_values_are_bounded() -> None:
    long = seen("word " * (MAX_TEXT_CHARS // 5 + 100))
    assert (long.text.count("word"), long.cut) == (MAX_TEXT_CHARS // 5, True)
    found = seen(f"<title>{'t' * 9_000}</title><meta name=description content='{'d' * 9_000}'>")
    assert (len(found.title), len(found.description)) == (MAX_LINE_CHARS, MAX_LINE_CHARS)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000,
        "<p><b><i><u>" * 30_000,
        "".join(f"<p><b class={number}>" for number in range(20_000)),
        "<a href=x " + " ".join(f"a{number}" for number in range(50_000)) + ">y",
        "<table><tr><td>" * 30_000,
        "<select>" + "<option>x" * 50_000,
    ],
)
def test_bombs_are_read_too(html: str) -> None:
    found = seen(f"<title>Bomb</title><a href=/first>{html}")
    assert (found.title, found.cut) == ("Bomb", True)
    assert "https://site.example/first" in found.links


@given(st.text(), st.sampled_from(["", "<html>", "<head>", "<a href='", "<meta content='", "<frameset>"]))
def test_any_text_can_be_glanced_at(text: str, before: str) -> None:
    found = seen(before + text)
    assert all(url.startswith(("http://", "https://")) for url in found.links)


@given(st.binary())
def test_any_bytes_can_be_glanced_at(body: bytes) -> None:
    assert len(seen(body).content_hash) == 64
    assert len(seen(b"<html>" + body).content_hash) == 64
