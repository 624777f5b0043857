"""Checks of a site as a whole: what each finds, where, and what it must not find."""

from typing import Any, Final

import pytest
from msgspec.structs import replace
from tests.web.audit.audit_subjects import page as page_of
from tests.web.audit.audit_subjects import subject
from tests.web.audit.site_pages import NAMES, Spoil, answer, at, gone, good, moved, page, site, version

from gossamer.web.audit.check import Unanswered
from gossamer.web.audit.checks import SITE_CHECKS
from gossamer.web.audit.site.addresses import MANY_QUERIES
from gossamer.web.audit.site.site import Site, SiteLink, SitePage
from gossamer.web.audit.site.site_page import (
    CIRCLE,
    normalise,
    resolve_redirects,
    summarise,
    summarise_unread,
)
from gossamer.web.crawl.fingerprint import fingerprint
from gossamer.web.html.resources import Resource

ALL: Final = tuple(at(name) for name in ("", *NAMES))
ALIKE: Final = " ".join(f"word{number}" for number in range(300)) + " and {}"  # one word is its own


def changed(path: str, **changes: Any) -> Spoil:
    """The good site, one page of it changed."""
    pages = tuple(replace(one, **changes) if one.url == at(path) else one for one in good().pages)
    return lambda: replace(good(), pages=pages)


def every(**changes: Any) -> Spoil:
    return lambda: replace(good(), pages=tuple(replace(one, **changes) for one in good().pages))


def more(*pages: SitePage, **changes: Any) -> Spoil:
    return lambda: site(*pages, **changes)


def loading(resource: Resource, wrong: str) -> Spoil:
    """The good site with a page that loads something, which was tried."""
    return lambda: replace(
        site(page("gallery", "", *NAMES, resources=(resource,))), tried_resources={resource: wrong}
    )


def chain(length: int) -> Spoil:
    """Pages that each link to the next, behind the start."""
    names = [f"step{number}" for number in range(1, length + 1)]
    steps = [page(name, after) for name, after in zip(names, [*names[1:], ""], strict=True)]
    start = replace(good().pages[0], links=(*good().pages[0].links, SiteLink(at("step1"))))
    return lambda: site(start, *steps, linked=False)


