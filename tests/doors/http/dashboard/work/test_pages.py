"""Stored pages: one of them, all of them, and the hosts that they come from."""

import re

import httpx
from tests.doors.crawls import PROSE, ROBOTS, begin, crawling, over
from tests.doors.fetches import say
from tests.doors.services import AS_ADMIN, Visit
from tests.site.server import Site

HOSTILE = "<script>alert(1)</script>\"'"


async def crawl_all(visit: Visit, *seeds: str) -> list[str]:
    """Two crawls of the same seeds, by the admin's key."""
    begun = [(await begin(visit, *seeds, delay=0))["crawlId"] for _ in range(2)]
    async with crawling(visit):
        for crawl_id in begun:
            await over(visit, crawl_id)
    return begun


def as_owner(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Lists are of the caller's own tenant, and the crawls of these tests belong to the first key's."""
    client.headers.pop("Cookie")
    client.headers.update(AS_ADMIN)
    return client


async def test_a_stored_page_from_all_sides(
    visit: Visit, site: Site, admin: httpx.AsyncClient, user: httpx.AsyncClient
) -> None:
    (origin,) = site.origins(1)
    link = "<a href='javascript:alert(1)'>run</a><a href='https://example.org/a?b=1&c=2'>elsewhere</a>"
    title = "&lt;script&gt;alert(1)&lt;/script&gt;\"'"
    body = f"<h1>Silk</h1><p>{PROSE}</p>{link}<img src='http://127.0.0.1:9/x.png' onerror='alert(1)'>"
    seed = origin + say(f"<html lang=en><title>{title}</title>{body}<script>alert(2)</script>")
    picture = origin + say(b"\x89PNG\r\n\x1a\n" + bytes(100), "Content-Type: image/png")
    first, second = await crawl_all(visit, seed, picture)
    found = re.findall(
        r'href="(/app/crawls/\w+/pages/[0-9a-f]{64})">([^<]*)<',
        (await admin.get(f"/app/crawls/{first}/pages")).text,
    )
    here = next(path for path, text in found if "script" in text)

    async def view(name: str) -> str:
        shown = await admin.get(here, params={"view": name})
        assert shown.status_code == 200
        assert HOSTILE not in shown.text
        assert "<script>alert" not in shown.text
        return shown.text

    reading = await view("reading")
    assert "This is the page that was asked for." in reading
    assert f'sandbox="" src="{here}/reading"' in reading
    assert "/app/playground?do=screenshot&amp;url=http%3A//127.0.0.1" in reading
    assert f'href="/app/crawls/{second}/pages/' in reading  # the same URL in another crawl
    assert "the same" in reading
    assert "# Silk" in await view("markdown")
    assert "Orb weavers" in await view("text")
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in await view("raw")
    links = await view("links")
    assert 'href="https://example.org/a?b=1&amp;c=2" rel="noreferrer noopener"' in links
    assert 'href="javascript:' not in links
    assert 'href="#links-in"' in links
    assert "It is a seed: somebody gave it to the crawl." in links
    assert f'href="{here}?view=links&amp;links_in=yes#links-in"' in links
    frame = await admin.get(f"{here}/reading")
    policy = frame.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'; style-src 'sha256-")
    assert frame.headers["x-frame-options"] == "SAMEORIGIN"
    assert "Orb weavers" in frame.text
    assert "onerror" not in frame.text
    other = next(path for path, text in found if "script" not in text)
    assert "It is not text, so it is not shown here." in (await admin.get(f"{other}?view=raw")).text
    unread = (await admin.get(f"{other}?view=markdown")).text
    assert "data-problem" in unread
    assert "Without a title" not in unread
    for client, path in ((user, here), (user, f"{here}/reading"), (admin, f"{here[:-1]}x")):
        assert (await client.get(path)).status_code == 404
    assert (await admin.get(f"{here}?view=nonsense")).status_code == 400


async def test_how_a_page_was_found_and_who_links_to_it(
    visit: Visit, site: Site, admin: httpx.AsyncClient
) -> None:
    (origin,) = site.origins(1)
    title = "&lt;script&gt;alert(1)&lt;/script&gt;\"'"
    target = say(f"<title>Target</title><p>{PROSE}")
    seed = origin + say(f"<title>{title}</title><p>{PROSE}</p><a href='{target}'>{title}</a>")
    begun = await begin(visit, seed, delay=0)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    listed = (await admin.get(f"/app/crawls/{begun['crawlId']}/pages")).text
    found = dict(re.findall(r'href="(/app/crawls/\w+/pages/[0-9a-f]{64})">([^<]*)<', listed))
    here = next(path for path, text in found.items() if text == "Target")
    first = next(path for path, text in found.items() if text != "Target")
    closed = (await admin.get(here)).text
    assert re.search(rf'<a class="url" href="{first}">[^§]*?<span class="pill">seed</span>', closed)
    assert "Look for links" in closed
    opened = (await admin.get(here, params={"links_in": "yes"})).text
    assert "2 of 2 stored pages were looked at. These are all." in opened
    assert f'<a href="{first}">&lt;script&gt;' in opened
    assert opened.count("<td>&lt;script&gt;alert(1)") == 1
    assert "<script>alert" not in opened
    none = (await admin.get(first, params={"links_in": "yes"})).text
    assert "No page links to this one." in none
    assert (await admin.get(here, params={"links_in": "yes", "cursor": "x"})).status_code == 400


async def test_pages_of_all_crawls_and_their_hosts(
    visit: Visit, site: Site, admin: httpx.AsyncClient, user: httpx.AsyncClient
) -> None:
    origin, other = site.origins(2)
    host = origin.removeprefix("http://")
    ROBOTS[host] = f"User-agent: *\nDisallow: /secret\n# {HOSTILE}"
    named = say(f"<title>One of a kind</title><p>{PROSE}")
    await crawl_all(visit, origin + named, other + say(f"<title>Another</title><p>{PROSE}"))
    empty = await user.get("/app/pages")
    assert "No page is stored yet" in empty.text
    assert "No host is known yet" in (await user.get("/app/domains")).text
    owner = as_owner(admin)

    async def count(**query: str) -> int:
        shown = await owner.get("/app/pages", params=query)
        assert shown.status_code == 200
        return len(re.findall(r"/pages/[0-9a-f]{64}\"", shown.text))

    assert await count() == 4
    assert await count(contains="one OF a") == await count(host=host) == 2
    assert await count(contains="one OF a", crawl="", status_code="", outcome="ok") == 2
    assert await count(outcome="blocked") == 0
    listed = (await owner.get("/app/domains")).text
    where = f"/app/domains/{host.replace(':', '%3A')}"
    assert f'href="{where}"' in listed
    one = await owner.get(where)
    assert one.status_code == 200
    assert "Disallow: /secret" in one.text
    assert HOSTILE not in one.text
    assert "One of a kind" in one.text
    assert "Another" not in one.text
    assert f'action="{where}/reset"' in one.text
    assert (await user.get(where)).status_code == 404
    assert (await user.post(f"{where}/reset")).status_code == 403
    assert (await owner.post(f"{where}/reset")).headers["location"] == f"{where}?notice=domain-reset"
    assert "The host has not been asked for it." in (await owner.get(where)).text
    assert (await owner.get("/app/domains/nowhere.example")).status_code == 404
    assert (await owner.post("/app/domains/nowhere.example/reset")).status_code == 404
