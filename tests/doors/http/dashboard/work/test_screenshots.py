"""Screenshots that a crawl keeps: over HTTP, on the page of a stored page, and when the crawl is deleted."""

import httpx
from tests.doors.crawls import PROSE, begin, crawling, get, over
from tests.doors.fetches import say
from tests.doors.services import AS_ADMIN, Visit
from tests.site.server import Site

from gossamer.flows.crawl.content import PagePicture
from gossamer.state.crawl.crawled_pages import PageFilter
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants.activity import Actor
from gossamer.web.documents.image_size import size_of

HOSTILE = "&lt;script&gt;alert(1)&lt;/script&gt;\"'"


async def test_a_crawl_keeps_a_picture_of_each_page_and_deletes_it_with_itself(
    visit: Visit, site: Site, admin: httpx.AsyncClient, user: httpx.AsyncClient
) -> None:
    (origin,) = site.origins(1)
    seed = say(f"<title>{HOSTILE}</title><h1>Silk</h1><p>{PROSE}<p style='height: 9000px'>")
    redirect = say("", f"Location: {seed}", status="301 Moved Permanently")
    begun = await begin(visit, origin + redirect, delay=0, screenshots=True)
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    pages = {page["url"]: page for page in (await get(visit, begun["pagesUrl"]))["pages"]}
    shown, led = pages[origin + seed], pages[origin + redirect]
    assert (shown["via"], shown["outcome"], led["screenshotUrl"]) == ("render", "ok", None)

    picture = await visit.client.get(shown["screenshotUrl"], headers=AS_ADMIN)
    assert size_of(picture.content) == (1280, 3_000)  # cut there
    assert picture.headers["content-type"] == "image/webp"
    assert picture.headers["x-content-type-options"] == "nosniff"
    assert picture.headers["content-security-policy"].startswith("sandbox")

    where = f"/app/crawls/{begun['crawlId']}/pages/"
    page = (await admin.get(where + shown["pageId"])).text
    assert f'<img src="{shown["screenshotUrl"]}" alt="Screenshot of &lt;script&gt;' in page
    assert "<script>alert" not in page
    assert "Take a screenshot" not in page
    assert "Take a screenshot" in (await admin.get(where + led["pageId"])).text
    assert (await user.get(shown["screenshotUrl"])).status_code == 404

    service = visit.service
    rows = await service.crawl_results.listing(PageFilter(crawl_id=begun["crawlId"]), None, 9)
    (name,) = [row.page.screenshot for row in rows if row.page.screenshot is not None]

    async def ignore(_doing: str, _percent: int) -> None:
        """Nobody looks at the progress."""

    crawl = Deletion(DeletionKind.CRAWL, begun["crawlId"], "")
    await service.deleter.delete_here(crawl, Actor("test"), ignore)
    assert await service.blobs.get(name) is None


def test_what_is_too_large_or_no_picture_is_not_kept() -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + bytes(8)
    kept = PagePicture.of(picture)
    assert kept is not None
    assert kept.name.startswith("screenshots/")
    assert PagePicture.of(picture + bytes(2_000_000)) is None
    assert PagePicture.of(b"<html>") is None
