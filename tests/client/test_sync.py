"""The library for programs that do not use asyncio: the same calls, each declared once."""

import asyncio
import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import gossamer
from gossamer import Client, GossamerError, SyncClient
from tests.client.conftest import OPEN
from tests.doors.fetches import say
from tests.site.server import Site

OTHERS = {"ask", "list_rows", "send", "job_error"}  # for those who need more than the calls


@pytest.fixture
def web(tmp_path: Path) -> Iterator[SyncClient]:
    with gossamer.open_sync(data_dir=str(tmp_path), **OPEN) as web:
        yield web


def test_it_has_every_call() -> None:
    calls = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert calls - OTHERS <= set(dir(SyncClient))
    assert SyncClient.fetch.__doc__ == Client.fetch.__doc__


async def test_a_page_is_fetched_by_several_threads(web: SyncClient, site: Site) -> None:
    urls = [site.url(say(f"<title>Page {number}</title><p>Words")) for number in range(3)]

    def fetch_all() -> list[str]:
        with ThreadPoolExecutor(3) as pool:
            return [page.title for page in pool.map(web.fetch, urls)]

    assert await asyncio.to_thread(fetch_all) == ["Page 0", "Page 1", "Page 2"]


async def test_results_are_iterated(web: SyncClient, site: Site) -> None:
    url = site.url(say("<title>Alone</title><p>Words"))

    def use() -> None:
        assert [line.index for line in web.batch([url, url])] == [0, 1]
        with web.crawl(url, sitemaps=False) as crawl:
            assert [page.title for page in crawl] == ["Alone"]
            assert crawl.status().counts.pages == 1
        with pytest.raises(GossamerError, match="INVALID_URL"):
            web.fetch("gopher://example.com/")

    await asyncio.to_thread(use)


def test_a_client_that_is_closed_says_so(tmp_path: Path) -> None:
    web = gossamer.connect_sync("http://127.0.0.1:9")
    web.close()
    web.close()
    with pytest.raises(RuntimeError, match="closed"):
        web.fetch("https://example.com/")


@pytest.mark.parametrize("address", ["gossamer.example.com", "ftp://x/", "http://", "https://me:key@host/"])
def test_an_address_that_cannot_be_a_servers(address: str) -> None:
    with pytest.raises(ValueError, match=r"server"):
        gossamer.connect(address)
