"""Targets that mean harm, through the whole service: a problem with a name, soon, and nobody else notices."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from tests.doors.fetches import Fetching, opened, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.processes import Start
from tests.doors.services import AS_ADMIN
from tests.lag import Lag
from tests.site.bombs import bomb
from tests.site.server import Site
from tests.web.documents.pdf_files import pdf

from gossamer.flows.pages.obtain import Obtainer
from gossamer.flows.parsers.parser_pool import MAX_BODY_IN_PLACE, ParserPool
from gossamer.reach.http.client import HttpBounds
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.http.retry import RetryBackoff
from gossamer.reach.net.dial import Dialer, client_context

MEBIBYTE = 1024 * 1024
MOST_SECONDS = 20.0  # on a busy machine; what is fenced off here would take minutes
MOST_LAG = 10.0
MOST_BYTES = 64 * MEBIBYTE
AT_ONCE = 3
LONG, SHORT = 15_000, 2_500  # milliseconds that a request may take: only what never ends by itself has few

LARGE = ("CONTENT_TOO_LARGE", "too_large")
HOSTILE = {
    "/bomb.br": LARGE,
    "/bomb.gz": LARGE,
    "/bomb.zst": LARGE,
    "/bomb.deflate": LARGE,
    "/huge": LARGE,
    "/huge-chunked": LARGE,
    "/huge-extensions": LARGE,
    "/huge-declared": LARGE,
    "/huge-trailers": LARGE,
    "/headers-1mb": ("FETCH_FAILED", "headers_too_large"),
    "/headers-endless": ("FETCH_FAILED", "headers_too_large"),
    "/many-headers": ("FETCH_FAILED", "headers_too_large"),
    "/interim/1000": ("FETCH_FAILED", "not_http"),
    "/loop": ("FETCH_FAILED", "redirect_loop"),
    "/redirect/6": ("FETCH_FAILED", "too_many_redirects"),
    "/stacked": ("FETCH_FAILED", "stacked_encoding"),
    "/unknown-coding": ("FETCH_FAILED", "unknown_encoding"),
    "/gzip-cut": ("FETCH_FAILED", "incomplete"),
    "/gzip-not": ("FETCH_FAILED", "bad_encoding"),
    "/length-short": ("FETCH_FAILED", "incomplete"),
    "/length-twice": ("FETCH_FAILED", "not_http"),
    "/length-and-chunked": ("FETCH_FAILED", "not_http"),
    "/chunked-bad": ("FETCH_FAILED", "not_http"),
    "/chunked-cut": ("FETCH_FAILED", "incomplete"),
    "/cut": ("FETCH_FAILED", "incomplete"),
    "/not-http": ("FETCH_FAILED", "not_http"),
    "/http-0.9": ("FETCH_FAILED", "not_http"),
    "/nul-header": ("FETCH_FAILED", "not_http"),
    "/upgrade": ("FETCH_FAILED", "unexpected_upgrade"),
    "/drop": ("FETCH_FAILED", "connection_closed"),
    "/reset": ("FETCH_FAILED", "connection_reset"),
    "/one-byte-a-second": ("FETCH_TIMEOUT", "too_slow"),
    "/stall": ("FETCH_TIMEOUT", "too_slow"),
    "/first-byte-late": ("FETCH_TIMEOUT", "first_byte_timeout"),
    "/steady": ("FETCH_TIMEOUT", "whole_timeout"),
}
OVER_TLS = (
    "/bomb.br",
    "/huge",
    "/headers-1mb",
    "/cut",
    "/stall",
    "/length-short",
    "/loop",
    "/first-byte-late",
)


@pytest.fixture(scope="module", autouse=True)
def bombs_are_ready() -> None:
    """The time that it takes to make them is not ours."""
    for coding in ("gzip", "br", "zstd", "deflate"):
        bomb(coding)


@asynccontextmanager
async def guarded(folder: Path, site: Site, *, reading: float) -> AsyncIterator[Fetching]:
    """A service of little patience that tries nothing twice and trusts the site's certificate."""
    async with opened(folder, site) as fetching:
        service = fetching.visit.service
        context = client_context(authorities=str(site.authority))
        dialer = Dialer(service.names, allow=(ip_network("127.0.0.1/32"),), ports="*", context=context)
        bounds = HttpBounds(first_byte=1.0, slow_after=1.0)
        fetcher = Fetcher(dialer, "Gossamer/0 (tests)", bounds=bounds, backoff=RetryBackoff(first=math.inf))
        parsers = ParserPool(2, seconds=reading)
        service.reader = replace(service.reader, obtainer=Obtainer(fetcher, None), parsers=parsers)
        async with fetching.visit.client_from("127.0.0.1") as fetching.visit.client:
            yield fetching
        await fetcher.close()
        await parsers.close()


