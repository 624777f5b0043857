"""The rules of a host, as a crawl asks for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from tests.doors.services import Visit, Visiting

from gossamer.flows.crawl.frontier_batcher import FrontierBatcher
from gossamer.flows.crawl.politeness.robots import VALID_SECONDS, RobotsFiles
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.problems import Problem
from gossamer.state.crawl.hosts import HostLease, Hosts
from gossamer.state.crawl.reading.stored_robots import StoredRobots
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.url.url import Url

NOW = 1_000_000_000_000
LATER = NOW + int(VALID_SECONDS * 1000)


@dataclass
class Host:
    """Answers every request with the next of these; the last one stays."""

    answers: list[tuple[int, bytes]]
    asked: list[str] = field(default_factory=list)
    url: str = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Host"]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/page"
        async with server:
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked.append(head.split(b" ")[1].decode())
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        writer.write(
            b"HTTP/1.1 %d .\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body))
        )
        writer.write(body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@dataclass
class Asking:
    files: RobotsFiles
    hosts: Hosts
    lease: HostLease
    pauses: list[float]

    async def stored(self) -> StoredRobots:
        found = await self.hosts.robots(self.lease.host)
        assert found is not None
        return found


@asynccontextmanager
async def asking(visiting: Visiting, url: str) -> AsyncIterator[Asking]:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        lease = await leased(visit, url)
        service = visit.service
        batcher = FrontierBatcher(service.frontier, service.hosts)
        files = RobotsFiles(service.fetcher, batcher, service.hot, "Gossamer/1", 60.0, sleep)
        yield Asking(files, service.hosts, lease, pauses)


async def leased(visit: Visit, url: str) -> HostLease:
    spec = CrawlSpec(seeds=(url,))
    await visit.service.crawls.create(PUBLIC, spec, urls=seeds_of(spec))
    (lease,) = await visit.service.hosts.lease("test", 1)
    return lease


async def test_a_host_that_keeps_silent_is_asked_three_times_and_then_forbids_all(visiting: Visiting) -> None:
    asked = []

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
        await reader.read()  # until whoever asked hangs up
        writer.close()

    server = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/page"
    async with server, asking(visiting, url) as ask:
        ask.files.timeout = 0.5
        rules, _ = await ask.files.of(ask.lease, Url.parse(url), NOW)
        assert (rules.unknown, rules.status, rules.robots.allows("/")) == (True, None, False)
        assert (asked, len(ask.pauses)) == ([b"/robots.txt"] * 3, 2)
        assert (await ask.stored()).status is None


async def test_rules_are_asked_for_once_and_kept_with_the_host_and_in_the_hot_store(
    visiting: Visiting,
) -> None:
    body = b"User-agent: gossamer\nDisallow: /private\nCrawl-delay: 3"
    async with Host([(200, body)]).open() as host, asking(visiting, host.url) as ask:
        url = Url.parse(host.url)
        rules, asked = await ask.files.of(ask.lease, url, NOW)
        assert asked
        assert (rules.robots.allows("/private/x"), rules.robots.allows("/x")) == (False, True)
        assert rules.robots.delay == 3.0
        stored = await ask.stored()
        assert (stored.status, stored.body, stored.expires_at) == (200, body.decode(), NOW + 3_600_000)
        _, asked = await ask.files.of(ask.lease, url, NOW + 1)  # from the hot store
        assert not asked
        await ask.files.hot.drop(f"crawl:robots:{ask.lease.host}")
        _, asked = await ask.files.of(replace(ask.lease, robots=stored), url, NOW + 1)  # from the lease
        assert not asked
        _, asked = await ask.files.of(replace(ask.lease, robots=stored), url, NOW + int(VALID_SECONDS * 1000))
        assert asked
        assert host.asked == ["/robots.txt"] * 2
        assert ask.pauses == []


async def test_a_delay_is_heeded_up_to_the_longest_one_and_a_host_that_forbids_all_is_known(
    visiting: Visiting,
) -> None:
    body = b"User-agent: *\nDisallow: /\nCrawl-delay: 86400"
    async with Host([(200, body)]).open() as host, asking(visiting, host.url) as ask:
        rules, _ = await ask.files.of(ask.lease, Url.parse(host.url), NOW)
        assert (rules.robots.delay, rules.delay, rules.unknown) == (86_400.0, 60.0, False)
        found = await ask.hosts.get(ask.lease.host)
        assert found is not None
        assert not found.is_allowed


async def test_rfc9309_4xx_allows_all(visiting: Visiting) -> None:
    async with Host([(403, b"")]).open() as host, asking(visiting, host.url) as ask:
        rules, _ = await ask.files.of(ask.lease, Url.parse(host.url), NOW)
        assert rules.robots.allows("/anything")
        assert not rules.unknown


async def test_rfc9309_5xx_disallows_all_after_two_more_attempts(visiting: Visiting) -> None:
    async with Host([(503, b"")]).open() as host, asking(visiting, host.url) as ask:
        url = Url.parse(host.url)
        rules, _ = await ask.files.of(ask.lease, url, NOW)
        assert (rules.unknown, rules.again, rules.robots.allows("/")) == (True, False, False)
        assert ask.pauses == [2.0, 4.0]
        stored = await ask.stored()
        assert await ask.files.hot.get(f"crawl:robots:{ask.lease.host}") is None  # others may try it
        rules, _ = await ask.files.of(replace(ask.lease, robots=stored), url, NOW + 3_600_000)
        assert (rules.unknown, rules.again) == (True, True)  # for an hour now


async def test_an_answer_at_the_second_attempt_is_enough(visiting: Visiting) -> None:
    answers = [(500, b""), (200, b"User-agent: *\nDisallow: /")]
    async with Host(answers).open() as host, asking(visiting, host.url) as ask:
        rules, _ = await ask.files.of(ask.lease, Url.parse(host.url), NOW)
        assert (rules.unknown, rules.robots.allows("/"), ask.pauses) == (False, False, [2.0])


async def test_a_host_whose_rules_are_where_nobody_may_go_does_not_say_them(visiting: Visiting) -> None:
    async def lead_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 302 .\r\nLocation: http://127.0.0.2/\r\nContent-Length: 0\r\n")
        writer.write(b"Connection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(lead_on, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/page"
    async with server, asking(visiting, url) as ask:
        rules, _ = await ask.files.of(ask.lease, Url.parse(url), NOW)
        assert (rules.unknown, rules.status, rules.robots.allows("/")) == (True, None, False)


async def test_a_host_that_may_not_be_visited_has_no_rules(visiting: Visiting) -> None:
    async with asking(visiting, "http://127.0.0.2/") as ask:
        with pytest.raises(Problem) as refused:
            await ask.files.of(ask.lease, Url.parse("http://127.0.0.2/"), NOW)
        assert refused.value.members["details"]["reason"] == "hostname_blocked"
