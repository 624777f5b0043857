"""Fetching: what comes back, how redirects, connections and attempts are dealt with."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from typing import Any
from urllib.parse import quote

import pytest
from tests.site.paths import GREETINGS, PAGE
from tests.site.server import Site

from gossamer import problems
from gossamer.problems import Problem
from gossamer.reach.http.client import HttpBounds
from gossamer.reach.http.failures import is_transient, reason_of
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.http.retry import retry_after
from gossamer.reach.net.dial import Dialer, client_context
from gossamer.reach.net.names import Names
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Hop
from gossamer.web.url.url import Url

USER_AGENT = "Gossamer/0 (+mailto:web@example.com)"
unique = itertools.count()


class Pauses(list[float]):
    """Remembers how long it should have slept."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def make_fetcher(site: Site, pauses: Pauses) -> AsyncIterator[Callable[..., Fetcher]]:
    fetchers: list[Fetcher] = []
    names = Names()

    def make(**bounds: Any) -> Fetcher:
        dialer = Dialer(
            names,
            allow=(ip_network("127.0.0.0/8"),),
            ports="*",
            context=client_context(authorities=str(site.authority)),
        )
        clock: dict[str, Any] = {"sleep": pauses, "randomness": lambda: 0.5, "now": lambda: 1_700_000_000.0}
        fetchers.append(Fetcher(dialer, USER_AGENT, bounds=HttpBounds(**bounds), **clock))
        return fetchers[-1]

    yield make
    for fetcher in fetchers:
        await fetcher.close()
    await names.close()


@pytest.fixture
def fetcher(make_fetcher: Callable[..., Fetcher]) -> Fetcher:
    return make_fetcher()


def ask(url: str, **options: Any) -> FetchSpec:
    return FetchSpec(url=Url.parse(url), **options)