@pytest.fixture(scope="module")
async def wary(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Fetching]:
    async with guarded(tmp_path_factory.mktemp("service"), site, reading=15.0) as fetching:
        yield fetching


@pytest.fixture(scope="module")
async def hasty(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Fetching]:
    """The same, for what takes any time to read that it is given."""
    async with guarded(tmp_path_factory.mktemp("service"), site, reading=2.0) as fetching:
        yield fetching


@asynccontextmanager
async def never_stalled() -> AsyncIterator[None]:
    lag, started = Lag(), time.monotonic()
    ticking = asyncio.create_task(lag.tick())
    yield
    spent = time.monotonic() - started
    ticking.cancel()
    assert spent < MOST_SECONDS
    assert lag.most < MOST_LAG


def patience(expected: tuple[str, str]) -> int:
    return SHORT if expected[1] == "whole_timeout" else LONG


async def assert_refused(fetching: Fetching, where: str, expected: tuple[str, str]) -> None:
    async with never_stalled():
        response = await fetching.post(where, timeout=patience(expected))
    document: Any = assert_problem(response, expected[0])
    assert document["details"]["reason"] == expected[1]


@pytest.mark.parametrize("target", HOSTILE)
async def test_bad_answers_end_soon_in_the_problem_that_they_are(wary: Fetching, target: str) -> None:
    await assert_refused(wary, target, HOSTILE[target])


@pytest.mark.parametrize("target", OVER_TLS)
async def test_the_same_over_tls(wary: Fetching, target: str) -> None:
    await assert_refused(wary, wary.site.secure_url(target), HOSTILE[target])


@pytest.mark.parametrize(
    "target",
    [
        "/length-long",
        "/invalid-utf8",
        "/half-close",
        "/redirect-bomb",
        "/gzip-members",
        "/old-lines",
        "/chunked",
    ],
)
async def test_bad_manners_that_do_no_harm_are_forgiven(wary: Fetching, target: str) -> None:
    async with never_stalled():
        answer = await wary.answer(target, timeout=LONG)
    assert answer["statusCode"] == 200
    assert answer["kind"] == "html"


async def test_half_closed_tls(wary: Fetching) -> None:
    answer = await wary.answer(wary.site.secure_url("/half-close"), timeout=LONG)
    assert answer["title"] == "Gossamer"


async def test_invalid_utf8_leaves_valid_text(wary: Fetching) -> None:
    answer = await wary.answer("/invalid-utf8", formats=["markdown", "text", "rawHtml"])
    assert answer["content"].startswith("before \ufffd")
    assert answer["content"].endswith("after")


# Work for the reader.

SENTENCE = b"<p>A sentence of some length, with a comma, and then another one. It goes on and on.</p>"


