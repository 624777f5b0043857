"""What the answer of a host means to a crawl."""

import dataclasses
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from gossamer.flows.crawl.plan import AMPLE, MAX_ALIKE, SPARE, CrawlPlan
from gossamer.flows.crawl.seeds import new_url, seeds_of
from gossamer.flows.crawl.visiting.known_urls import KnownUrls
from gossamer.flows.crawl.visiting.page_processor import (
    GENUINE,
    MAX_DENIED,
    MAX_HOPS,
    MAX_NESTED,
    PageProcessor,
)
from gossamer.flows.crawl.visiting.visit import MAX_ATTEMPTS, Visited, VisitEnd, put_off, unanswered
from gossamer.problems import Problem
from gossamer.reach.http.failures import failed, timed_out
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.settings.values import Rate
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.new_urls import HIGH, LOW, NewUrl
from gossamer.state.crawl.settling import CrawlTask
from gossamer.state.kv.hot import Tally
from gossamer.state.tenants.limits import LimitStatus, Policy
from gossamer.web.crawl.fingerprint import Neighbours
from gossamer.web.crawl.parts import take_apart
from gossamer.web.crawl.progress import NO_COUNTS, CrawlCounts
from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Hop, Page
from gossamer.web.robots.robots import Robots
from gossamer.web.url.url import Url

HOME = "http://127.0.0.1/"
OPEN = Robots.parse("")
XML = "application/xml"


def counted(**counts: int) -> CrawlCounts:
    return structs.replace(NO_COUNTS, **counts)


def plan(*, counts: CrawlCounts | None = None, **spec: Any) -> CrawlPlan:
    wanted = CrawlSpec(**{"seeds": (HOME,), "sitemaps": False, **spec})
    crawl = Crawl(
        id="crawl",
        tenant_id="tenant",
        name="",
        state="running",
        is_default=False,
        spec=wanted,
        counts=counts or NO_COUNTS,
        created_at=0,
    )
    return CrawlPlan(crawl, Scope.of(wanted), Neighbours(MAX_ALIKE), salt=7, read_at=0.0)


def task(url: str = HOME, *, depth: int = 0, attempt: int = 1, **how: Any) -> CrawlTask:
    new = new_url(Url.parse(url), CrawlSpec(), depth=depth)
    return CrawlTask(
        crawl_id="crawl",
        url_hash=new.url_hash,
        url=new.url,
        host=new.host,
        depth=depth,
        priority=new.priority,
        attempt=attempt,
        **how,
    )


def taken(new: NewUrl) -> CrawlTask:
    """As whoever takes it finds it."""
    here = task(new.url, depth=new.depth, hops=new.hops, as_sitemap=new.as_sitemap)
    return replace(here, url_hash=new.url_hash, priority=new.priority)