# What is wrong, and the pages where it is: none for the whole site.
FAULTS: Final[list[tuple[str, Spoil, set[str]]]] = [
    ("site-unread", lambda: replace(good(), pages=()), set()),
    ("site-unread", lambda: replace(good(), pages=(gone("", None, blocked=True),)), set()),
    ("site-unread", lambda: replace(good(), pages=(gone("", 503),)), set()),
    ("pages-failing", more(gone("orb", 503)), {"orb"}),
    ("pages-failing", more(gone("orb", None, problem="timeout")), {"orb"}),
    ("redirects-long", more(moved("old", "orb", 2)), {"old"}),
    ("missing-is-found", lambda: replace(good(), missing_status=200), set()),
    ("titles-shared", changed("orb", title="About  FUNNEL"), {"orb", "funnel"}),
    ("descriptions-shared", every(description="We know spiders."), {"", *NAMES}),
    ("headings-shared", changed("orb", heading="The sheet"), {"orb", "sheet"}),
    ("content-shared", changed("orb", content_hash="hash of funnel"), {"orb", "funnel"}),
    (
        "content-alike",
        lambda: site(*(page(path, fingerprint=fingerprint(ALIKE.format(path))) for path in "abc")),
        {"a", "b", "c"},
    ),
    ("content-thin-often", every(words=20), {"", *NAMES}),
    ("canonical-dead", more(page("copy", canonical=at("x")), gone("x")), {"copy"}),
    ("canonical-redirects", more(page("copy", canonical=at("old")), moved("old", "orb")), {"copy"}),
    ("canonical-chain", more(page("a", canonical=at("b")), page("b", canonical=at("orb"))), {"a"}),
    ("canonical-hidden", more(page("a", canonical=at("b")), page("b", noindex=True)), {"a"}),
    ("canonical-hidden", more(page("a", canonical=at("b")), gone("b", None, blocked=True)), {"a"}),
    ("canonical-one-for-all", every(canonical=at("")), set(NAMES)),
    (
        "canonical-disagree",
        more(page("a", content_hash="one"), page("b", content_hash="one")),
        {"a", "b"},
    ),
    ("sitemap-incomplete", more(page("new"), listed=False), {"new"}),
    ("sitemap-dead", more(gone("old"), linked=False), {"old"}),
    ("sitemap-redirects", more(moved("old", "orb"), linked=False), {"old"}),
    ("sitemap-noindex", changed("orb", noindex=True), {"orb"}),
    ("sitemap-not-canonical", changed("orb", canonical=at("sheet")), {"orb"}),
    ("sitemap-blocked", more(gone("private", None, blocked=True), linked=False), {"private"}),
    ("sitemap-foreign", lambda: replace(good(), listed=(*ALL, "https://www.notes.example/")), set()),
    ("sitemap-foreign", lambda: replace(good(), listed=(*ALL, "http://notes.example/")), set()),
    ("sitemap-unseen", lambda: replace(good(), listed=(*ALL, at("later"))), set()),
    ("noindex-much", every(noindex=True), {"", *NAMES}),
    (
        "noindex-hub",
        more(page("tags", "", "hidden", noindex=True), page("hidden", "tags"), linked=False),
        {"hidden"},
    ),
    ("hreflang-one-way", more(version("en", "en", ("de", "de")), version("de", "de")), {"de"}),
    ("hreflang-dead", more(version("en", "en", ("de", "de")), gone("de")), {"en"}),
    ("hreflang-not-shown", more(version("en", "en", ("de", "old")), moved("old", "orb")), {"en"}),
    (
        "hreflang-not-shown",
        more(version("en", "en", ("de", "de")), version("de", "de", ("en", "en"), noindex=True)),
        {"en"},
    ),
    ("hreflang-disagree", more(version("en", "en", ("de", "de")), version("de", "fr")), {"de"}),
    ("site-links-broken", more(gone("gone")), {"", *NAMES}),
    ("site-links-broken", more(gone("gone", None, problem="refused")), {"", *NAMES}),
    (
        "site-links-broken-outside",
        lambda: replace(
            site(page("sources", "", *NAMES, "https://dead.example/")),
            tried_links={"https://dead.example/": "404", "https://library.example/": ""},
        ),
        {"sources"},
    ),
    ("site-images-broken", loading(Resource(at("a.png"), "image"), "404"), {"gallery"}),
    ("site-resources-broken", loading(Resource(at("a.js"), "script"), "404"), {"gallery"}),
    ("site-resources-broken", loading(Resource(at("a.css"), "style"), "a page, not a style"), {"gallery"}),
    ("site-links-redirected", more(moved("old", "orb")), {"", *NAMES}),
    ("site-links-blocked", more(gone("cart", None, blocked=True)), {"", *NAMES}),
    ("pages-orphaned", more(page("lost"), linked=False), {"lost"}),
    (
        "pages-nofollowed",
        lambda: site(page("index", "", "quiet", nofollow=True), page("quiet"), linked=False),
        {"quiet"},
    ),
    ("pages-deep", chain(6), {"step5", "step6"}),
    ("pages-linked-once", chain(1), {"step1"}),
    ("addresses-slash", more(page("orb/")), {"orb", "orb/"}),
    ("addresses-case", more(page("Orb")), {"orb", "Orb"}),
    ("addresses-index", more(page("index.html")), {"", "index.html"}),
    (
        "addresses-endless",
        more(*(page(f"find?page={number}") for number in range(MANY_QUERIES + 1))),
        {f"find?page={number}" for number in range(MANY_QUERIES + 1)},
    ),
    ("llms-txt-dead", lambda: replace(site(gone("guide")), llms_urls=(at("orb"), at("guide"))), {"guide"}),
    (
        "llms-txt-hidden",
        lambda: replace(site(gone("guide", None, blocked=True)), llms_urls=(at("guide"),)),
        {"guide"},
    ),
]


def pages_of(found: Any) -> set[str]:
    assert not isinstance(found, Unanswered), found.reason
    assert all(hit.text for hit in found)
    return {url for hit in found for url in hit.urls}


@pytest.mark.parametrize("check", SITE_CHECKS, ids=lambda check: check.id)
def test_nothing_is_wrong_with_the_good_site(check: Any) -> None:
    found = check.ask(good())
    assert found == [] or (isinstance(found, Unanswered) and found.harmless)