def filled(piece: bytes, size: int) -> bytes:
    return piece * (size // len(piece))


@pytest.mark.parametrize(
    ("piece", "size"),
    [
        *((piece, MAX_BODY_IN_PLACE) for piece in (b"<div>", b"<b><i><u><p>x</b>", b"<p>x", b"<td>x", b"<")),
        *((piece, MAX_BODY_IN_PLACE) for piece in (b"<div></x>", b'<div a="</x>">', b"<svg><div></svg>")),
        *((piece, 300_000) for piece in (b"<div><!--</div>-->", b"<div><table></div></table>")),
        *((piece, MAX_BODY_IN_PLACE) for piece in (b"*_`[](", b"&amp;", b"\n", b" ")),
        *((piece, 300_000) for piece in (b"<table><tr><td>", b"<a href=x>", b"<li>")),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_pages_made_to_be_hard_to_read_stall_nobody(wary: Fetching, piece: bytes, size: int) -> None:
    target = say(filled(piece, size))
    async with never_stalled():
        assert (await wary.answer(target))["statusCode"] == 200


async def test_few_tags_of_which_very_many_elements_come(wary: Fetching) -> None:
    fonts = b"".join(b"<font color=%d>" % number for number in range(400))
    target = say(b"<p>" + fonts + b"<p>x" * 500)
    async with never_stalled():
        assert (await wary.answer(target))["words"] == 500


async def test_200_000_nested_tags(wary: Fetching) -> None:
    async with never_stalled():
        answer = await wary.answer("/nested")
    assert answer["content"] == "deep"
    assert answer["truncated"] is True


async def test_a_page_of_5_mb(wary: Fetching) -> None:
    target = say(filled(SENTENCE, 5_000_000))
    async with never_stalled():
        response = await wary.post(target, formats=["markdown", "rawHtml"])
    if response.status_code == 200:
        assert response.json()["words"] > 500_000
    else:  # on a slow machine it is too much work
        assert_problem(response, "CONTENT_UNREADABLE")


async def test_9_mb_of_bytes_that_are_no_text(wary: Fetching) -> None:
    target = say(b"\xff" * 9_000_000)
    async with never_stalled():
        assert (await wary.answer(target, formats=["metadata"]))["kind"] == "html"


async def test_a_pdf_bomb(hasty: Fetching) -> None:
    body = pdf([["x" * 40] * 1_000_000])
    assert len(body) < 200_000
    target = say(body, "Content-Type: application/pdf")
    async with never_stalled():
        response = await hasty.post(target)
    document: Any = assert_problem(response, "CONTENT_UNREADABLE")
    assert document["details"]["reason"] == "unreadable_content"


async def test_a_selector_that_never_ends(hasty: Fetching) -> None:
    target = say(b"<div>" * 900 + b"deep")
    async with never_stalled():
        response = await hasty.post(target, exclude=["x div div div div div"])
    assert_problem(response, "CONTENT_UNREADABLE")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"[" * 1_000_000, "application/json"),
        (b'{"a":' * 200_000, "application/json"),
        (b"<a>" * 300_000, "application/xml"),
        (
            b'<!DOCTYPE a [<!ENTITY b "&c;&c;&c;&c;">]><rss><channel>&b;</channel></rss>',
            "application/rss+xml",
        ),
        (b"a," * 1_000_000, "text/csv"),
        (b'"' * 1_000_000, "text/csv"),
        (b"# " * 500_000, "text/markdown"),
        (b"%PDF-1.7" + b"obj<<" * 100_000, "application/pdf"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_other_kinds_made_to_be_hard_to_read(wary: Fetching, body: bytes, media_type: str) -> None:
    target = say(body, f"Content-Type: {media_type}")
    async with never_stalled():
        response = await wary.post(target)
    if response.status_code != 200:
        assert_problem(response, "CONTENT_UNREADABLE")


async def test_a_good_page_beside_them_all(wary: Fetching) -> None:
    hostile = [
        asyncio.create_task(wary.post(target, timeout=patience(expected)))
        for target, expected in HOSTILE.items()
    ]
    hostile.append(asyncio.create_task(wary.post("/nested")))
    async with never_stalled():
        for _ in range(20):
            assert (await wary.answer("/ok"))["outcome"] == "ok"
    assert {response.status_code for response in await asyncio.gather(*hostile)} == {200, 502}
    assert not wary.visit.logged("internal_error")


# The server that people start.


def peak(process: int) -> int:
    """The most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def children(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def test_the_server_survives_them_all_in_bounded_memory(site: Site, start_gossamer: Start) -> None:
    server = start_gossamer(
        is_fresh=True, egress_allow="127.0.0.1/32", egress_ports="*", limit_admin="1000000/60"
    )
    number = server.process.pid
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=AS_ADMIN, timeout=30) as client:

        def fetch(target: str, **options: Any) -> httpx.Response:
            timeout = LONG if HOSTILE.get(target) == LARGE else 2_000
            body = {"url": site.url(target), "timeout": timeout, **options}
            return client.post("/fetch", json=body)

        assert fetch("/big-1mb").status_code == 200
        before = peak(number)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for target, response in zip(HOSTILE, pool.map(fetch, HOSTILE), strict=True):
                assert response.json()["code"] == HOSTILE[target][0], target
                assert response.elapsed.total_seconds() < MOST_SECONDS, target
        for target in ("/nested", "/invalid-utf8", "/length-long", "/redirect-bomb"):
            assert fetch(target).json()["statusCode"] == 200
        assert peak(number) - before < MOST_BYTES
        assert client.get("/health").json()["status"] == "healthy"
        readers = children(number)
        assert len(readers) <= 2
    server.process.terminate()
    server.process.communicate(timeout=20)
    assert not any(Path(f"/proc/{reader}").exists() for reader in readers)