def page(
    body: str = "", *, url: str = HOME, status: int = 200, kind: str = "text/html", **headers: str
) -> Page:
    fields = {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Page(
        url=url,
        final_url=url,
        status=status,
        headers=tuple(fields.items()),
        body=body.encode(),
        media_type=kind,
        charset="utf-8",
    )


def sitemap(*places: str, name: str = "urlset") -> str:
    entry = {"urlset": "url", "sitemapindex": "sitemap"}[name]
    entries = (f"<{entry}><loc>{Url.parse(HOME).join(place).href}</loc></{entry}>" for place in places)
    return f"<{name}>{''.join(entries)}</{name}>"


def urls(visited: Visited) -> list[str]:
    return [new.url for new in visited.urls]


def processor(known: KnownUrls | None = None) -> PageProcessor:
    return PageProcessor(KnownUrls() if known is None else known, "Gossamer/1")


@pytest.mark.parametrize("body", ['<title>t</title><p>Text <a href="/a">a</a>', "<p>Not found", ""])
def test_a_page_that_was_taken_apart_elsewhere_is_the_same_page(body: str) -> None:
    here = processor().process(task(), plan(), page(body), OPEN, 0.0)
    apart = take_apart(page(body), agent="Gossamer/1", max_links=plan().spec.max_urls_per_page)
    there = processor().process(task(), plan(), page(body), OPEN, 0.0, apart)
    assert (there.row, there.judgement, there.urls, there.keys) == (
        here.row,
        here.judgement,
        here.urls,
        here.keys,
    )


def test_links_are_new_urls_once_in_scope_and_one_deeper() -> None:
    body = '<a href="/a">1</a> <a href="/a#b">2</a> <a href="b?utm_source=x">3</a> <a href="//127.0.0.2/">'
    visited = processor().process(task(depth=3), plan(), page(body), OPEN, 0.0)
    assert visited.end is VisitEnd.COMPLETED
    assert urls(visited) == ["http://127.0.0.1/a", "http://127.0.0.1/b?utm_source=x"]
    assert {new.depth for new in visited.urls} == {4}
    assert visited.urls[1].url_hash == new_url(Url.parse("http://127.0.0.1/b"), CrawlSpec()).url_hash


def test_what_is_known_is_not_found_again_until_it_is_forgotten() -> None:
    known, crawl = KnownUrls(), plan()
    gather = processor(known)
    first = gather.process(task(), crawl, page('<a href="/a">'), OPEN, 0.0)
    again = gather.process(task(), crawl, page('<a href="/a">'), OPEN, 0.0)
    assert urls(again) == urls(first) == ["http://127.0.0.1/a"]  # nothing is written down yet
    known.add(first.keys)
    assert urls(gather.process(task(), crawl, page('<a href="/a">'), OPEN, 0.0)) == []
    other = dataclasses.replace(plan(), salt=8)
    assert urls(gather.process(task(), other, page('<a href="/a">'), OPEN, 0.0)) == ["http://127.0.0.1/a"]
    cleared = gather.process(task(revision=1), crawl, page('<a href="/a">'), OPEN, 0.0)
    assert urls(cleared) == ["http://127.0.0.1/a"]  # whoever was taken after that knows nothing of before


def test_what_earlier_results_found_is_not_found_again_unless_the_way_is_shorter() -> None:
    gather, crawl = processor(), plan()
    first = gather.process(task(depth=2), crawl, page('<a href="/a">'), OPEN, 0.0)
    waiting = dict.fromkeys(first.keys, 3)
    body = '<a href="/a"><a href="/b">'
    again = gather.process(task(depth=2), crawl, page(body), OPEN, 0.0, waiting=waiting)
    assert urls(again) == ["http://127.0.0.1/b"]
    shorter = gather.process(task(depth=1), crawl, page(body), OPEN, 0.0, waiting=waiting)
    assert {new.url: new.depth for new in shorter.urls} == {"http://127.0.0.1/a": 2, "http://127.0.0.1/b": 2}


@pytest.mark.parametrize("traps", ["auto", "off"])
def test_another_spelling_of_a_page_that_is_written_is_not_written_again(traps: str) -> None:
    known = KnownUrls()
    crawl, found = plan(traps=traps), processor(known)
    first = found.process(task(), crawl, page('<a href="/a">a</a>'), OPEN, 0.0)
    assert urls(first) == [f"{HOME}a"]
    known.add(first.keys)
    link = '<a href="/a?utm_source=x">a</a><a href="/b?utm_source=x">b</a>'
    assert urls(found.process(task(f"{HOME}c"), crawl, page(link), OPEN, 0.0)) == [f"{HOME}b?utm_source=x"]


def test_what_is_too_deep_may_be_found_on_a_shorter_way() -> None:
    known, crawl = KnownUrls(), plan(max_depth=2)
    gather = processor(known)
    deep = gather.process(task(depth=2), crawl, page('<a href="/a">'), OPEN, 0.0)
    assert deep.urls == []
    known.add(deep.keys)
    assert urls(gather.process(task(depth=1), crawl, page('<a href="/a">'), OPEN, 0.0)) == [
        "http://127.0.0.1/a"
    ]


def test_a_page_that_asks_not_to_be_followed_or_indexed_is_heard() -> None:
    body = '<meta name="robots" content="noindex, nofollow"><a href="/a">'
    visited = processor().process(task(), plan(), page(body), OPEN, 0.0)
    assert visited.urls == []
    assert visited.row is not None
    assert visited.row.directives == "noindex,nofollow"


def test_a_redirect_is_a_row_and_its_target_another_url_as_deep() -> None:
    visited = processor().process(task(depth=4), plan(), page(status=301, location="/new#there"), OPEN, 0.0)
    assert visited.row is not None
    assert (visited.row.status_code, visited.row.final_url) == (301, "http://127.0.0.1/new")
    assert visited.page is None
    assert [(new.url, new.depth) for new in visited.urls] == [("http://127.0.0.1/new", 4)]


@pytest.mark.parametrize("location", ["", "http://", "ftp://127.0.0.1/", "http://127.0.0.9/"])
def test_a_redirect_that_leads_nowhere_or_out_of_the_crawl_is_not_followed(location: str) -> None:
    visited = processor().process(task(), plan(), page(status=302, location=location), OPEN, 0.0)
    assert (visited.end, visited.urls) == (VisitEnd.COMPLETED, [])


def test_redirects_are_followed_so_often_and_no_further() -> None:
    crawl, here = plan(), task()
    for hop in range(MAX_HOPS):
        answer = page(url=here.url, status=302, location=f"/{hop}")
        (new,) = processor().process(here, crawl, answer, OPEN, 0.0).urls  # each by another worker
        here = taken(new)
    assert (
        processor().process(here, crawl, page(url=here.url, status=302, location="/x"), OPEN, 0.0).urls == []
    )
    (link,) = processor().process(here, crawl, page('<a href="/x">', url=here.url), OPEN, 0.0).urls
    assert link.hops == 0  # in a row


def test_a_redirect_to_another_spelling_of_the_same_page_is_followed_and_that_in_a_circle_is_not() -> None:
    known, crawl = KnownUrls(), plan(ignore_trailing_slash=True)
    gather = processor(known)
    (link,) = gather.process(task(), crawl, page('<a href="/a/?utm_source=x">'), OPEN, 0.0).urls
    (plain,) = gather.process(task(), crawl, page('<a href="/a">'), OPEN, 0.0).urls
    assert link.url_hash == plain.url_hash
    here = taken(link)
    for location in ("/a/", "/a"):
        moved = gather.process(here, crawl, page(url=here.url, status=301, location=location), OPEN, 0.0)
        (new,) = moved.urls
        assert (new.url, new.url_hash == here.url_hash) == (f"http://127.0.0.1{location}", False)
        known.add(moved.keys)
        here = taken(new)
    circle = gather.process(here, crawl, page(url=here.url, status=302, location="/a"), OPEN, 0.0)
    assert [new.url_hash for new in circle.urls] == [plain.url_hash]  # which is there already


def test_where_a_browser_would_have_been_led_is_another_url_too() -> None:
    led = replace(page(), final_url=f"{HOME}app", redirects=(Hop(HOME, 200),), via="render")
    visited = processor().process(task(), plan(), led, OPEN, 0.0)
    assert visited.row is not None
    assert (visited.row.status_code, visited.row.final_url, visited.row.via) == (200, f"{HOME}app", "render")
    assert (urls(visited), visited.page) == ([f"{HOME}app"], None)
    away = replace(led, final_url="http://127.0.0.2/")
    assert processor().process(task(), plan(), away, OPEN, 0.0).urls == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again_after_1_2_and_4_seconds_and_then_has_failed(status: int) -> None:
    pauses = []
    for attempt in range(1, MAX_ATTEMPTS):
        visited = processor().process(task(attempt=attempt), plan(), page(status=status), OPEN, 0.0)
        assert visited.end is VisitEnd.AGAIN
        assert visited.row is None
        pauses.append(visited.pause)
    assert pauses == [1.0, 2.0, 4.0]
    last = processor().process(task(attempt=MAX_ATTEMPTS), plan(), page("<p>No.", status=status), OPEN, 0.0)
    assert (last.end, last.reason) == (VisitEnd.FAILED, f"status_{status}")
    assert last.row is not None
    assert (last.row.status_code, last.row.error) == (status, f"status_{status}")


def test_404_is_what_the_page_is() -> None:
    visited = processor().process(task(), plan(), page("<p>Not found", status=404), OPEN, 0.0)
    assert visited.end is VisitEnd.COMPLETED
    assert visited.row is not None
    assert (visited.row.status_code, visited.row.outcome) == (404, "error")


@pytest.mark.parametrize(
    ("problem", "again"),
    [
        (timed_out(FetchReason.FIRST_BYTE_TIMEOUT), True),
        (failed(FetchReason.CONNECTION_RESET), True),
        (failed(FetchReason.NOT_HTTP), False),
    ],
)
def test_without_an_answer_only_what_may_pass_is_tried_again(problem: Problem, again: bool) -> None:
    first = unanswered(task(), plan(), problem, 0.0)
    assert (first.end is VisitEnd.AGAIN) is again
    last = unanswered(task(attempt=MAX_ATTEMPTS), plan(), problem, 0.0)
    assert last.end is VisitEnd.FAILED
    assert last.row is not None
    assert last.row.status_code is None
    assert last.row.error == last.reason != ""


def test_what_may_not_be_rendered_now_is_put_off_until_it_may_and_no_attempt() -> None:
    daily = Policy("renders-free", Rate(1, 86_400), "tenant")
    tally = Tally(allowed=False, limit=1, used=1, reset_at=1_000.5, stamp=900_000_000)
    visited = put_off(task(), plan(), LimitStatus(daily, "tenant", tally))
    assert (visited.end, visited.reason, visited.pause) == (VisitEnd.AGAIN, "render_limit", 100.5)
    assert not visited.counts
    none = put_off(task(), plan(), LimitStatus(daily, "tenant", replace(tally, reset_at=900.0)))
    assert none.pause > 0


def test_sitemaps_are_urls_when_a_crawl_comes_to_a_host_and_no_pages() -> None:
    known, crawl = KnownUrls(), plan(sitemaps=True)
    gather = processor(known)
    rules = Robots.parse("Sitemap: http://127.0.0.1/all.xml")
    first = gather.process(task(), crawl, page("<p>Home"), rules, 0.0)
    assert urls(first) == ["http://127.0.0.1/all.xml", "http://127.0.0.1/sitemap.xml"]
    known.add(first.keys)
    assert gather.process(task(), crawl, page("<p>Home"), rules, 0.0).urls == []
    assert all(new.as_sitemap for new in first.urls)
    for here in (taken(first.urls[0]), task(f"{HOME}all.xml")):  # a seed, or linked to, is read as what it is
        listed = gather.process(here, crawl, page(sitemap("/a"), kind=XML), rules, 0.0)
        found = [(new.url, new.depth, new.as_sitemap) for new in listed.urls]
        assert (listed.row, found) == (None, [("http://127.0.0.1/a", 1, False)])


def test_what_was_only_looked_for_as_a_sitemap_is_no_page_whatever_is_there() -> None:
    gather, crawl = processor(), plan(sitemaps=True)
    (new,) = gather.process(task(), crawl, page("<p>Home"), OPEN, 0.0).urls
    here, app = taken(new), '<!doctype html><title>App</title><a href="/x">x</a>'
    for answer in (page(app), page(app, status=404), page("{}", kind="application/json")):
        visited = gather.process(here, crawl, replace(answer, url=here.url, final_url=here.url), OPEN, 0.0)
        assert (visited.end, visited.row, visited.page, visited.urls) == (VisitEnd.COMPLETED, None, None, [])
    busy = gather.process(replace(here, attempt=MAX_ATTEMPTS), crawl, page(status=503), OPEN, 0.0)
    late = unanswered(
        replace(here, attempt=MAX_ATTEMPTS), crawl, timed_out(FetchReason.FIRST_BYTE_TIMEOUT), 0.0
    )
    assert [(gone.end, gone.row) for gone in (busy, late)] == [(VisitEnd.FAILED, None)] * 2
    moved = gather.process(here, crawl, page(url=here.url, status=301, location="/maps.xml"), OPEN, 0.0)
    assert (moved.row, [(to.url, to.as_sitemap) for to in moved.urls]) == (None, [(f"{HOME}maps.xml", True)])
    text = gather.process(here, crawl, page(f"{HOME}a\n{HOME}b", kind="text/plain"), OPEN, 0.0)
    assert urls(text) == [f"{HOME}a", f"{HOME}b"]
    (link,) = gather.process(task(), plan(), page(f'<a href="{here.url}">'), OPEN, 0.0).urls
    assert (link.url, link.as_sitemap, link.url_hash == new.url_hash) == (here.url, False, False)
    linked = gather.process(taken(link), crawl, page(app, url=here.url), OPEN, 0.0)
    assert linked.row is not None
    assert linked.row.title == "App"


def test_pages_come_before_sitemaps_in_sitemaps_of_which_there_is_an_end() -> None:
    gather, crawl = processor(), plan(sitemaps=True, include=("/docs/*",))
    (new,) = gather.process(task(), crawl, page("<p>Home"), OPEN, 0.0).urls
    assert new.priority == HIGH
    many = [f"/{number}.xml" for number in range(MAX_NESTED)]
    index = page(sitemap("http://127.0.0.2/x.xml", *many, "/more.xml", name="sitemapindex"), kind=XML)
    nested = gather.process(taken(new), crawl, index, OPEN, 0.0).urls
    assert [each.url for each in nested] == [f"http://127.0.0.1{path}" for path in many]
    assert {(each.priority, each.hops, each.as_sitemap) for each in nested} == {(LOW, 1, True)}
    deep = replace(taken(nested[0]), hops=MAX_HOPS)
    again = page(sitemap("/deeper.xml", name="sitemapindex"), kind=XML)
    assert gather.process(deep, plan(), again, OPEN, 0.0).urls == []
    assert gather.process(taken(nested[0]), crawl, again, OPEN, 0.0).urls == []  # enough of this host


def test_sitemaps_bring_no_more_than_a_crawl_can_use() -> None:
    known, counts = KnownUrls(), counted(pages=2, pending=100)
    gather, crawl = processor(known), plan(sitemaps=True, max_pages=5, counts=counts)
    listing = [f"/{number}" for number in range(5_000)]
    here, use = task(f"{HOME}sitemap.xml", as_sitemap=True), AMPLE * 3 + SPARE - 100
    first = gather.process(here, crawl, page(sitemap(*listing), kind=XML), OPEN, 0.0)
    assert len(first.urls) == use
    known.add(first.keys)
    assert gather.process(here, crawl, page(sitemap(*listing), kind=XML), OPEN, 0.0).urls == []
    linked = gather.process(task(), crawl, page(f'<a href="{listing[-1]}">'), OPEN, 0.0)
    assert listing[-1] in urls(linked)[0]  # what was left out may still be found
    crawl.renew(replace(crawl.crawl, counts=counted(pages=5, pending=use)), 1.0)
    assert crawl.room == SPARE - use
    crawl.renew(replace(crawl.crawl, counts=counted(pages=5, pending=9_999)), 2.0)
    assert crawl.room == 0


def test_a_crawl_that_goes_no_further_asks_for_no_sitemaps() -> None:
    visited = processor().process(task(), plan(sitemaps=True, max_depth=0), page("<p>Home"), OPEN, 0.0)
    assert visited.urls == []


def test_links_that_robots_txt_forbids_are_listed_but_not_without_end() -> None:
    rules = Robots.parse("User-agent: *\nDisallow: /private/")
    crawl, links = plan(max_urls_per_page=10_000), "".join(f'<a href="/private/{n}">' for n in range(1_500))
    visited = processor().process(task(), crawl, page(links), rules, 0.0)
    assert len(visited.urls) == MAX_DENIED


def test_pages_that_say_nearly_the_same_name_the_first_of_them() -> None:
    text = " ".join(f"word{number}" for number in range(300))
    gather, crawl = processor(), plan()
    one = gather.process(task(), crawl, page(f"<p>{text}"), OPEN, 0.0)
    two = gather.process(task(f"{HOME}copy"), crawl, page(f"<p>{text} more", url=f"{HOME}copy"), OPEN, 0.0)
    assert one.row is not None
    assert two.row is not None
    assert (one.row.duplicate_of, two.row.duplicate_of) == (None, one.task.url_hash)
    refetched = gather.process(task(), crawl, page(f"<p>{text}"), OPEN, 0.0)
    assert refetched.row is not None
    assert refetched.row.duplicate_of is None


def outcomes(crawl: CrawlPlan, body: str, numbers: range) -> list[str]:
    gather = processor()
    pages = [(f"{HOME}{number}", f"{body} {number}") for number in numbers]
    found = [gather.process(task(url), crawl, page(text, url=url), OPEN, 0.0) for url, text in pages]
    return [visited.row.outcome for visited in found if visited.row is not None]


def test_what_stands_in_for_many_pages_is_found_out_when_it_comes_again() -> None:
    navigation = "<nav>" + "".join(f"<a href=/{each}>Item {each}</a>" for each in range(120)) + "</nav>"
    missing = f"{navigation}<p>Sorry, we could not find that page. It may have been moved.</p>"
    genuine = f"{navigation}<p>Uses of this class: there are none in the whole library.</p>"
    assert outcomes(plan(), missing, range(5)) == ["ok", *["soft_404"] * 4]  # who knows a page by one look?
    crawl = plan()
    assert set(outcomes(crawl, genuine, range(GENUINE))) == {"ok"}
    assert set(crawl.genuine.values()) == {GENUINE - 1}
    assert set(outcomes(crawl, genuine, range(GENUINE, 3 * GENUINE))) == {"ok"}
    assert set(crawl.genuine.values()) == {GENUINE}  # enough of them were looked into


def test_seeds_are_taken_once_and_first_and_must_be_urls() -> None:
    spec = CrawlSpec(seeds=("http://127.0.0.1/deep/page?page=3", "http://127.0.0.1/deep/page?page=3#x", HOME))
    assert [(seed.url, seed.priority, seed.depth) for seed in seeds_of(spec)] == [
        ("http://127.0.0.1/deep/page?page=3", 3, 0),
        (HOME, 3, 0),
    ]
    with pytest.raises(Problem):
        seeds_of(CrawlSpec(seeds=("ftp://127.0.0.1/",)))
