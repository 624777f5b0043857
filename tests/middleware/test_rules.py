"""Whose visits, which address, and when to stop asking."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.middleware.breaker import FrontBreaker
from gossamer.middleware.rules import MAX_URL_CHARS, SiteOptions, SiteVisit
from gossamer.web.url import url
from gossamer.web.url.url import Url

URL, KEY = "https://gossamer.example", "sk_live_test"


ORIGIN = "https://www.example.com"


def visit(target: bytes = b"/", host: str = "evil.example", agent: str = "GPTBot/1.0") -> SiteVisit:
    return SiteVisit("GET", target, {"user-agent": agent, "host": host})


@given(st.text())
def test_the_address_never_depends_on_the_host(host: str) -> None:
    site = SiteOptions(url=URL, key=KEY, origin=ORIGIN)
    assert site.wants(visit(host=host))
    assert site.address(visit(b"/a?b", host=host)) == f"{ORIGIN}/a?b"


def test_what_is_asked_names_the_page_and_its_age() -> None:
    site = SiteOptions(url=URL, key=KEY, origin=ORIGIN, wait=5, max_age=60, stale_while_revalidate=7)
    assert site.asks(visit()) == {"url": f"{ORIGIN}/", "wait": 5, "maxAge": 60, "staleWhileRevalidate": 7}
    assert SiteOptions(url=URL, key=KEY, origin=ORIGIN, max_age=None).asks(visit()) == {"url": f"{ORIGIN}/"}


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.integers(1, 2_100)), max_size=3),
    st.sampled_from((b"/", b"/a?b=")),
)
def test_nothing_is_asked_for_that_can_only_be_refused(parts: list[tuple[bytes, int]], start: bytes) -> None:
    site = SiteOptions(url=URL, key=KEY, origin=ORIGIN)
    one = visit(start + b"".join(part * times for part, times in parts))
    if site.wants(one):
        Url.parse(site.address(one))


def test_an_address_may_be_as_long_as_gossamer_takes_it() -> None:
    assert MAX_URL_CHARS == url.MAX_URL_CHARS
    site = SiteOptions(url=URL, key=KEY, origin=ORIGIN)
    room = MAX_URL_CHARS - len(site.address(visit()))
    assert site.wants(visit(b"/" + b"x" * room))
    assert not site.wants(visit(b"/" + b"x" * (room + 1)))


@pytest.mark.parametrize("origin", ["https://www.example.com/shop", "https://www.example.com/shop/"])
def test_a_site_below_a_path_that_the_proxy_has_taken_off(origin: str) -> None:
    assert (
        SiteOptions(url=URL, key=KEY, origin=origin).address(visit(b"/a")) == "https://www.example.com/shop/a"
    )


def test_paths_may_be_left_out() -> None:
    site = SiteOptions(url=URL, key=KEY, origin=ORIGIN, exclude=("/admin", "/api/"))
    wanted = [path for path in (b"/", b"/admin", b"/admin/x", b"/api", b"/api/x") if site.wants(visit(path))]
    assert wanted == [b"/", b"/api"]


def test_robots_may_be_chosen() -> None:
    site = SiteOptions(url=URL, key=KEY, origin=ORIGIN, bots=("My.Bot",))
    assert site.wants(visit(agent="my.bot/2"))
    assert not site.wants(visit(agent="myxbot/2"))
    assert not site.wants(visit())
    assert not SiteOptions(url=URL, key=KEY, origin=ORIGIN, bots=()).wants(visit())


@pytest.mark.parametrize(
    "wrong",
    [{"url": "gossamer.example"}, {"url": "ftp://gossamer.example"}, {"key": ""}, {"key": "a\r\nb"},
     {"origin": "www.example.com"}, {"origin": "https://user@www.example.com"}, {"origin": "https://a?b"},
     {"origin": ""}],
)  # fmt: skip
def test_what_cannot_work_is_said_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SiteOptions(**{"url": URL, "key": KEY, "origin": ORIGIN, **wrong})


def test_the_key_is_not_shown() -> None:
    assert KEY not in repr(SiteOptions(url=URL, key=KEY, origin=ORIGIN))


def test_after_a_few_failures_one_asks_for_all() -> None:
    now = 0.0
    breaker = FrontBreaker(3, 30.0, lambda: now)
    for _ in range(3):
        assert breaker.allows()
        breaker.record_failure()
    assert not breaker.allows()
    now = 29.9
    assert not breaker.allows()
    now = 30.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.record_failure()
    now = 59.9
    assert not breaker.allows()
    now = 60.0
    assert breaker.allows()
    breaker.record_success()
    assert all(breaker.allows() for _ in range(10))


def test_failures_that_are_not_in_a_row_do_not_count() -> None:
    breaker = FrontBreaker(3, 30.0, lambda: 0.0)
    for _ in range(10):
        breaker.record_failure()
        breaker.record_failure()
        breaker.record_success()
    assert breaker.allows()
