"""Every call of the library, with the engine in this process and at a server."""

from pathlib import Path

import pytest

import gossamer
from gossamer import Client, GossamerError
from gossamer.web.outcome.outcome import Outcome
from tests.client.conftest import OPEN
from tests.doors.fetches import say
from tests.site.server import Site

ARTICLE = """<!doctype html><html lang="en"><title>Orb webs</title>
<article><h1>Orb webs</h1><p>Orb weavers build a new web nearly every day, mostly at night, and they eat the
old one first, which gives them back most of what it was made of.</p><p>See also the
<a href="/spiral">capture spiral</a>, which is sticky, and the radii, which are not.</p></article></html>"""


@pytest.fixture
def article(site: Site) -> str:
    return site.url(say(ARTICLE))


async def test_a_page_is_fetched(web: Client, article: str) -> None:
    page = await web.fetch(article, formats=["markdown", "links"], max_tokens=200)
    assert (page.status, page.outcome, page.title) == (200, Outcome.OK, "Orb webs")
    assert page.content
    assert page.content.startswith("# Orb webs")
    assert page.links
    assert page.links[0].text == "capture spiral"


async def test_a_format_that_was_not_asked_for_is_absent(web: Client, article: str) -> None:
    page = await web.fetch(article, formats=["text"])
    assert not page.content
    assert page.text


async def test_an_option_that_does_not_exist_is_an_error_before_anything_is_sent(
    web: Client, site: Site, article: str
) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        await web.fetch(article, colour="blue")  # type: ignore[call-arg]
    assert not site.seen("/" + article.split("/", 3)[3])


async def test_a_problem_is_an_exception(web: Client) -> None:
    with pytest.raises(GossamerError) as caught:
        await web.fetch("ftp://example.com/")
    error = caught.value
    assert (error.code, error.status, error.reason) == ("INVALID_URL", 400, "invalid_protocol")
    assert error.detail
    assert error.request_id


async def test_a_value_that_cannot_be_is_the_servers_problem(web: Client, article: str) -> None:
    with pytest.raises(GossamerError, match="VALIDATION_ERROR"):
        await web.fetch(article, timeout=-1)


async def test_data_is_extracted(web: Client, article: str) -> None:
    found = await web.extract(article, fields={"title": "string"}, model=False)
    assert found.data == {"title": "Orb webs"}
    assert "/title" in found.sources


async def test_a_search_finds_what_was_fetched(web: Client, site: Site) -> None:
    word = "tangleweb" + "".join(chr(97 + int(digit)) for digit in str(id(web)))
    url = site.url(say(ARTICLE.replace("capture spiral", word)))
    await web.fetch(url)
    found = await web.search(word, limit=5)
    assert [result.url for result in found.results] == [url]
    assert found.providers["index"].status == "ok"


async def test_a_site_is_mapped(web: Client, site: Site) -> None:
    page = say("<title>A page")
    found = await web.map(site.url(say(f'<title>Start</title><a href="{page}">a page</a>')), sitemap="skip")
    assert site.url(page) in [link.url for link in found.links]


async def test_a_batch_has_a_result_for_each_url_in_its_order(web: Client, article: str) -> None:
    urls = [article, "ftp://example.com/", article]
    lines = [line async for line in web.batch(urls, formats=["text"])]
    assert [(line.index, line.url, line.status) for line in lines] == [
        (0, article, "done"),
        (1, "ftp://example.com/", "failed"),
        (2, article, "done"),
    ]
    assert lines[0].result
    assert lines[0].result.text
    assert lines[1].problem
    assert lines[1].problem.code == "INVALID_URL"


async def test_a_batch_that_is_left_early_is_gone(web: Client, article: str) -> None:
    async with web.batch([article] * 3) as batch:
        async for line in batch:
            assert line.index == 0
            break
    with pytest.raises(GossamerError, match="NOT_FOUND"):
        await batch.status()


async def test_a_crawl_shows_its_pages_as_they_are_stored(web: Client, site: Site) -> None:
    pages = [say(f"<title>{name}</title><p>{name} of a site") for name in ("One", "Two")]
    start = site.url(say("<title>Start</title>" + "".join(f'<a href="{page}">a page</a>' for page in pages)))
    crawl = web.crawl(start, max_depth=1, sitemaps=False, content="text")
    found = {page.title: page async for page in crawl}
    assert set(found) == {"Start", "One", "Two"}
    assert "One of a site" in (found["One"].content or "")
    assert (await crawl.status()).status == "done"
    assert crawl.id in [line.crawl_id for line in await web.crawls(limit=200)]
    again = [page.url async for page in web.crawl_with_id(crawl.id)]
    assert len(again) == 3


async def test_a_crawl_that_is_left_early_is_stopped(web: Client, site: Site) -> None:
    async with web.crawl(site.url(say("<title>Start", pause=1)), sitemaps=False) as crawl:
        assert (await crawl.status()).status == "running"
    assert (await crawl.status()).status == "canceled"


async def test_a_crawl_that_is_kept_goes_on(web: Client, site: Site) -> None:
    async with web.crawl(site.url(say("<title>Start")), sitemaps=False, keep=True) as crawl:
        assert crawl.id
    assert (await crawl.status()).status in ("running", "done")
    assert [page.title async for page in crawl] == ["Start"]
    await crawl.delete()
    with pytest.raises(GossamerError, match="NOT_FOUND"):
        await crawl.status()


async def test_a_page_is_audited(web: Client, article: str) -> None:
    audit = await web.audit(article, max_links=0)
    assert audit.score is not None
    assert audit.findings


async def test_a_job_that_fails_is_an_exception(web: Client, site: Site) -> None:
    picture = site.url(say(b"\x89PNG\r\n\x1a\n", "Content-Type: image/png"))
    with pytest.raises(GossamerError) as caught:
        await web.audit(picture, max_links=0)
    assert caught.value.code == "CONTENT_UNREADABLE"


async def test_a_browser_renders_captures_and_prints(web: Client, article: str) -> None:
    page = await web.render(article)
    assert (page.status, page.is_new) == (200, True)
    assert "<h1>Orb webs</h1>" in page.html
    picture = await web.screenshot(article, viewport={"width": 320, "height": 240}, timeout=30_000)
    assert picture.image.startswith(b"\x89PNG")
    assert picture.dimensions.width == 320
    printed = await web.pdf(article, format="A5", timeout=30_000)
    assert printed.pdf.startswith(b"%PDF")


async def test_a_client_that_is_closed_says_so(tmp_path: Path, article: str) -> None:
    web = gossamer.open(data_dir=str(tmp_path), **OPEN)
    await web.close()
    with pytest.raises(RuntimeError, match="closed"):
        await web.fetch(article)
