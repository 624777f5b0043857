"""How a stored page is linked in its crawl: how the crawl found it, and which pages link to it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.doors.crawls import OPEN, PROSE, begin, crawling, get, over
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

from gossamer.flows.crawl.reading.links_in import LinksInFinder
from gossamer.state.crawl.crawled_pages import PageFilter, StoredPage
from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


def html(title: str, body: str) -> str:
    return f"<title>{title}</title><h1>{title}</h1><p>{PROSE}</p>{body}"


async def crawl_of(visit: Visit, seed: str, **options: Any) -> tuple[str, dict[str, str]]:
    """A crawl that is over: its address, and the ids of its pages by URL."""
    begun = await begin(visit, seed, delay=0, **options)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    pages = (await get(visit, begun["pagesUrl"]))["pages"]
    return begun["pagesUrl"], {page["url"]: page["pageId"] for page in pages}


async def rows_of(visit: Visit, pages_url: str) -> list[StoredPage]:
    crawl_id = pages_url.split("/")[3]
    found = await visit.service.crawl_results.listing(PageFilter(crawl_id=crawl_id), None, 100)
    return [stored.page for stored in found]


async def links_in(visit: Visit, page: str) -> dict[str, Any]:
    """All of them. A look ends after a few seconds, in which a starved machine may not get far."""
    found: dict[str, Any] = {"links": [], "lookedAt": 0, "complete": False, "nextCursor": None}
    async with asyncio.timeout(60):
        while not found["complete"]:
            cursor = {"cursor": found["nextCursor"]} if found["nextCursor"] else {}
            look = await get(visit, f"{page}/links-in", **cursor)
            look["links"] = [*found["links"], *look["links"]]
            look["lookedAt"] += found["lookedAt"]
            found = look
    return found


async def test_pages_that_link_to_a_page_are_found_however_they_spell_it(visit: Visit, site: Site) -> None:
    (origin,) = site.origins(1)
    target = say(html("The target", ""))
    number = target.rpartition("/")[2]
    query = f"{target}?a=1&b=2"
    hostile = "&lt;script&gt;alert(1)&lt;/script&gt;"
    relative = say(html("Relative", f"<a href='{number}?b=2&amp;a=1' rel='nofollow'>{hostile}</a>"))
    escaped = say(html("Escaped", f"<a href='&#x2F;said&#x2F;{number}?a=1&#38;b=2'>escaped</a>"))
    tracked = say(html("Tracked", f"<a href='{origin}{query}&utm_source=x#top'>tracked</a>"))
    none = say(html("None", f"<p>It only writes {query}</p><a href='{target}'>another query</a>"))
    links = "".join(f"<a href='{one}'>x</a>" for one in (relative, escaped, tracked, none))
    seed = origin + say(html("Seed", links))
    pages_url, ids = await crawl_of(visit, seed)
    here = f"{pages_url}/{ids[origin + query]}"

    found = await links_in(visit, here)
    assert {link["title"]: link["text"] for link in found["links"]} == {
        "Relative": "<script>alert(1)</script>",
        "Escaped": "escaped",
        "Tracked": "tracked",
    }
    assert {link["title"] for link in found["links"] if link["rel"] == ["nofollow"]} == {"Relative"}
    assert {link["pageId"] for link in found["links"]} <= set(ids.values())
    assert (found["lookedAt"], found["pages"], found["unread"]) == (len(ids), len(ids), 0)
    assert (found["complete"], found["nextCursor"]) == (True, None)

    trail = await get(visit, f"{here}/trail")
    assert trail["isWhole"]
    first, second = trail["steps"]
    assert (first["url"], first["pageId"], first["isSitemap"]) == (seed, ids[seed], False)
    assert second["url"] in {origin + relative, origin + escaped, origin + tracked}
    assert await get(visit, f"{pages_url}/{ids[seed]}/trail") == {"steps": [], "isWhole": True}

    stranger = bearer(await visit.key(Role.USER))
    for path in (f"{here}/links-in", f"{here}/trail", f"{here}/screenshot"):
        assert_problem(await visit.client.get(path, headers=stranger), "NOT_FOUND")
    assert_problem(await visit.client.get(f"{here}/links-in?cursor=x", headers=AS_ADMIN), "VALIDATION_ERROR")
    assert_problem(await visit.client.get(f"{here}/screenshot", headers=AS_ADMIN), "NOT_FOUND")


async def test_a_look_that_ends_early_says_how_far_it_got_and_goes_on(visit: Visit, site: Site) -> None:
    (origin,) = site.origins(1)
    target = say(html("The target", ""))
    linking = [say(html(f"Page {number}", f"<a href='{target}'>there</a>")) for number in range(3)]
    seed = origin + say(html("Seed", "".join(f"<a href='{one}'>x</a>" for one in linking)))
    pages_url, _ = await crawl_of(visit, seed)
    rows = await rows_of(visit, pages_url)
    row = next(row for row in rows if row.url == origin + target)
    crawl = await visit.service.crawls.get(row.crawl_id)
    assert crawl is not None
    finder = LinksInFinder(visit.service.crawl_results, visit.service.kept_links, seconds=60, most=2)
    first = await finder.look(row, crawl.spec)
    assert (len(first.found), first.is_over, first.is_complete) == (2, False, False)
    assert 2 <= first.looked_at < len(rows)
    rest = await finder.look(row, crawl.spec, first.last)
    assert (len(rest.found), rest.is_complete) == (1, True)
    assert first.looked_at + rest.looked_at == len(rows)
    assert {one.page.title for one in (*first.found, *rest.found)} == {"Page 0", "Page 1", "Page 2"}

    no_time = await LinksInFinder(visit.service.crawl_results, visit.service.kept_links, seconds=0).look(
        row, crawl.spec
    )
    assert (no_time.found, no_time.looked_at, no_time.is_over, no_time.is_complete) == ([], 0, False, False)

    await visit.service.blobs.drop(sorted({each.blob for each in rows if each.blob is not None}))
    gone = await get(visit, f"{pages_url}/{row.url_hash}/links-in")
    assert (gone["links"], gone["complete"], gone["lookedAt"]) == ([], False, len(rows))
    assert gone["unread"] == len(rows) - 1  # without the page itself
