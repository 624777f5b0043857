"""`POST /map`: a site in, the addresses of its pages out."""

import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.doors.crawls import NOT_SAID, OPEN, ROBOTS, page, post
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

XML = "Content-Type: application/xml"


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


async def ask(visit: Visit, url: str, sent: dict[str, str] = AS_ADMIN, **options: Any) -> httpx.Response:
    return await post(visit, "/map", {"url": url, **options}, sent)


async def mapped(visit: Visit, url: str, **options: Any) -> dict[str, Any]:
    response = await ask(visit, url, **options)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def urls(told: dict[str, Any]) -> list[str]:
    return [link["url"] for link in told["links"]]


def urlset(*listed: str) -> str:
    return f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in listed)}</urlset>"


def names_sitemaps(origin: str, *targets: str) -> None:
    ROBOTS[origin.removeprefix("http://")] = "".join(f"Sitemap: {origin}{target}\n" for target in targets)


async def test_links_of_the_page_and_of_sitemaps_each_once(visit: Visit, site: Site) -> None:
    origin, other = site.origins(2)
    near = page("Near")
    root = page("Root", near, f"{near}?utm_source=letter", f"{near}#part", other + near, "mailto:a@b.example")
    packed = say(gzip.compress(urlset(origin + root, f"{origin}/only", f"{other}/x").encode()), XML)
    index = say(f"<sitemapindex><sitemap><loc>{origin}{packed}</loc></sitemap></sitemapindex>", XML)
    names_sitemaps(origin, index)
    told = await mapped(visit, origin + root)
    assert urls(told) == [origin + root, origin + near]  # the third is a 404
    assert [link["title"] for link in told["links"]] == ["Root", "Near"]
    assert (told["found"], told["complete"], told["end"]) == (2, True, "done")
    kinds = [(source["kind"], source.get("links", 0)) for source in told["sources"]]
    assert kinds[:5] == [("robots", 0), ("page", 2), ("sitemap", 0), ("sitemap", 2), ("known", 0)]
    only = await mapped(visit, origin + root, sitemap="only")
    assert (urls(only), only["complete"]) == ([origin + root, f"{origin}/only"], True)
    skipped = await mapped(visit, origin + root, sitemap="skip")
    assert (urls(skipped), skipped["complete"]) == ([origin + root, origin + near], True)


