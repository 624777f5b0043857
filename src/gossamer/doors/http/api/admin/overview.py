"""Endpoints for the overview: the numbers of an operator's start page, once or as a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from starlette.responses import Response

from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS, tenant_seen_by
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import BEAT, BEAT_SECONDS, EVENTS, MAX_STREAMS, EventStreams
from gossamer.flows.upkeep.health import Status
from gossamer.flows.upkeep.overview import (
    CrawlOverview,
    FenceOverview,
    HealthOverview,
    JobCount,
    Overview,
    OverviewMinute,
    Overviews,
    RevenueOverview,
    StatusClasses,
    TodayOverview,
)
from gossamer.flows.upkeep.overview_feed import LOOK_SECONDS, OverviewFeed
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome_counts import OutcomeCounts


class OverviewEndpoints:
    def __init__(self, overviews: Overviews) -> None:
        self._overviews = overviews
        self._feed = OverviewFeed(overviews)
        self._streams = EventStreams()

    async def get_overview(self, exchange: Exchange) -> Overview:
        return await self._overviews.look(tenant_seen_by(exchange.caller))

    async def stream_overview(self, exchange: Exchange) -> Response:
        caller = exchange.caller
        accept = exchange.header(b"accept") or ""
        if "application/json" in accept and EVENTS not in accept:
            return answer(await self.get_overview(exchange), headers={"Vary": "Accept"})
        return self._streams.start(caller.key_id, self._stream(tenant_seen_by(caller)))

    async def _stream(self, tenant: str | None) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_STREAM_SECONDS
        async with self._feed.following(tenant) as follower:
            while (left := until - loop.time()) > 0:
                overview = await follower.next(min(left, BEAT_SECONDS))
                yield BEAT if overview is None else _to_sse(overview)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"method": "GET", "needs": Role.USER, "tag": "Operations"}
        return [
            Route(
                path="/api/overview",
                handler=self.get_overview,
                summary="Get the numbers of the start page",
                description="Users get the numbers of their tenant, admins those of all. Counts of other "
                "processes appear within seconds.",
                example=_EXAMPLE,
                **common,
            ),
            Route(
                path="/api/stats/stream",
                handler=self.stream_overview,
                summary="Follow the numbers of the start page",
                description="A stream of server-sent events. Each event `overview` is the answer of "
                f"`GET /api/overview`, sent every {LOOK_SECONDS:g} seconds if a number has changed. It ends "
                f"after {MAX_STREAM_SECONDS / 60:g} minutes; connect again. A key may have {MAX_STREAMS} "
                "open streams. With `Accept: application/json` it is sent once.",
                answers=Overview,
                example=_EXAMPLE,
                also={EVENTS: None},
                deadline=MAX_STREAM_SECONDS + 30,
                **common,
            ),
        ]


def _to_sse(overview: Overview) -> bytes:
    return b"event: overview\ndata: %b\n\n" % msgspec.json.encode(overview)


_EXAMPLE: Final = Overview(
    generated_at="2026-01-01T12:00:30.000Z",
    crawls=CrawlOverview(
        running=2,
        pending=18_204,
        in_progress=40,
        pages_per_second=12.4,
        success_rate=0.9871,
        status_codes=StatusClasses(40_120, 1_310, 512, 24),
        outcomes=OutcomeCounts(ok=41_302, blocked=212, soft_404=18, empty=40, error=394),
        minutes=[OverviewMinute("2026-01-01T12:00:00.000Z", 744, 9)],
    ),
    jobs=[JobCount("render", 12, 4)],
    today=TodayOverview(renders=340, failed=2, hot=9_120, cold=214, misses=338),
    workers=3,
    health=HealthOverview(Status.HEALTHY, {"database": Status.HEALTHY, "cache": Status.HEALTHY}),
    fence=FenceOverview("prefer", ["proxy", "netns", "bubblewrap", "sandbox"], []),
    revenue=RevenueOverview("$1.25", "$0", {"/fetch/basic": "$1.25"}),
    alerts=0,
)
