"""The llms.txt and llms-full.txt of a crawled site."""

from collections.abc import AsyncIterator

import pytest
from tests.doors.crawls import OPEN, begin, crawling, over, page
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site

PROSE = "Spiders spin many kinds of silk, and each kind is for another purpose than the last one. " * 4


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


async def test_a_finished_crawl_has_a_guide(visit: Visit, site: Site) -> None:
    origin = site.origins(1)[0]
    turned = " ".join(reversed(PROSE.split()))  # the second page with the same text would be a duplicate
    hidden = say(f"<title>Hidden</title><meta name=robots content=noindex><p>{turned}</p>")
    titled = say(
        f"<title>Silk ](http://evil) &lt;b></title><meta name=description content='Of\nsilk'><p>{PROSE}</p>"
    )
    root = page("The root", hidden, titled, "/nothing-here")
    crawl_id = (await begin(visit, origin + root))["crawlId"]
    assert_problem(
        await visit.client.get(f"/api/crawls/{crawl_id}/llms.txt", headers=AS_ADMIN), "UNPROCESSABLE_ENTITY"
    )
    async with crawling(visit):
        await over(visit, crawl_id)
    short = await visit.client.get(f"/api/crawls/{crawl_id}/llms.txt", headers=AS_ADMIN)
    assert short.headers["content-type"] == "text/markdown; charset=utf-8"
    lines = sorted(
        [f"- [The root]({origin}{root})", rf"- [Silk \](http://evil) \<b\>]({origin}{titled}): Of silk"],
        key=lambda line: line.rpartition("/said/")[2],
    )
    assert short.text.splitlines() == ["# The root", "", "## Said", "", *lines]
    whole = await visit.client.get(f"/api/crawls/{crawl_id}/llms-full.txt", headers=AS_ADMIN)
    assert whole.text.startswith("# The root\n\n<!-- page ")
    assert whole.text.count("Source: ") == 2
    assert "Spiders spin" in whole.text
    assert "Hidden" not in whole.text
    again = await visit.client.get(f"/api/crawls/{crawl_id}/llms-full.txt", headers=AS_ADMIN)
    assert again.text == whole.text
    other = bearer(await visit.key())
    assert_problem(await visit.client.get(f"/api/crawls/{crawl_id}/llms.txt", headers=other), "NOT_FOUND")
