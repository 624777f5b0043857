"""Which pages are worth being parsed in search of a link, and which links lead there."""

import pytest

from gossamer.web.crawl.graph.link_search import LinkSearch
from gossamer.web.html.links import Link
from gossamer.web.pages.page import Page
from gossamer.web.url.url import TRACKING, Url

TARGET = "http://a.example/shop/maps-2.html?b=1&a=2"


def page(body: str, url: str = "http://a.example/other", *, charset: str = "utf-8") -> Page:
    raw = body.encode(charset)
    return Page(
        url=url, final_url=url, status=200, headers=(), body=raw, media_type="text/html", charset=charset
    )


@pytest.mark.parametrize(
    ("body", "url"),
    [
        ("<a href='/shop/maps-2.html?a=2&amp;b=1'>", "http://a.example/other"),
        ("<a href='&#x2F;shop&#x2F;maps-2.html?a=2&b=1'>", "http://a.example/other"),
        ("<a href='/shop/ma&#112;s-2.html?a=2&b=1'>", "http://a.example/other"),  # one letter as a number
        ("<a href='/shop/m&#x61;ps-2.html?a=2&b=1'>", "http://a.example/other"),
        ("<a href='/shop/%6Daps-2.html?a=2&b=1'>", "http://a.example/other"),
        ("<a href='?a=2&b=1'>", "http://a.example/shop/maps-2.html"),  # relative to the same path
    ],
)
def test_a_page_with_the_last_part_of_the_path_in_any_spelling_is_parsed(body: str, url: str) -> None:
    assert LinkSearch.of(Url.parse(TARGET)).may_be_on(page(body, url))


def test_a_page_in_another_encoding_is_parsed() -> None:
    assert LinkSearch.of(Url.parse(TARGET)).may_be_on(page("<a href='maps-2.html'>", charset="utf-16-le"))


@pytest.mark.parametrize(
    "body", ["<a href='/shop/'>Shop</a>", "<p>it&#39;s 5 %</p>", "<a href='/s%2Fx?q=a%20b%3A'>&#8217;</a>"]
)
def test_other_pages_are_passed_over(body: str) -> None:
    assert not LinkSearch.of(Url.parse(TARGET)).may_be_on(page(body))


def test_what_is_no_html_is_passed_over() -> None:
    script = Page(
        url="http://a.example/x.js",
        final_url="http://a.example/x.js",
        status=200,
        headers=(),
        body=b"maps-2",
        media_type="text/javascript",
        charset="utf-8",
    )
    assert not LinkSearch.of(Url.parse(TARGET)).may_be_on(script)


@pytest.mark.parametrize(
    "target", ["http://a.example/", "http://a.example/?q=1", "http://a.example/%E6%97%A5"]
)
def test_a_url_without_a_plain_word_may_be_linked_anywhere(target: str) -> None:
    assert LinkSearch.of(Url.parse(target)).may_be_on(page("<p>nothing</p>"))


def test_the_first_link_in_any_spelling_is_found() -> None:
    search = LinkSearch.of(Url.parse(TARGET))
    links = (
        Link("mailto:a@a.example", "mail"),
        Link("http://[", "broken"),
        Link("http://a.example/shop/maps-2.html", "without its query"),
        Link("http://A.example:80/shop/maps-2.html?utm_source=x&a=2&b=1#top", "there"),
        Link(TARGET, "again"),
    )
    assert search.find(links) == links[3]
    assert search.find(links[:3]) is None
    slashless = LinkSearch.of(Url.parse("http://a.example/shop/"), TRACKING, keep_slash=False)
    assert slashless.find((Link("http://a.example/shop", "x"),)) is not None
