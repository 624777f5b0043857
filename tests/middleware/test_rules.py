"""Whose visits, which address, and when to stop asking."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.middleware.breaker import Breaker
from gossamer.middleware.rules import LONGEST, Site, Visit
from gossamer.web import url
from gossamer.web.url import Url

URL, KEY = "https://gossamer.example", "sk_live_test"


def visit(
    target: bytes = b"/", scheme: str = "http", host: str = "www.example.com", agent: str = "GPTBot/1.0"
) -> Visit:
    return Visit("GET", scheme, target, {"user-agent": agent, "host": host})


def test_without_an_origin_the_host_is_believed_if_it_is_one() -> None:
    site = Site(url=URL, key=KEY)
    assert site.address(visit(b"/a?b", "https")) == "https://www.example.com/a?b"
    assert site.address(visit(host="[::1]:8000")) == "http://[::1]:8000/"
    for host in ("", "a b", "a/b", "a@b", "a?b", "a\r\nb", "user:password@host"):
        assert not site.wants(visit(host=host)), host
    assert Site(url=URL, key=KEY, origin="https://www.example.com").wants(visit(host=""))


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.integers(1, 2_100)), max_size=3),
    st.sampled_from((b"/", b"/a?b=")),
)
def test_nothing_is_asked_for_that_can_only_be_refused(parts: list[tuple[bytes, int]], start: bytes) -> None:
    site = Site(url=URL, key=KEY, origin="https://www.example.com")
    one = visit(start + b"".join(part * times for part, times in parts))
    if site.wants(one):
        Url.parse(site.address(one))


def test_an_address_may_be_as_long_as_gossamer_takes_it() -> None:
    assert LONGEST == url.LONGEST
    site = Site(url=URL, key=KEY, origin="https://www.example.com")
    room = LONGEST - len(site.address(visit()))
    assert site.wants(visit(b"/" + b"x" * room))
    assert not site.wants(visit(b"/" + b"x" * (room + 1)))


@pytest.mark.parametrize("origin", ["https://www.example.com/shop", "https://www.example.com/shop/"])
def test_a_site_below_a_path_that_the_proxy_has_taken_off(origin: str) -> None:
    assert Site(url=URL, key=KEY, origin=origin).address(visit(b"/a")) == "https://www.example.com/shop/a"


def test_paths_may_be_left_out() -> None:
    site = Site(url=URL, key=KEY, exclude=("/admin", "/api/"))
    wanted = [path for path in (b"/", b"/admin", b"/admin/x", b"/api", b"/api/x") if site.wants(visit(path))]
    assert wanted == [b"/", b"/api"]


def test_robots_may_be_chosen() -> None:
    site = Site(url=URL, key=KEY, bots=("My.Bot",))
    assert site.wants(visit(agent="my.bot/2"))
    assert not site.wants(visit(agent="myxbot/2"))
    assert not site.wants(visit())
    assert not Site(url=URL, key=KEY, bots=()).wants(visit())


@pytest.mark.parametrize(
    "wrong",
    [{"url": "gossamer.example"}, {"url": "ftp://gossamer.example"}, {"key": ""}, {"key": "a\r\nb"},
     {"origin": "www.example.com"}, {"origin": "https://user@www.example.com"}, {"origin": "https://a?b"}],
)  # fmt: skip
def test_what_cannot_work_is_said_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Site(**{"url": URL, "key": KEY, **wrong})


def test_the_key_is_not_shown() -> None:
    assert KEY not in repr(Site(url=URL, key=KEY))


def test_after_a_few_failures_one_asks_for_all() -> None:
    now = 0.0
    breaker = Breaker(3, 30.0, lambda: now)
    for _ in range(3):
        assert breaker.allows()
        breaker.failed()
    assert not breaker.allows()
    now = 29.9
    assert not breaker.allows()
    now = 30.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    breaker.failed()
    now = 59.9
    assert not breaker.allows()
    now = 60.0
    assert breaker.allows()
    breaker.succeeded()
    assert all(breaker.allows() for _ in range(10))


def test_failures_that_are_not_in_a_row_do_not_count() -> None:
    breaker = Breaker(3, 30.0, lambda: 0.0)
    for _ in range(10):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert breaker.allows()
