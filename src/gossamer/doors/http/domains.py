"""Hosts over HTTP: what a crawl has to do with each, how it wants to be asked, and its robots.txt."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.crawl_shapes import CrawlId
from gossamer.doors.http.crawls import asked_crawl
from gossamer.doors.http.exchange import Exchange
from gossamer.doors.http.host_names import HostName, host_names
from gossamer.doors.http.jobs import tenant_seen_by
from gossamer.doors.http.routing import Route
from gossamer.flows.crawl.robots import forget as forget_robots
from gossamer.problems import Problem
from gossamer.state.crawls import Crawls
from gossamer.state.hosts import Host, Hosts
from gossamer.state.hot import Hot
from gossamer.state.tenants import Role
from gossamer.state.waiting import Reason

MOST_LISTED: Final = 1_000


class DomainQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which hosts of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="A crawl; without it your default one.")] = None
    cursor: Annotated[HostName | None, Meta(description="Where the page before ended.")] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="Hosts a page.")] = 100


class HostCounts(msgspec.Struct, rename="camel"):
    """A crawl's URLs on a host, by what became of them."""

    pending: int
    in_progress: int
    completed: int
    failed: int
    blocked: int


class ShownHost(msgspec.Struct, rename="camel"):
    """A host, as a crawl sees it."""

    host: Annotated[str, Meta(description="With its port.")]
    crawl_delay: Annotated[float | None, Meta(description="Seconds between two requests, once it is known.")]
    is_allowed: Annotated[
        bool, Meta(description="`false`: robots.txt forbids the front page, or cannot be had.")
    ]
    failures: Annotated[int, Meta(description="Requests without an answer, one after another.")]
    resting_until: Annotated[str | None, Meta(description="It is left alone until then.")]
    waits_for: Annotated[
        Reason | None, Meta(description="Why it is left alone; the words are those of a crawl's `waiting`.")
    ]
    counts: Annotated[
        HostCounts | UnsetType, Meta(description="In a list: the crawl's URLs on it, by what became of them.")
    ] = UNSET


class DomainList(msgspec.Struct, rename="camel"):
    """Hosts of a crawl, in the order of their names."""

    crawl_id: str
    domains: list[ShownHost]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class ShownRobots(msgspec.Struct, rename="camel"):
    """What a host said when it was last asked for robots.txt."""

    host: str
    status: Annotated[int | None, Meta(description="`null`: it did not answer.")]
    body: str
    crawl_delay: Annotated[float | None, Meta(description="Seconds between two requests, once it is known.")]
    fetched_at: str
    expires_at: str


class RobotsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Of which crawl the host is."""

    crawl: Annotated[
        CrawlId | None, Meta(description="A crawl; without it your default one, for admins any.")
    ] = None


class Domains:
    def __init__(self, crawls: Crawls, hosts: Hosts, hot: Hot) -> None:
        self._crawls = crawls
        self._hosts = hosts
        self._hot = hot

    async def list_domains(self, exchange: Exchange, query: DomainQuery) -> DomainList:
        crawl = await asked_crawl(self._crawls, exchange, query.crawl)
        found = await self._hosts.listing(crawl_id=crawl.id, after=query.cursor, limit=query.limit + 1)
        page = found[: query.limit]
        return DomainList(
            crawl.id,
            [_of_crawl(host) for host in page],
            page[-1].host if len(found) > query.limit else None,
        )

    async def get_robots(self, exchange: Exchange, domain: str, query: RobotsQuery) -> ShownRobots:
        host = await self._host(exchange, domain, query.crawl)
        stored = await self._hosts.robots(host.host)
        if stored is None:
            raise Problem(problems.NOT_FOUND, "This host has not been asked for its robots.txt.")
        return ShownRobots(
            host=host.host,
            status=stored.status,
            body=stored.body,
            crawl_delay=_seconds(host.delay_ms),
            fetched_at=moments.stored(stored.fetched_at),
            expires_at=moments.stored(stored.expires_at),
        )

    async def reset_domain(self, exchange: Exchange, domain: str) -> ShownHost:
        for name in host_names(domain):
            if await self._hosts.reset(name):
                await forget_robots(self._hot, name)
                host = await self._hosts.get(name)
                if host is not None:
                    return shown_host(host)
        raise _unknown()

    async def _host(self, exchange: Exchange, domain: str, crawl_id: str | None) -> Host:
        """One of the crawl; for admins who name none, any."""
        everywhere = crawl_id is None and tenant_seen_by(exchange.caller) is None
        crawl = None if everywhere else await asked_crawl(self._crawls, exchange, crawl_id)
        for name in host_names(domain):
            found = await self._hosts.listing(crawl_id=crawl.id if crawl else None, host=name, limit=1)
            if found:
                return found[0]
        raise _unknown()

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"tag": "Crawls", "problems": (problems.NOT_FOUND,)}
        named: dict[str, Any] = {
            **common,
            "parameters": {"domain": "The host: `name:port`, or a name alone for the usual ports."},
        }
        return [
            Route(
                method="GET",
                path="/api/domains",
                handler=self.list_domains,
                needs=Role.USER,
                summary="The hosts of a crawl",
                example=DomainList("01JGGR2Z3W8Q4T6V9X0Y1B2C3D", [_EXAMPLE_LISTED], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/domains/{domain}/robots",
                handler=self.get_robots,
                needs=Role.USER,
                summary="The robots.txt of a host, as it is obeyed",
                example=_EXAMPLE_ROBOTS,
                **named,
            ),
            Route(
                method="POST",
                path="/api/admin/domains/{domain}/reset",
                handler=self.reset_domain,
                needs=Role.ADMIN,
                summary="Try a host again that is left alone",
                description="Its failures are forgotten and its robots.txt is asked for anew.",
                example=_EXAMPLE,
                **named,
            ),
        ]


def shown_host(host: Host) -> ShownHost:
    return ShownHost(
        host=host.host,
        crawl_delay=_seconds(host.delay_ms),
        is_allowed=host.is_allowed,
        failures=host.failures,
        resting_until=moments.stored(host.waiting.until) if host.waiting else None,
        waits_for=host.waiting.reason if host.waiting else None,
    )


def _of_crawl(host: Host) -> ShownHost:
    shown = shown_host(host)
    shown.counts = HostCounts(host.pending, host.in_progress, host.completed, host.failed, host.blocked)
    return shown


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _unknown() -> Problem:
    return Problem(problems.NOT_FOUND, "The crawl knows no such host.")


_EXAMPLE: Final = ShownHost(
    host="example.com:443", crawl_delay=1.0, is_allowed=True, failures=0, resting_until=None, waits_for=None
)
_EXAMPLE_LISTED: Final = msgspec.structs.replace(_EXAMPLE, counts=HostCounts(38, 12, 204, 3, 7))
_EXAMPLE_ROBOTS: Final = ShownRobots(
    host="example.com:443",
    status=200,
    body="User-agent: *\nDisallow: /private\n",
    crawl_delay=1.0,
    fetched_at="2026-01-01T12:00:00.000Z",
    expires_at="2026-01-01T13:00:00.000Z",
)