@pytest.mark.parametrize(("identity", "spoil", "where"), FAULTS)
def test_a_fault_is_found_where_it_is(identity: str, spoil: Spoil, where: set[str]) -> None:
    found = answer(identity, spoil())
    assert found
    assert pages_of(found) == {at(path) for path in where}


def test_every_check_has_a_fault_that_it_finds() -> None:
    assert {identity for identity, _, _ in FAULTS} == {check.id for check in SITE_CHECKS}


# What looks alike and is not wrong.

HARMLESS: Final[list[tuple[str, Spoil]]] = [
    ("pages-failing", more(gone("gone"))),
    ("pages-failing", more(gone("cart", None, blocked=True))),
    ("redirects-long", more(moved("old", "orb"))),
    ("titles-shared", more(page("copy", title="About orb", canonical=at("orb")))),
    ("titles-shared", more(page("hidden", title="About orb", noindex=True))),
    ("titles-shared", more(moved("old", "orb"))),
    ("titles-shared", every(title="")),
    ("content-shared", more(page("copy", content_hash="hash of orb", canonical=at("orb")))),
    ("content-shared", more(moved("old", "orb"))),
    ("content-alike", more(page("a", fingerprint="1", words=9), page("b", fingerprint="1", words=9))),
    ("content-alike", more(page("a", fingerprint=""), page("b", fingerprint=""))),
    ("content-thin-often", changed("orb", words=20)),
    ("canonical-dead", every(canonical="")),
    (
        "canonical-one-for-all",
        more(*(page(f"orb?{n}", title="About orb", canonical=at("orb")) for n in "ab")),
    ),
    ("sitemap-incomplete", more(page("hidden", noindex=True), listed=False)),
    ("sitemap-incomplete", more(page("copy", canonical=at("orb")), listed=False)),
    ("sitemap-incomplete", more(gone("gone"), listed=False)),
    ("sitemap-dead", more(gone("members", 403), linked=False)),
    ("sitemap-unseen", lambda: replace(good(), listed=(*ALL, "https://other.example/"))),
    ("noindex-much", changed("orb", noindex=True)),
    ("hreflang-one-way", more(version("en", "en", ("de", "de")), version("de", "de", ("en", "en")))),
    ("hreflang-one-way", more(version("en", "en", ("de", "elsewhere")))),
    ("hreflang-disagree", more(version("en", "en", ("de", "de")), version("de", "de-AT"))),
    ("hreflang-disagree", more(version("en", "en", ("x-default", "en")))),
    ("site-links-broken", more(gone("members", 401))),
    ("site-images-broken", loading(Resource(at("a.png"), "image"), "")),
    ("site-images-broken", loading(Resource(at("a.js"), "script"), "404")),
    ("site-resources-broken", loading(Resource(at("a.png"), "image"), "404")),
    ("site-links-broken", more(gone("old"), linked=False)),
    ("pages-orphaned", more(page("hidden", noindex=True), linked=False)),
    ("pages-deep", chain(4)),
    ("addresses-slash", more(page("orb/", canonical=at("orb")))),
    ("addresses-case", more(moved("Orb", "orb"))),
    ("addresses-endless", more(*(page(f"find?page={number}") for number in range(9)))),
]


@pytest.mark.parametrize(("identity", "spoil"), HARMLESS)
def test_what_is_no_fault_is_not_found(identity: str, spoil: Spoil) -> None:
    found = answer(identity, spoil())
    assert isinstance(found, Unanswered) or found == []


@pytest.mark.parametrize("identity", ["pages-orphaned", "pages-nofollowed", "pages-deep", "noindex-hub"])
def test_who_has_not_seen_all_does_not_guess(identity: str) -> None:
    found = answer(identity, site(page("lost"), linked=False, is_complete=False))
    assert isinstance(found, Unanswered)
    assert not found.harmless


@pytest.mark.parametrize("check", SITE_CHECKS, ids=lambda check: check.id)
def test_a_site_without_pages_has_no_faults(check: Any) -> None:
    for empty in (Site(start=at(""), pages=()), Site(start="nonsense", pages=(gone("", None),))):
        found = check.ask(empty)
        assert isinstance(found, Unanswered) or not found or check.id in ("pages-failing", "site-unread")


