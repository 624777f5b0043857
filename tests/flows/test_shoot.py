"""Shooting: what a picture depends on, who makes it, and what is known of the page."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.browser.pools import open_pool
from tests.doors.fetches import say
from tests.doors.renders import article
from tests.site.server import Site

from gossamer.flows.admit import Caller
from gossamer.flows.browse import Browsing
from gossamer.flows.caching import Caching
from gossamer.flows.shoot import Shooter, Wish
from gossamer.flows.workshop import Workshop
from gossamer.logs import Log
from gossamer.reach.visit import Print, Shot
from gossamer.settings import Settings
from gossamer.state.cache import Cache
from gossamer.state.database import open_database
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.limits import Limits, policies
from gossamer.state.tenants import Role
from gossamer.state.usage import Usage
from gossamer.web.outcome import Outcome
from gossamer.web.url import Url

NOON = 1_800_000_000.0
SOMEONE = Caller(Role.USER, "key", "tenant")


@pytest.fixture(scope="module")
async def shooter(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shooter]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('usage')}/gossamer.db")
    async with open_pool(places=1) as pool:
        hot, log = MemoryHot(), Log(pool.stream, level="debug")
        limits = Limits(hot, policies(Settings.load({}, None, {})), log)
        workshop = Workshop(1)
        cache = Cache(hot, log, lambda: NOON)
        browsing = Browsing(pool.browsers, limits, Usage(database, lambda: NOON))
        yield Shooter(browsing, workshop, cache, lambda: NOON)
        await workshop.close()
    await database.close()


def wish(url: str = "http://127.0.0.1/", **more: Any) -> Wish:
    return Wish(url=Url.parse(url), timeout=more.pop("timeout", 30.0), **more)


def test_whatever_changes_the_picture_is_part_of_its_key() -> None:
    wishes = [
        wish(),
        wish("http://127.0.0.1/other"),
        *(wish(capture=Shot(**{name: value})) for name, value in OTHER_SHOTS.items()),
        wish(capture=Shot(format="jpeg", quality=10)),
        wish(capture=Print()),
        *(wish(capture=Print(**{name: value})) for name, value in OTHER_PRINTS.items()),
        wish(wait_for="h1"),
        wish(headers=(("Accept-Language", "de"),)),
    ]
    assert len({str((one.endpoint, one.parameters())) for one in wishes}) == len(wishes)
    assert wish().parameters() == wish(timeout=5.0).parameters()
    assert wish().parameters() == wish(capture=Shot(quality=10)).parameters()  # of which PNG knows nothing


OTHER_SHOTS: dict[str, Any] = {
    "width": 1281,
    "height": 721,
    "scale": 2.0,
    "full_page": True,
    "selector": "p",
    "max_height": 900,
    "format": "jpeg",
    "dark": True,
}
OTHER_PRINTS: dict[str, Any] = {
    "paper": "A5",
    "landscape": True,
    "background": False,
    "scale": 0.5,
    "margins": (0.0, 0.0, 0.0, 0.0),
    "pages": "1",
}


def test_no_option_was_forgotten() -> None:
    assert {*OTHER_SHOTS, "quality"} == set(Shot.__slots__)
    assert set(OTHER_PRINTS) == set(Print.__slots__)


async def test_many_who_ask_at_once_are_one_visit(shooter: Shooter, site: Site) -> None:
    target = say(article())
    wanted, ours = wish(site.url(target)), Caching("tenant", 60)
    assert not await shooter.has(wanted, ours)
    asking = [shooter.shoot_through(wanted, SOMEONE, ours) for _ in range(5)]
    taken = await asyncio.gather(*asking)
    assert len(site.seen(target)) == 1
    assert sorted(part.hit for _, part in taken) == [False, True, True, True, True]
    assert {captured.size for captured, _ in taken} == {(1280, 720)}
    assert {captured.captured_at for captured, _ in taken} == {NOON}
    assert await shooter.has(wanted, ours)
    assert not await shooter.has(wanted, Caching("another", 60))


async def test_a_page_that_is_too_much_to_read_is_captured_all_the_same(shooter: Shooter, site: Site) -> None:
    hasty = replace(shooter, workshop=Workshop(1, seconds=0.0, small=-1))
    fine = await hasty.shoot(wish(site.url(say(article()))), SOMEONE)
    assert (fine.outcome, fine.reason, fine.size) == (Outcome.OK, "unread", (1280, 720))
    missing = await hasty.shoot(wish(site.url(say(article(), status="404 Not Found"))), SOMEONE)
    assert (missing.outcome, missing.status) == (Outcome.ERROR, 404)
    await hasty.workshop.close()
