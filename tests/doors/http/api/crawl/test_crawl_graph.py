"""The graph of a crawl, its files, and web archives out and in, over HTTP."""

import io
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clients import clients_python
from tests.doors.crawls import OPEN, PROSE, begin, crawling, get, over
from tests.doors.fetches import say
from tests.doors.http.api.crawl.test_crawl_import import imported_from
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer
from tests.site.server import Site
from warcio.archiveiterator import ArchiveIterator

from gossamer.state.tenants.tenants import Role


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(**OPEN) as opened:
        yield opened


def html(title: str, body: str = "") -> str:
    return say(f"<title>{title}</title><h1>{title}</h1><p>{PROSE}</p>{body}")


async def crawled(visit: Visit, site: Site) -> tuple[str, str, str]:
    """A crawl that is over: its address, its seed, and a leaf of it."""
    (origin,) = site.origins(1)
    leaf, twin = html("A leaf"), html("A leaf")
    menu = f"<nav><a href='{leaf}' rel=help>The leaf</a></nav>"
    links = f"{menu}<a href='{twin}'>Its twin</a><a href=/gone>?</a>"
    middle = html("The middle", links)
    seed = origin + html("Seed", f"<a href='{middle}'>In</a><a href='https://other.test/'>Out</a>")
    begun = await begin(visit, seed, delay=0, headers={"Authorization": "Bearer hidden"})
    async with crawling(visit):
        await over(visit, begun["crawlId"])
    return f"/api/crawls/{begun['crawlId']}", seed, origin + leaf


async def download(visit: Visit, path: str) -> bytes:
    response = await visit.client.get(path, headers=AS_ADMIN)
    assert response.status_code == 200, response.text
    return bytes(response.content)


async def test_a_crawl_has_a_graph_and_goes_out_and_in_as_a_web_archive(
    visit: Visit, site: Site, tmp_path: Path
) -> None:
    crawl, seed, leaf = await crawled(visit, site)
    graph = await get(visit, f"{crawl}/graph")
    told = graph["summary"]
    assert (told["pages"], told["broken"], told["outsideLinks"], told["isWhole"]) == (5, 1, 1, True)
    assert told["depths"] == [1, 1, 3]
    assert {one["url"] for one in graph["pages"]} >= {seed, leaf}
    [broken] = (await get(visit, f"{crawl}/graph", section="broken"))["pages"]
    assert (broken["url"].endswith("/gone"), len(broken["linkedFrom"])) == (True, 1)
    [orphan] = (await get(visit, f"{crawl}/graph", section="orphans"))["pages"]
    assert (orphan["url"], orphan["knownFrom"]) == (seed, "seed")
    table = (await download(visit, f"{crawl}/graph/export?format=csv")).decode()
    assert f"{leaf},The leaf,help,nav" in table
    assert b"<edge" in await download(visit, f"{crawl}/graph/export?format=graphml")
    assert (await download(visit, f"{crawl}/graph/export?format=parquet&part=pages")).startswith(b"PAR1")

    warc = await download(visit, f"{crawl}/export?format=warc")
    kinds = [record.rec_type for record in ArchiveIterator(io.BytesIO(warc))]
    assert (kinds.count("response"), kinds.count("revisit"), kinds.count("request")) == (4, 1, 5)
    assert b"hidden" not in b"".join(
        record.raw_stream.read() + str(record.http_headers).encode()
        for record in ArchiveIterator(io.BytesIO(warc))
    )
    wacz = tmp_path / "crawl.wacz"
    wacz.write_bytes(await download(visit, f"{crawl}/export"))
    validate = [str(clients_python().with_name("wacz")), "validate", "-f", str(wacz)]
    checked = subprocess.run(validate, capture_output=True, text=True, check=False)
    assert "Validation succeeded" in checked.stdout, checked.stdout + checked.stderr

    for file in (wacz.read_bytes(), warc):
        imported = await imported_from(visit, file)
        assert (imported["pages"], imported["reason"]) == (5, None)
        again = f"/api/crawls/{imported['crawlId']}"
        assert (await get(visit, again))["status"] == "done"
        assert (await get(visit, f"{again}/graph"))["summary"]["links"] == told["links"]
        pages = (await get(visit, f"{again}/pages", content="text"))["pages"]
        assert any(PROSE[:40] in page.get("content", "") for page in pages)

    stranger = bearer(await visit.key(Role.USER))
    for path in ("graph", "graph/export", "export"):
        assert_problem(await visit.client.get(f"{crawl}/{path}", headers=stranger), "NOT_FOUND")
    bad = await visit.client.get(f"{crawl}/graph?cursor=x", headers=AS_ADMIN)
    assert_problem(bad, "VALIDATION_ERROR")
