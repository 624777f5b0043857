"""Upstream proxies: who goes through which, what they are told, and what happens when they are down.

"Public" is 127.0.0.1, which `allow` opens; the other loopback addresses are forbidden.
"""

import asyncio
import io
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Literal

import pytest
from tests.site.dns import Clock, NameServer, name_server
from tests.site.upstream import UpstreamProxy, upstream_proxy

from gossamer.observe.logs import Log
from gossamer.problems import FETCH_FAILED, INVALID_URL, Problem, ProblemKind, Unavailable
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.reach.net.upstreams import FIRST_PAUSE, Upstreams
from gossamer.settings.upstream import upstream
from gossamer.settings.values import Expected
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.url.url import Url

HERE = (ip_network("127.0.0.1/32"),)
Scheme = Literal["http", "socks5"]


class Ground:
    """A name server, a site, and fetchers that go through proxies."""

    def __init__(self, dns: NameServer, port: int) -> None:
        self.dns = dns
        self.port = port
        self.clock = Clock()
        self.log = io.StringIO()
        self._open: list[Fetcher | Names] = []

    def upstreams(self, *urls: str) -> Upstreams:
        return Upstreams([upstream(url) for url in urls], Log(self.log), self.clock)

    def fetcher(self, upstreams: Upstreams) -> Fetcher:
        names = Names([self.dns.address], limit=1.0)
        dialer = Dialer(names, allow=HERE, ports="*", upstreams=upstreams)
        fetcher = Fetcher(dialer, "test", lane=dialer.lane)
        self._open += [fetcher, names]
        return fetcher

    def spec(self, host: str, tenant: str = "") -> FetchSpec:
        url = Url.parse(f"http://{host}:{self.port}/")
        return FetchSpec(url=url, tenant=tenant, attempts=1, timeout=5.0)

    async def close(self) -> None:
        for opened in self._open:
            await opened.close()


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline() not in (b"\r\n", b""):
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        writer.close()

    site = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with name_server() as dns:
        prepared = Ground(dns, site.sockets[0].getsockname()[1])
        dns.say("site.test", ("127.0.0.1",))
        dns.say("inside.test", ("127.0.0.3",))
        try:
            yield prepared
        finally:
            await prepared.close()
            site.close()
            await site.wait_closed()


async def refused(fetcher: Fetcher, spec: FetchSpec, kind: ProblemKind) -> Problem:
    with pytest.raises(Problem) as caught:
        await fetcher.fetch(spec)
    assert caught.value.kind is kind, caught.value
    return caught.value


@pytest.mark.parametrize("credentials", [None, ("me", "a secret")])
@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_the_proxy_is_told_a_judged_address(
    ground: Ground, scheme: Scheme, credentials: tuple[str, str] | None
) -> None:
    async with upstream_proxy(scheme, credentials) as proxy:
        fetcher = ground.fetcher(ground.upstreams(proxy.url()))
        page = await fetcher.fetch(ground.spec("site.test"))
        assert page.body == b"hi"
        assert proxy.asked == [("127.0.0.1", ground.port)]


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_forbidden_address_is_refused_before_the_proxy_hears_of_it(
    ground: Ground, scheme: Scheme
) -> None:
    async with upstream_proxy(scheme) as proxy:
        fetcher = ground.fetcher(ground.upstreams(proxy.url()))
        await refused(fetcher, ground.spec("inside.test"), FETCH_FAILED)
        await refused(fetcher, ground.spec("127.0.0.3"), INVALID_URL)
        assert proxy.asked == []


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_that_resolves_is_told_the_name(ground: Ground, scheme: Scheme) -> None:
    async with upstream_proxy(scheme) as proxy:
        proxy.names["only-there.test"] = "127.0.0.1"
        fetcher = ground.fetcher(ground.upstreams(proxy.url("?resolve=proxy")))
        assert (await fetcher.fetch(ground.spec("only-there.test"))).body == b"hi"
        await refused(fetcher, ground.spec("127.0.0.3"), INVALID_URL)
        assert proxy.asked == [("only-there.test", ground.port)]


