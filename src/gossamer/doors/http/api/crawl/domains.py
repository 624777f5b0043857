"""The hosts of a crawl over HTTP: their counts and pace, and their robots.txt."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import tenant_seen_by
from gossamer.doors.http.api.crawl.crawl_shapes import CrawlId
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.api.crawl.host_names import HostName, host_names
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.managing.control import CrawlControl
from gossamer.problems import Problem
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.hosts import Host, Hosts
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.progress import UrlCounts, WaitReason

MAX_LISTED: Final = 1_000


class DomainQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which hosts."""

    crawl: Annotated[CrawlId | None, Meta(description="Only hosts of this crawl.")] = None
    cursor: Annotated[HostName | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Hosts in a page.")] = 100


class ShownHost(msgspec.Struct, rename="camel"):
    """A host, as a crawl sees it."""

    host: Annotated[str, Meta(description="With its port.")]
    crawl_delay: Annotated[float | None, Meta(description="Seconds between two requests, once it is known.")]
    is_allowed: Annotated[
        bool, Meta(description="`false` if robots.txt forbids the front page, or cannot be fetched.")
    ]
    failures: Annotated[int, Meta(description="Requests in a row without an answer.")]
    resting_until: Annotated[str | None, Meta(description="No request is sent before.")]
    waits_for: Annotated[
        WaitReason | None,
        Meta(description="Why no request is sent; the values are those of a crawl's `waiting`."),
    ]
    counts: Annotated[
        UrlCounts | UnsetType,
        Meta(description="In a list: the URLs on it, by state, of the crawl or of all your crawls."),
    ] = UNSET


class DomainList(msgspec.Struct, rename="camel"):
    """Hosts of a crawl or of all your crawls, in the order of their names."""

    crawl_id: Annotated[str | None, Meta(description="The crawl; `null` if it is of all your crawls.")]
    domains: list[ShownHost]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class ShownRobots(msgspec.Struct, rename="camel"):
    """A host's answer when it was last asked for robots.txt."""

    host: str
    status: Annotated[int | None, Meta(description="`null` if it did not answer.")]
    body: str
    crawl_delay: Annotated[float | None, Meta(description="Seconds between two requests, once it is known.")]
    fetched_at: str
    expires_at: str


class RobotsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which crawl the host belongs to."""

    crawl: Annotated[
        CrawlId | None, Meta(description="A crawl; by default any of yours, for admins any at all.")
    ] = None


class DomainsEndpoints(Struct, frozen=True):
    crawls: Crawls
    hosts: Hosts
    control: CrawlControl

    async def list_domains(self, exchange: Exchange, query: DomainQuery) -> DomainList:
        crawl_id = await self._named(exchange, query.crawl)
        found = await self.hosts.listing(
            crawl_id=crawl_id,
            tenant=exchange.caller.tenant_id,
            after=query.cursor,
            limit=query.limit + 1,
        )
        page = found[: query.limit]
        return DomainList(
            crawl_id,
            [_to_api(host) for host in page],
            page[-1].host if len(found) > query.limit else None,
        )

    async def get_domain(self, exchange: Exchange, domain: str) -> ShownHost:
        return _to_api(await self._host(exchange, domain, None))

    async def get_robots(self, exchange: Exchange, domain: str, query: RobotsQuery) -> ShownRobots:
        host = await self._host(exchange, domain, query.crawl)
        stored = await self.hosts.robots(host.host)
        if stored is None:
            raise Problem(problems.NOT_FOUND, "This host has not been asked for its robots.txt.")
        return ShownRobots(
            host=host.host,
            status=stored.status,
            body=stored.body,
            crawl_delay=_seconds(host.delay_ms),
            fetched_at=timestamps.from_ms(stored.fetched_at),
            expires_at=timestamps.from_ms(stored.expires_at),
        )

    async def reset_domain(self, exchange: Exchange, domain: str) -> ShownHost:
        for name in host_names(domain):
            if await self.control.reset(name, exchange.caller, exchange.actor):
                host = await self.hosts.get(name)
                if host is not None:
                    return _to_api(host)
        raise _unknown()

    async def _host(self, exchange: Exchange, domain: str, crawl_id: str | None) -> Host:
        """A host of the crawl or of the caller's crawls; any host for an admin who names no crawl."""
        named, tenant = await self._named(exchange, crawl_id), tenant_seen_by(exchange.caller)
        for name in host_names(domain):
            found = await self.hosts.listing(crawl_id=named, tenant=tenant, host=name, limit=1)
            if found:
                return found[0]
        raise _unknown()

    async def _named(self, exchange: Exchange, crawl_id: str | None) -> str | None:
        return None if crawl_id is None else (await crawl_of(self.crawls, exchange, crawl_id)).id

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
                summary="List the hosts of your crawls, or of one crawl",
                example=DomainList("01JGGR2Z3W8Q4T6V9X0Y1B2C3D", [_EXAMPLE_LISTED], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/domains/{domain}/robots",
                handler=self.get_robots,
                needs=Role.USER,
                summary="Show the robots.txt of a host, as it is obeyed",
                example=_EXAMPLE_ROBOTS,
                **named,
            ),
            Route(
                method="POST",
                path="/api/admin/domains/{domain}/reset",
                handler=self.reset_domain,
                needs=Role.ADMIN,
                summary="Try a host again that is left alone after failures",
                description="Forgets its failures, and fetches its robots.txt again.",
                example=_EXAMPLE,
                **named,
            ),
        ]


def _to_api(host: Host) -> ShownHost:
    waiting = host.waiting
    return ShownHost(
        host=host.host,
        crawl_delay=_seconds(host.delay_ms),
        is_allowed=host.is_allowed,
        failures=host.failures,
        resting_until=timestamps.from_ms(waiting.until) if waiting else None,
        waits_for=waiting.reason if waiting else None,
        counts=host.counts or UNSET,
    )


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _unknown() -> Problem:
    return Problem(problems.NOT_FOUND, "No crawl of yours has such a host.")


_EXAMPLE: Final = ShownHost(
    host="example.com:443", crawl_delay=1.0, is_allowed=True, failures=0, resting_until=None, waits_for=None
)
_EXAMPLE_LISTED: Final = msgspec.structs.replace(
    _EXAMPLE, counts=UrlCounts(pending=38, in_progress=12, completed=204, failed=3, blocked=7)
)
_EXAMPLE_ROBOTS: Final = ShownRobots(
    host="example.com:443",
    status=200,
    body="User-agent: *\nDisallow: /private\n",
    crawl_delay=1.0,
    fetched_at="2026-01-01T12:00:00.000Z",
    expires_at="2026-01-01T13:00:00.000Z",
)
