"""Targets that mean harm: each ends in a problem with a name, soon, and costs next to nothing."""

import asyncio
import json
import subprocess
import sys
from ipaddress import ip_network

import pytest
from tests.site.bombs import bomb
from tests.site.paths import PAGE
from tests.site.server import Site

from gossamer.problems import Problem
from gossamer.reach.http.client import HttpBounds
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.url.url import Url

MEBIBYTE = 1024 * 1024
MOST_BYTES = 32 * MEBIBYTE
MOST_SECONDS = 8.0  # on a busy machine; what is not bounded takes minutes, or for ever

LARGE = "CONTENT_TOO_LARGE too_large"
HOSTILE = {
    "/bomb.gz": LARGE,
    "/bomb.br": LARGE,
    "/bomb.zst": LARGE,
    "/bomb.deflate": LARGE,
    "/huge": LARGE,
    "/huge-chunked": LARGE,
    "/huge-extensions": LARGE,
    "/huge-trailers": LARGE,
    "/huge-declared": LARGE,
    "/headers-1mb": "FETCH_FAILED headers_too_large",
    "/headers-endless": "FETCH_FAILED headers_too_large",
    "/many-headers": "FETCH_FAILED headers_too_large",
    "/interim/1000": "FETCH_FAILED not_http",
    "/loop": "FETCH_FAILED redirect_loop",
    "/redirect/1000": "FETCH_FAILED too_many_redirects",
    "/stacked": "FETCH_FAILED stacked_encoding",
    "/unknown-coding": "FETCH_FAILED unknown_encoding",
    "/transfer-gzip": "FETCH_FAILED unknown_encoding",
    "/gzip-cut": "FETCH_FAILED incomplete",
    "/gzip-not": "FETCH_FAILED bad_encoding",
    "/length-short": "FETCH_FAILED incomplete",
    "/length-long": "200 40",
    "/length-twice": "FETCH_FAILED not_http",
    "/length-and-chunked": "FETCH_FAILED not_http",
    "/chunked-bad": "FETCH_FAILED not_http",
    "/chunked-cut": "FETCH_FAILED incomplete",
    "/drop?after=30": "FETCH_FAILED incomplete",
    "/cut": "FETCH_FAILED incomplete",
    "/not-http": "FETCH_FAILED not_http",
    "/http-0.9": "FETCH_FAILED not_http",
    "/nul-header": "FETCH_FAILED not_http",
    "/upgrade": "FETCH_FAILED unexpected_upgrade",
    "/first-byte-late": "FETCH_TIMEOUT first_byte_timeout",
    "/one-byte-a-second": "FETCH_TIMEOUT too_slow",
    "/stall": "FETCH_TIMEOUT too_slow",
    "/nested": "200 1000004",
    "/invalid-utf8": "200 26",
    "/redirect-bomb": f"200 {len(PAGE)}",
}


def visited(site: Site, url: str, *options: str) -> dict[str, float | str]:
    command = [sys.executable, "-m", "tests.site.visitor", str(site.authority), site.url("/big-1mb"), url]
    told = subprocess.run([*command, *options], capture_output=True, check=True, timeout=60)
    answer: dict[str, float | str] = json.loads(told.stdout)
    return answer


def in_bounds(spent: dict[str, float | str]) -> bool:
    return float(spent["bytes"]) <= MOST_BYTES and float(spent["seconds"]) <= MOST_SECONDS


@pytest.fixture(scope="module", autouse=True)
def bombs_are_ready() -> None:
    """The time that it takes to make them is not the fetcher's."""
    for coding in ("gzip", "br", "zstd", "deflate"):
        bomb(coding)


@pytest.mark.parametrize("target", HOSTILE)
def test_bad_answers_end_in_bounded_time_and_memory(site: Site, target: str) -> None:
    spent = visited(site, site.url(target))
    assert spent["outcome"] == HOSTILE[target]
    assert in_bounds(spent), spent


@pytest.mark.parametrize("target", ["/bomb.br", "/huge", "/headers-1mb", "/cut", "/stall", "/length-short"])
def test_the_same_over_tls(site: Site, target: str) -> None:
    spent = visited(site, site.secure_url(target))
    assert spent["outcome"] == HOSTILE[target]
    assert in_bounds(spent), spent


def test_the_whole_deadline_holds_whatever_comes(site: Site) -> None:
    """Fast enough for the lowest rate, and never done."""
    spent = visited(site, site.url("/steady"), "2.5")
    assert spent["outcome"] == "FETCH_TIMEOUT whole_timeout"
    assert in_bounds(spent), spent


async def test_200_hostile_origins_at_once_and_a_good_one_beside_them(site: Site) -> None:
    names = Names()
    dialer = Dialer(names, allow=(ip_network("127.0.0.0/8"),), ports="*")
    bounds = HttpBounds(first_byte=1.0, slow_after=1.0)
    fetcher = Fetcher(dialer, "Gossamer/0 (tests)", bounds=bounds)
    loop = asyncio.get_running_loop()
    paths = (
        "/one-byte-a-second",
        "/first-byte-late",
        "/stall",
        "/headers-endless",
        "/loop",
        "/huge",
        "/drop",
    )

    async def suffer(origin: str, path: str) -> float:
        started = loop.time()
        with pytest.raises(Problem):
            await fetcher.fetch(
                FetchSpec(url=Url.parse(origin + path), timeout=2.0, attempts=1, max_bytes=100_000)
            )
        return loop.time() - started

    origins = site.origins(200)
    hostile = [
        asyncio.create_task(suffer(origin, paths[number % len(paths)]))
        for number, origin in enumerate(origins)
    ]
    good = [
        await fetcher.fetch(FetchSpec(url=Url.parse(site.url("/ok")), timeout=MOST_SECONDS))
        for _ in range(20)
    ]
    assert all(page.status == 200 for page in good)
    assert max(await asyncio.gather(*hostile)) < MOST_SECONDS
    await fetcher.close()
    await names.close()