async def test_hosts_and_tenants_have_proxies_of_their_own(ground: Ground) -> None:
    async with (
        upstream_proxy("http") as general,
        upstream_proxy("http") as named,
        upstream_proxy("socks5") as mine,
    ):
        ground.dns.say("www.other.test", ("127.0.0.1",))
        fetcher = ground.fetcher(
            ground.upstreams(
                general.url(), named.url("?host=*.other.test&host=other.test"), mine.url("?tenant=ten_1")
            )
        )
        ways: dict[tuple[str, str], UpstreamProxy] = {
            ("site.test", ""): general,
            ("www.other.test", ""): named,
            ("site.test", "ten_1"): mine,
            ("www.other.test", "ten_1"): mine,
            ("site.test", "ten_2"): general,
        }
        for (host, tenant), expected in ways.items():
            before = {proxy: len(proxy.asked) for proxy in (general, named, mine)}
            await fetcher.fetch(ground.spec(host, tenant))
            used = [proxy for proxy in before if len(proxy.asked) > before[proxy]]
            assert used == [expected], (host, tenant)


async def test_what_no_rule_names_goes_directly(ground: Ground) -> None:
    async with upstream_proxy("http") as proxy:
        fetcher = ground.fetcher(ground.upstreams(proxy.url("?host=other.test")))
        assert (await fetcher.fetch(ground.spec("site.test"))).body == b"hi"
        assert proxy.asked == []


async def test_equal_proxies_take_turns(ground: Ground) -> None:
    async with upstream_proxy("http") as one, upstream_proxy("socks5") as two:
        fetcher = ground.fetcher(ground.upstreams(one.url(), two.url()))
        for _ in range(4):
            await fetcher.fetch(ground.spec("site.test"))
        assert (len(one.asked), len(two.asked)) == (2, 2)


async def test_a_proxy_that_is_down_is_left_out_and_comes_back(ground: Ground) -> None:
    async with upstream_proxy("http") as stays:
        async with upstream_proxy("http") as goes:
            upstreams = ground.upstreams(stays.url(), goes.url())
        fetcher, port = ground.fetcher(upstreams), goes.port
        for _ in range(4):  # one of the first two meets it, and goes on with the other
            await fetcher.fetch(ground.spec("site.test"))
        assert len(stays.asked) == 4
        assert ground.log.getvalue().count("upstream_down") == 1
        with pytest.raises(Unavailable, match="1 of 2"):
            await upstreams.ask()
        async with upstream_proxy("http", port=port) as back:
            await upstreams.check()
            assert await upstreams.ask() == {"upstreams": 2}
            for _ in range(2):
                await fetcher.fetch(ground.spec("site.test"))
            assert len(back.asked) == 1
    assert "upstream_up" in ground.log.getvalue()


async def test_if_all_are_down_nothing_goes_directly(ground: Ground) -> None:
    async with upstream_proxy("http") as goes:
        upstreams = ground.upstreams(goes.url())
    fetcher = ground.fetcher(upstreams)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await fetcher.fetch(ground.spec("site.test"))
    assert ground.log.getvalue().count("upstream_down") == 1  # the second one did not try
    ground.clock.now += FIRST_PAUSE
    async with upstream_proxy("http", port=goes.port):
        assert (await fetcher.fetch(ground.spec("site.test"))).body == b"hi"


@pytest.mark.parametrize(("scheme", "refusal"), [("http", 502), ("socks5", 5)])
async def test_a_target_that_the_proxy_cannot_reach_is_not_the_proxy_s_fault(
    ground: Ground, scheme: Scheme, refusal: int
) -> None:
    async with upstream_proxy(scheme) as proxy:
        proxy.refusal = refusal
        upstreams = ground.upstreams(proxy.url())
        problem = await refused(ground.fetcher(upstreams), ground.spec("site.test"), FETCH_FAILED)
        assert problem.reason == "unreachable"
        assert await upstreams.ask() == {"upstreams": 1}


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_wrong_password_takes_the_proxy_down(ground: Ground, scheme: Scheme) -> None:
    async with upstream_proxy(scheme, ("me", "right")) as proxy:
        fetcher = ground.fetcher(ground.upstreams(proxy.url().replace("right", "wrong")))
        with pytest.raises(Unavailable):
            await fetcher.fetch(ground.spec("site.test"))
    assert "wrong" not in ground.log.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "ftp://proxy:1",
        "proxy:3128",
        "http://",
        "http://proxy:99999",
        "http://proxy/path",
        "http://proxy?hosts=a",
        "http://proxy?host=",
        "socks5://proxy?resolve=maybe",
    ],
)
def test_a_bad_upstream_is_refused(text: str) -> None:
    with pytest.raises(Expected):
        upstream(text)


def test_an_upstream_shows_no_credentials() -> None:
    shown = upstream("socks5://me:pass%40word@proxy?host=A.test&tenant=Ten_1")
    assert (shown.user, shown.password, shown.port) == ("me", "pass@word", 1080)
    assert (shown.hosts, shown.tenants) == (("a.test",), ("Ten_1",))
    assert "pass" not in f"{shown} {shown!r}"