async def test_a_few_more_pages_are_read_where_links_are_few(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    deep = page("Deep")
    middle = page("Middle", deep)
    told = await mapped(visit, origin + page("Root", middle))
    assert urls(told)[1:] == [origin + middle, origin + deep]
    assert [link["title"] for link in told["links"]] == ["Root", "Middle", "Deep"]
    assert (told["complete"], told["end"]) == (True, "done")
    chain = page("End")
    for number in range(14):
        chain = page(f"Step {number}", chain)
    long = await mapped(visit, origin + chain)
    assert (len(long["links"]), long["complete"], long["end"]) == (12, False, "limit")


async def test_robots_are_obeyed(visit: Visit, site: Site) -> None:
    origin, silent = site.origins(2)
    secret, marked = page("Secret"), page("Marked")
    root = say(f"<title>Root</title><a href='{secret}'>s</a><a rel=nofollow href='{marked}'>m</a>")
    ROBOTS[origin.removeprefix("http://")] = f"User-agent: *\nDisallow: {secret}\n"
    told = await mapped(visit, origin + root)
    assert urls(told) == [origin + root, origin + secret, origin + marked]
    assert not site.seen(secret)
    assert not site.seen(marked)
    assert [source["problem"] for source in told["sources"] if "problem" in source] == ["robots_disallowed"]
    refused = await mapped(visit, origin + secret)
    assert (refused["links"], refused["complete"]) == ([], False)
    ROBOTS[silent.removeprefix("http://")] = NOT_SAID
    silence = await ask(visit, silent + root)
    assert_problem(silence, "FETCH_FAILED")
    assert silence.json()["details"]["reason"] == "robots_unreachable"


async def test_a_search_keeps_what_has_its_words_and_ranks_it(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    titled, other = page("Silk prices"), page("Other")
    root = page("Root", f"{other}?in=prices-silk", titled, f"{other}?in=silk", other)
    told = await mapped(visit, origin + root, search="silk PRICES", limit=2)
    assert urls(told) == [origin + titled, f"{origin}{other}?in=prices-silk"]
    assert (told["found"], told["complete"]) == (5, False)
    assert urls(await mapped(visit, origin + root, search="zyzzyva")) == []
    assert_problem(await ask(visit, origin, search=" .,"), "VALIDATION_ERROR")


async def test_queries_may_be_ignored_and_the_limit_is_kept(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    near, far = page("Near"), page("Far")
    root = page("Root", f"{near}?page=1", f"{near}?page=2", far)
    bare = await mapped(visit, origin + root, ignoreQuery=True)
    assert urls(bare) == [origin + root, origin + near, origin + far]
    two = await mapped(visit, origin + root, limit=2)
    assert (len(two["links"]), two["end"], two["complete"]) == (2, "limit", False)


async def test_a_redirect_to_another_host_takes_the_site_with_it(visit: Visit, site: Site) -> None:
    origin, other = site.origins(2)
    near = page("Near")
    there = page("There", near)
    start = say("", f"Location: {other}{there}", status="301 Moved")
    told = await mapped(visit, origin + start)
    assert urls(told) == [other + there, other + near]


async def test_what_was_read_before_is_known(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    lone = page("Lone")
    assert (await post(visit, "/fetch", {"url": origin + lone})).status_code == 200
    await visit.service.index.flush()
    root = page("Root")
    told = await mapped(visit, origin + root)
    assert told["links"][1] == {"url": origin + lone, "title": "Lone"}
    others = await ask(visit, origin + root, sent=bearer(await visit.key()))
    assert urls(others.json()) == [origin + root]


async def test_the_deadline_cuts_the_map(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    slow = say("<urlset></urlset>", XML, pause=30)
    names_sitemaps(origin, slow)
    told = await mapped(visit, origin + page("Root", "/near"), timeout=1_000)
    assert (told["end"], told["complete"], len(told["links"])) == ("timeout", False, 2)


async def test_a_pause_that_is_longer_than_the_time_is_not_waited_for(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    ROBOTS[origin.removeprefix("http://")] = "User-agent: *\nCrawl-delay: 3600\n"
    told = await mapped(visit, origin + page("Root", "/near"), timeout=60_000)
    assert (told["end"], len(told["links"])) == ("timeout", 2)


async def test_a_map_is_kept_if_it_is_whole(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    root = page("Root")
    first = await ask(visit, f"{origin}{root}?utm_source=x", cache=True)
    again = await ask(visit, origin + root, cache=True)
    assert [one.headers["x-cache-status"] for one in (first, again)] == ["MISS", "HIT"]
    assert len(site.seen(root)) == 1
    assert again.json()["cache"]["hit"]
    broken = origin + say("", status="500 No")
    assert [(await ask(visit, broken, cache=True)).headers["x-cache-status"] for _ in range(2)] == [
        "MISS"
    ] * 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"url": "no URL"}, "INVALID_URL"),
        ({"url": "http://169.254.169.254/"}, "INVALID_URL"),
        ({"url": "http://a.example/", "limit": 0}, "VALIDATION_ERROR"),
        ({"url": "http://a.example/", "sitemap": "maybe"}, "VALIDATION_ERROR"),
        ({"url": "http://a.example/", "depth": 2}, "VALIDATION_ERROR"),
    ],
)
async def test_a_bad_request_is_refused(visit: Visit, body: dict[str, Any], code: str) -> None:
    assert_problem(await post(visit, "/map", body), code)


async def test_hostile_sitemaps_are_bounded(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    bomb = say(gzip.compress(b" " * 60_000_000), XML)
    evil = say('<!DOCTYPE a [<!ENTITY b "c">]><urlset><url><loc>&b;</loc></url></urlset>', XML)
    loop = say("", XML)
    say(f"<sitemapindex><sitemap><loc>{origin}{loop}</loc></sitemap></sitemapindex>", XML, target=loop)
    inside = say(urlset("http://169.254.169.254/latest", "javascript:alert(1)", "file:///etc/passwd"), XML)
    names_sitemaps(origin, bomb, evil, loop, inside)
    told = await mapped(visit, origin + page("Root"))
    assert len(told["links"]) == 1
    assert len(site.seen(loop)) == 1
    problems = [source.get("problem", "") for source in told["sources"] if source["kind"] == "sitemap"]
    assert problems == ["it is larger than 50 MB", "it has a DOCTYPE", "", ""]
