"""SiteLinks: each page of a site once, and the ranking by words."""

from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.site_links import SiteLinks, rank
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.url.url import Url


def links(room: int = 100, *, ignores_query: bool = False, subdomains: bool = False) -> SiteLinks:
    spec = CrawlSpec(seeds=("https://www.a.example/",), scope="domain" if subdomains else "host")
    return SiteLinks(Scope.of(spec), ignores_query, room)


def shown(some: SiteLinks) -> list[str]:
    return [link.url.href for link in some]


def test_one_page_is_one_link_however_it_is_written() -> None:
    some = links()
    for text in (
        "https://a.example/x?b=1&a=2#part",
        "http://a.example/x/?a=2&b=1&utm_source=s",
        "/x?a=2&b=1",
    ):
        assert some.add(text, base=Url.parse("https://a.example/"))
    assert shown(some) == ["https://a.example/x?a=2&b=1"]
    assert not some.add("https://b.example/")
    assert not some.add("https://docs.a.example/")
    assert not some.add("javascript:alert(1)")
    assert links(subdomains=True).add("https://docs.a.example/")


def test_a_query_may_be_ignored() -> None:
    some = links(ignores_query=True)
    some.add("https://a.example/x?page=1")
    some.add("https://a.example/x?page=2")
    assert shown(some) == ["https://a.example/x"]


def test_what_a_page_calls_itself_counts_more_than_what_others_call_it() -> None:
    some = links()
    some.add("https://a.example/x", "click here")
    some.add("https://a.example/x", "another text")
    assert [link.title for link in some] == ["click here"]
    some.describe(Url.parse("https://a.example/x"), "The title", "What it is")
    assert [(link.title, link.description) for link in some] == [("The title", "What it is")]


def test_there_is_room_for_so_many() -> None:
    some = links(room=1)
    some.add("https://a.example/1")
    assert (some.is_full, some.is_cut) == (True, False)
    some.add("https://a.example/1/")
    assert not some.is_cut
    some.add("https://a.example/2")
    assert (shown(some), some.is_cut) == (["https://a.example/1"], True)


def test_links_with_more_of_the_words_come_first() -> None:
    some = links()
    some.add("https://a.example/one", "Silk")
    some.add("https://a.example/caf%C3%A9-prices", "Nothing")
    some.add("https://a.example/two", "Prices of silk")
    some.add("https://a.example/three", "Tea")
    ranked = [link.url.path for link in rank(some, "CAFÉ silk prices")]
    assert ranked == ["/two", "/caf%C3%A9-prices", "/one"]