# The site itself.


def test_clicks_go_through_redirects_and_only_over_pages() -> None:
    start = page("", "old", "gone")
    spoilt = Site(
        start=at(""), pages=(start, moved("old", "orb"), gone("gone"), page("orb", "far"), page("far"))
    )
    assert spoilt.clicks == {at(""): 0, at("orb"): 1, at("far"): 2}


def test_a_page_of_several_addresses_is_one() -> None:
    known = site(moved("old", "orb"), moved("older", "orb"))
    assert [one.final_url for one in known.documents].count(at("orb")) == 1
    assert at("old") not in {one.url for one in known.documents}
    only = Site(start=at("old"), pages=(moved("old", "orb"),))
    assert [one.final_url for one in only.documents] == [at("orb")]
    assert only.at[at("orb")] is only.pages[0]


def test_one_link_that_may_be_followed_is_enough() -> None:
    both = page("both", links=(SiteLink(at("quiet"), True), SiteLink(at("quiet"))))
    assert site(both, page("quiet")).links_to[at("quiet")][at("both")]


# What is learnt of a page.


def test_a_page_is_seen_as_its_site_needs_it() -> None:
    found = summarise(subject())
    assert found.url == "https://notes.example/mending"
    assert found.final_url == found.canonical == "https://notes.example/spiders/mending"
    assert (found.status, found.redirects, found.media_type) == (200, 1, "text/html")
    assert found.title == "How orb weavers mend their webs | Field Notes"
    assert found.heading == "How orb weavers mend their webs"
    assert found.description
    assert found.content_hash
    assert found.fingerprint
    assert (found.words or 0) > 200
    assert SiteLink("https://notes.example/spiders/method") in found.links
    assert not found.noindex


def test_directives_links_and_versions_are_seen() -> None:
    html = """<title>x</title><meta name=robots content="noindex, nofollow">
    <link rel=canonical href="/b#part"><link rel=alternate hreflang=de href="/de?utm_source=x">
    <a href="/a" rel=nofollow>a</a> <a href="/a#b">a</a> <a href="/c?b=2&amp;a=1" rel="nofollow">c</a>
    <a href="mailto:x@y.example">m</a> <a href="http://[">broken</a>
    <a href="https://other.example/?b&amp;a#c">o</a>"""
    found = summarise(subject(html, final_url="https://notes.example/x"))
    assert (found.noindex, found.nofollow) == (True, True)
    assert found.canonical == "https://notes.example/b"
    assert found.versions == (("de", "https://notes.example/de"),)
    assert found.links == (
        ("https://notes.example/a", False),
        ("https://notes.example/c?a=1&b=2", True),
        ("https://other.example/?b&a", False),
    )


def test_of_what_cannot_be_read_its_status_is_known() -> None:
    found = summarise_unread(page_of(media_type="image/png", status=503))
    assert (found.status, found.is_html, found.title) == (503, False, "")
    assert normalise("no address") == "no address"


# Redirects, of which each step is known.


def step(path: str, to: str, status: int = 301) -> SitePage:
    return SitePage(url=at(path), final_url=at(to), status=status)


def test_redirects_end_at_their_page() -> None:
    first, second, there = resolve_redirects([step("a", "b"), step("b", "orb", 302), page("orb", "")])
    assert (first.url, first.final_url, first.redirects, first.status) == (at("a"), at("orb"), 2, 200)
    assert (second.redirects, second.title, there.redirects) == (1, "About orb", 0)


def test_redirects_that_end_nowhere_are_told_apart() -> None:
    circle, _, gone_page, outside, itself = resolve_redirects(
        [step("a", "b"), step("b", "a"), step("c", "gone"), step("d", "far"), step("e", "e"), gone("gone")]
    )[:5]
    assert (circle.status, circle.problem, circle.is_broken) == (None, CIRCLE, True)
    assert (gone_page.status, gone_page.is_broken, gone_page.redirects) == (404, True, 1)
    assert (outside.status, outside.final_url, outside.is_broken) == (301, at("far"), False)
    assert itself.status == 301


def test_a_long_way_comes_to_an_end() -> None:
    steps = [step(f"s{number}", f"s{number + 1}") for number in range(5_000)]
    assert resolve_redirects(steps)[0].problem == CIRCLE
