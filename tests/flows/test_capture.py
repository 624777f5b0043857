"""Capturing: what a picture depends on, who makes it, and what is known of the page."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.browser.pools import open_pool
from tests.doors.fetches import say
from tests.doors.renders import article
from tests.site.server import Site

from gossamer.flows.pages.browse import Browsing
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.capture import Capturer
from gossamer.flows.pages.capture_request import (
    CaptureRequest,
    Margins,
    PdfRequest,
    ScreenshotRequest,
    Viewport,
)
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.tenants.admit import Caller
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from gossamer.state.cache import Cache
from gossamer.state.db.database import open_database
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.tenants.limits import Limits, policies
from gossamer.state.tenants.tenants import Role
from gossamer.state.tenants.usage import Usage
from gossamer.web.outcome.outcome import Outcome

NOON = 1_800_000_000.0
SOMEONE = Caller(Role.USER, "key", "tenant")


@pytest.fixture(scope="module")
async def capturer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Capturer]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('usage')}/gossamer.db")
    async with open_pool(places=1) as pool:
        hot, log = MemoryHot(), Log(pool.stream, level="debug")
        limits = Limits(hot, policies(Settings.load({}, None, {})), log)
        parsers = ParserPool(1)
        cache = Cache(hot, log, lambda: NOON)
        browsing = Browsing(pool.browsers, limits, Usage(database, lambda: NOON))
        yield Capturer(browsing, parsers, cache, lambda: NOON)
        await parsers.close()
    await database.close()


def request(url: str = "http://127.0.0.1/", **more: Any) -> ScreenshotRequest:
    return ScreenshotRequest(url, timeout=more.pop("timeout", 30_000), **more)


def test_whatever_changes_the_picture_is_part_of_its_key() -> None:
    requests: list[CaptureRequest] = [
        request(),
        request("http://127.0.0.1/other"),
        *(request(**{name: value}) for name, value in OTHER_SHOTS.items()),
        request(viewport=Viewport(1280, 721)),
        request(format="jpeg", quality=10),
        PdfRequest("http://127.0.0.1/"),
        *(PdfRequest("http://127.0.0.1/", **{name: value}) for name, value in OTHER_PRINTS.items()),
        request(wait_for_selector="h1"),
        request(headers={"Accept-Language": "de"}),
    ]
    assert len({str((one.endpoint, one.parameters())) for one in requests}) == len(requests)
    assert request().parameters() == request(timeout=5_000).parameters()
    assert request().parameters() == request(quality=10).parameters()  # of which PNG knows nothing


OTHER_SHOTS: dict[str, Any] = {
    "viewport": Viewport(1281, 720),
    "device_scale_factor": 2.0,
    "full_page": True,
    "selector": "p",
    "max_height": 900,
    "format": "jpeg",
    "dark_mode": True,
}
OTHER_PRINTS: dict[str, Any] = {
    "format": "A5",
    "landscape": True,
    "print_background": False,
    "scale": 0.5,
    "margins": Margins("0in", "0in", "0in", "0in"),
    "page_ranges": "1",
}


def test_no_option_was_forgotten() -> None:
    common = {"url", *CaptureRequest.__struct_fields__}
    assert {*OTHER_SHOTS, "quality"} == set(ScreenshotRequest.__struct_fields__) - common
    assert set(OTHER_PRINTS) == set(PdfRequest.__struct_fields__) - common


async def test_many_who_ask_at_once_are_one_visit(capturer: Capturer, site: Site) -> None:
    target = say(article())
    wanted, ours = request(site.url(target)), Caching("tenant", 60)
    assert not await capturer.has(wanted, ours)
    asking = [capturer.capture_cached(wanted, SOMEONE, ours) for _ in range(5)]
    taken = await asyncio.gather(*asking)
    assert len(site.seen(target)) == 1
    assert sorted(part.hit for _, part in taken) == [False, True, True, True, True]
    assert {captured.size for captured, _ in taken} == {(1280, 720)}
    assert {captured.captured_at for captured, _ in taken} == {NOON}
    assert await capturer.has(wanted, ours)
    assert not await capturer.has(wanted, Caching("another", 60))


async def test_a_page_that_is_too_much_to_read_is_captured_all_the_same(
    capturer: Capturer, site: Site
) -> None:
    hasty = replace(capturer, parsers=ParserPool(1, seconds=0.0, small=-1))
    fine = await hasty.capture(request(site.url(say(article()))), SOMEONE)
    assert (fine.outcome, fine.reason, fine.size) == (Outcome.OK, "unread", (1280, 720))
    missing = await hasty.capture(request(site.url(say(article(), status="404 Not Found"))), SOMEONE)
    assert (missing.outcome, missing.status) == (Outcome.ERROR, 404)
    await hasty.parsers.close()