async def refusal(fetcher: Fetcher, url: str, **options: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        await fetcher.fetch(ask(url, **{"attempts": 1, "timeout": 5} | options))
    return caught.value


# The page.


async def test_a_page_carries_all_that_is_known(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/ok#part")))
    assert (page.status, page.body, page.media_type, page.charset) == (200, PAGE, "text/html", "utf-8")
    assert page.url == site.url("/ok#part")
    assert page.final_url == site.url("/ok")
    assert page.header("content-type") == "text/html; charset=utf-8"
    assert page.header("x-missing") is None
    assert page.text == PAGE.decode()
    assert page.via == "fetch"
    assert page.wire_bytes == len(PAGE)
    assert page.redirects == ()
    assert 0 <= page.first_byte_ms <= page.elapsed_ms < 5000


async def test_the_request_says_who_asks_and_what_can_be_decoded(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(
        ask(site.url("/echo?a=%20b"), headers=(("X-Own", "1"), ("Accept", "text/css")))
    )
    told = json.loads(page.text)
    headers = dict(told["headers"])
    assert (told["method"], told["target"]) == ("GET", "/echo?a=%20b")
    assert headers["host"] == site.url("").removeprefix("http://")
    assert headers["user-agent"] == USER_AGENT
    assert headers["accept-encoding"] == "gzip, br, zstd"
    assert headers["x-own"] == "1"
    assert headers["accept"] == "text/css"
    assert len(headers) == len(told["headers"])
    assert page.media_type == "application/json"


@pytest.mark.parametrize("target", ["/status/404", "/status/500", "/status/418", "/status/999"])
async def test_whatever_the_target_says_is_a_page(fetcher: Fetcher, site: Site, target: str) -> None:
    page = await fetcher.fetch(ask(site.url(target), attempts=1))
    assert (page.status, page.body) == (int(target[-3:]), b"so be it")


@pytest.mark.parametrize(
    "path",
    [
        *("gzip", "gzip-members", "deflate", "deflate-raw", "br", "zstd", "chunked", "until-close"),
        *("old-lines", "slow?pause=0&bytes=7", "interim/3", "half-close"),
    ],
)
async def test_a_page_in_every_wrapping(fetcher: Fetcher, site: Site, path: str) -> None:
    page = await fetcher.fetch(ask(site.url(f"/{path}"), attempts=1, timeout=30))
    assert (page.status, page.text) == (200, PAGE.decode())


@pytest.mark.parametrize(("path", "status"), [("empty", 200), ("204", 204), ("304", 304)])
async def test_answers_without_a_body(fetcher: Fetcher, site: Site, path: str, status: int) -> None:
    page = await fetcher.fetch(ask(site.url(f"/{path}"), timeout=5))
    assert (page.status, page.body) == (status, b"")


async def test_head_brings_the_head_alone(fetcher: Fetcher, site: Site) -> None:
    for _ in range(2):
        page = await fetcher.fetch(ask(site.url("/ok?head"), method="HEAD", timeout=5))
        assert (page.status, page.body, page.header("content-length")) == (200, b"", str(len(PAGE)))


async def test_a_folded_field_is_one_line(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/old-lines")))
    assert (page.header("x-folded") or "").split() == ["one", "two"]


async def test_tls(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.secure_url("/ok")))
    assert page.text == PAGE.decode()
    page = await fetcher.fetch(ask(site.secure_url("/half-close"), timeout=5))
    assert page.text == PAGE.decode()


@pytest.mark.parametrize("told", ["header", "meta", "none"])
@pytest.mark.parametrize(
    "label", ["utf-8", "iso-8859-1", "windows-1251", "shift_jis", "euc-kr", "gb2312", "big5"]
)
async def test_charsets(fetcher: Fetcher, site: Site, label: str, told: str) -> None:
    page = await fetcher.fetch(ask(site.url(f"/charset/{label}?told={told}")))
    assert GREETINGS[label] in page.text


async def test_invalid_utf8_is_replaced(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/invalid-utf8")))
    assert page.text.startswith("<p>before \ufffd")
    assert page.text.endswith(" after</p>")


# Redirects.


async def test_redirects_are_followed_and_remembered(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/redirect/5")))
    assert page.final_url == site.url("/ok")
    assert page.redirects == tuple(Hop(site.url(f"/redirect/{left}"), 302) for left in (5, 4, 3, 2, 1))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_every_kind_of_redirect(fetcher: Fetcher, site: Site, status: int) -> None:
    page = await fetcher.fetch(ask(site.url(f"/redirect-to?status={status}&url=../ok%23part")))
    assert page.text == PAGE.decode()
    assert page.final_url == site.url("/ok")


async def test_a_sixth_redirect_is_too_many(fetcher: Fetcher, site: Site) -> None:
    problem = await refusal(fetcher, site.url("/redirect/6"))
    assert (problem.kind, reason_of(problem)) == (problems.FETCH_FAILED, "too_many_redirects")


async def test_a_loop_is_called_one(fetcher: Fetcher, site: Site) -> None:
    problem = await refusal(fetcher, site.url("/loop?loop"))
    assert reason_of(problem) == "redirect_loop"
    assert problem.members["details"]["url"].startswith(site.url("/loop"))


async def test_a_redirect_without_a_place_to_go_is_the_answer(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/redirect-nowhere")))
    assert (page.status, page.body, page.redirects) == (302, b"but not where to", ())


@pytest.mark.parametrize("location", ["http://", "mailto:me@example.com", "http://me:secret@example.com/"])
async def test_a_redirect_that_cannot_be_followed(fetcher: Fetcher, site: Site, location: str) -> None:
    problem = await refusal(fetcher, site.url(f"/redirect-to?url={quote(location, safe='')}"))
    assert (problem.kind, reason_of(problem)) == (problems.FETCH_FAILED, "bad_redirect")
    assert "secret" not in problem.detail


@pytest.mark.parametrize(
    "location", ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://localhost/"]
)
async def test_a_redirect_reaches_nothing_that_is_blocked(
    fetcher: Fetcher, site: Site, location: str
) -> None:
    problem = await refusal(fetcher, site.url(f"/redirect-to?url={quote(location, safe='')}"))
    assert (problem.kind, reason_of(problem)) == (problems.INVALID_URL, "hostname_blocked")
    assert problem.members["details"]["url"] == location
    assert not is_transient(problem)


async def test_secrets_stay_with_their_origin(fetcher: Fetcher, site: Site) -> None:
    secrets = (
        ("Authorization", "Bearer x"),
        ("Cookie", "a=b"),
        ("X-Api-Key", "k"),
        ("Accept-Language", "de"),
    )
    there = quote(site.other_url("/echo"), safe="")
    within = await fetcher.fetch(ask(site.url("/redirect-to?url=/echo"), headers=secrets))
    across = await fetcher.fetch(ask(site.url(f"/redirect-to?url={there}"), headers=secrets))
    assert {"authorization", "cookie", "x-api-key"} <= dict(json.loads(within.text)["headers"]).keys()
    headers = dict(json.loads(across.text)["headers"])
    assert not {"authorization", "cookie", "x-api-key"} & headers.keys()
    assert headers["accept-language"] == "de"


async def test_secrets_do_not_come_back_from_a_detour(fetcher: Fetcher, site: Site) -> None:
    back = quote(site.url("/echo"), safe="")
    there = quote(site.other_url(f"/redirect-to?url={back}"), safe="")
    page = await fetcher.fetch(ask(site.url(f"/redirect-to?url={there}"), headers=(("Cookie", "a=b"),)))
    assert "cookie" not in dict(json.loads(page.text)["headers"])


async def test_a_cookie_that_is_asked_back_comes_back(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/cookies?jar")))
    assert page.text == PAGE.decode()
    page = await fetcher.fetch(ask(site.url("/echo")))
    assert "cookie" not in dict(json.loads(page.text)["headers"])  # the visit is over


async def test_the_body_of_a_redirect_is_not_looked_at(fetcher: Fetcher, site: Site) -> None:
    page = await fetcher.fetch(ask(site.url("/redirect-bomb")))
    assert page.text == PAGE.decode()


# What callers may send.


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "☃", "\x7f"])
def test_a_header_is_one_line(value: str) -> None:
    with pytest.raises(Problem) as caught:
        ask("http://example.com/", headers=(("X-Own", value),))
    assert caught.value.kind is problems.VALIDATION_ERROR


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "content-length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Accept-Encoding"),
        *("Proxy-Authorization", "", "a b", "a:b", "ä", "a\r\n"),
    ],
)
def test_headers_that_frame_the_message_are_ours(name: str) -> None:
    with pytest.raises(Problem) as caught:
        ask("http://example.com/", headers=((name, "1"),))
    assert caught.value.kind is problems.VALIDATION_ERROR


# Connections.


async def test_a_connection_is_used_again(fetcher: Fetcher, site: Site) -> None:
    target = f"/ok?again={next(unique)}"
    pages = [await fetcher.fetch(ask(site.url(target))) for _ in range(3)]
    assert len({request.connection for request in site.seen(target)}) == 1
    assert [page.connect_ms for page in pages[1:]] == [0, 0]


@pytest.mark.parametrize("path", ["length-long", "until-close", "drop", "stall", "chunked-bad", "gzip-not"])
async def test_a_connection_that_misbehaved_is_not(fetcher: Fetcher, site: Site, path: str) -> None:
    before = f"/ok?before={next(unique)}"
    after = f"/ok?after={next(unique)}"
    await fetcher.fetch(ask(site.url(before)))
    try:
        page = await fetcher.fetch(ask(site.url(f"/{path}"), attempts=1, timeout=0.3))
        assert PAGE.startswith(page.body)
    except Problem:
        pass
    page = await fetcher.fetch(ask(site.url(after)))
    assert page.text == PAGE.decode()
    assert site.seen(before)[0].connection != site.seen(after)[0].connection


async def test_an_idle_connection_grows_too_old(make_fetcher: Callable[..., Fetcher], site: Site) -> None:
    fetcher = make_fetcher(idle_seconds=0.0)
    target = f"/ok?old={next(unique)}"
    for _ in range(3):
        await fetcher.fetch(ask(site.url(target)))
    assert len({request.connection for request in site.seen(target)}) == 3


async def test_an_idle_connection_that_was_closed_costs_no_attempt(fetcher: Fetcher, site: Site) -> None:
    """The target ends an idle connection at the moment at which we use it."""
    target = f"/drop-then-ok?stale={next(unique)}"
    await fetcher.fetch(ask(site.url("/ok")))
    page = await fetcher.fetch(ask(site.url(target), attempts=1))
    assert page.text == PAGE.decode()
    first, second = site.seen(target)
    assert first.connection != second.connection


async def test_at_most_so_many_at_once_with_one_place(
    make_fetcher: Callable[..., Fetcher], site: Site
) -> None:
    fetcher = make_fetcher(exchanges_per_origin=2)
    target = f"/ok?few={next(unique)}"
    await asyncio.gather(*(fetcher.fetch(ask(site.url(target))) for _ in range(20)))
    assert len({request.connection for request in site.seen(target)}) <= 2


async def test_waiting_for_a_turn_ends_at_the_deadline(
    make_fetcher: Callable[..., Fetcher], site: Site
) -> None:
    fetcher = make_fetcher(exchanges_per_origin=1)
    slow = asyncio.create_task(fetcher.fetch(ask(site.url("/first-byte-late"), timeout=5)))
    await asyncio.sleep(0)
    problem = await refusal(fetcher, site.url("/ok"), timeout=0.1)
    assert (problem.kind, reason_of(problem)) == (problems.FETCH_TIMEOUT, "busy")
    elsewhere = await fetcher.fetch(ask(site.other_url("/ok"), timeout=5))
    assert elsewhere.status == 200
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert (await fetcher.fetch(ask(site.url("/ok"), timeout=5))).status == 200


async def test_cancelling_closes_the_connection(make_fetcher: Callable[..., Fetcher], site: Site) -> None:
    fetcher = make_fetcher(exchanges=1, exchanges_per_origin=1)
    for path in ("first-byte-late", "stall", "huge"):
        fetch = asyncio.create_task(fetcher.fetch(ask(site.url(f"/{path}?cancel"), max_bytes=10**12)))
        while not site.seen(f"/{path}?cancel"):
            await asyncio.sleep(0.001)
        fetch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetch
    assert (await fetcher.fetch(ask(site.url("/ok")))).status == 200  # and the only turn was given back


async def test_closing_ends_everything(make_fetcher: Callable[..., Fetcher], site: Site) -> None:
    fetcher = make_fetcher()
    await fetcher.fetch(ask(site.url("/ok")))
    fetch = asyncio.create_task(fetcher.fetch(ask(site.url("/stall?close"), attempts=1)))
    while not site.seen("/stall?close"):
        await asyncio.sleep(0.001)
    await fetcher.close()
    with pytest.raises(Problem):
        await fetch


# Attempts.


async def test_s19_a_passing_error_is_tried_again(fetcher: Fetcher, site: Site, pauses: Pauses) -> None:
    page = await fetcher.fetch(ask(site.url("/503-then-ok?times=2&a")))
    assert page.status == 200
    assert pauses == [1.25, 2.25]


async def test_s19_a_dropped_connection_is_tried_again(fetcher: Fetcher, site: Site, pauses: Pauses) -> None:
    page = await fetcher.fetch(ask(site.url("/drop-then-ok?b")))
    assert page.status == 200
    assert pauses == [1.25]


async def test_s19_three_attempts_are_all(fetcher: Fetcher, site: Site, pauses: Pauses) -> None:
    assert (await fetcher.fetch(ask(site.url("/503-then-ok?times=3&c")))).status == 503
    assert len(site.seen("/503-then-ok?times=3&c")) == 3
    problem = await refusal(fetcher, site.other_url("/reset?c"), attempts=3, timeout=30)
    assert problem.kind is problems.FETCH_FAILED
    assert len(site.seen("/reset?c")) == 3
    assert pauses == [1.25, 2.25] * 2


async def test_one_attempt_for_those_who_retry_themselves(
    fetcher: Fetcher, site: Site, pauses: Pauses
) -> None:
    assert (await fetcher.fetch(ask(site.url("/503-then-ok?times=1&d"), attempts=1))).status == 503
    assert pauses == []


@pytest.mark.parametrize("path", ["not-http", "loop", "huge-declared", "stacked", "gzip-not"])
async def test_s19_what_will_not_change_is_not_tried_again(
    fetcher: Fetcher, site: Site, pauses: Pauses, path: str
) -> None:
    target = f"/{path}?once={next(unique)}"
    assert not is_transient(await refusal(fetcher, site.url(target), attempts=3))
    assert len(site.seen(target)) == 1
    assert pauses == []


@pytest.mark.parametrize("status", [400, 403, 404, 410])
async def test_s19_no_is_an_answer(fetcher: Fetcher, site: Site, pauses: Pauses, status: int) -> None:
    target = f"/status/{status}?once={next(unique)}"
    assert (await fetcher.fetch(ask(site.url(target)))).status == status
    assert len(site.seen(target)) == 1
    assert pauses == []


@pytest.mark.parametrize(
    ("after", "pause"),
    [("0", 1.25), ("7", 7.25), ("nonsense", 1.25), ("Tue, 14 Nov 2023 22:13:25 GMT", 5.25)],
)
async def test_retry_after_is_obeyed(
    fetcher: Fetcher, site: Site, pauses: Pauses, after: str, pause: float
) -> None:
    page = await fetcher.fetch(ask(site.url(f"/503-then-ok?after={quote(after)}&n={next(unique)}")))
    assert page.status == 200
    assert pauses == [pause]


@pytest.mark.parametrize("after", ["31", "9" * 400, "Tue, 14 Nov 2033 22:13:25 GMT"])
async def test_nobody_waits_longer_than_there_is_time(
    fetcher: Fetcher, site: Site, pauses: Pauses, after: str
) -> None:
    page = await fetcher.fetch(ask(site.url(f"/429?after={quote(after)}"), timeout=30))
    assert page.status == 429
    assert pauses == []


def test_retry_after_in_the_past_is_now() -> None:
    assert retry_after("Tue, 14 Nov 2023 22:13:20 GMT", 1_800_000_000.0) == 0.0
    assert retry_after(None, 0.0) == 0.0
