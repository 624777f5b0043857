"""Monitors over HTTP: make, list, show, change, check, snooze, try and delete."""

import asyncio
from typing import Any, Final

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.monitors import monitor_shapes as shapes
from gossamer.doors.http.api.monitors.monitor_shapes import MonitorQuery
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.monitors.monitors import KeptMonitor, Monitors
from gossamer.flows.monitors.trying import RuleTrier
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants.tenants import Role
from gossamer.web.monitors.diff.changed_parts import changed_parts
from gossamer.web.monitors.monitor_answer import MonitorAccepted, MonitorList, ShownMonitor, TrialAnswer
from gossamer.web.monitors.monitor_request import (
    MAX_GIVEN_CHARS,
    GivenPage,
    MonitorChange,
    MonitorTrial,
    NewMonitor,
    SnoozeRequest,
)

MAX_TRIAL_BYTES: Final = 8 * MAX_GIVEN_CHARS + 100_000


class MonitorsEndpoints(Struct, frozen=True):
    monitors: Monitors
    trier: RuleTrier

    async def create_monitor(self, exchange: Exchange, body: NewMonitor) -> Response:
        async def remember(connection: AsyncConnection, kept: KeptMonitor) -> None:
            await exchange.remember(connection, answer(shapes.to_api(kept), 201))

        kept = await self.monitors.create(exchange.caller, body, exchange.actor, remember)
        return answer(shapes.to_api(kept), 201)

    async def try_rules(self, exchange: Exchange, body: MonitorTrial) -> TrialAnswer:
        found = await self.trier.compare(body, exchange.caller)
        parts = await asyncio.to_thread(changed_parts, found.comparison, body.rules)
        return TrialAnswer(
            changed=found.verdict.is_change,
            reasons=found.verdict.reasons,
            ignored=found.verdict.ignored,
            parts=parts,
        )

    async def list_monitors(self, exchange: Exchange, query: MonitorQuery) -> MonitorList:
        found = await self.monitors.list_monitors(exchange.caller, before=query.cursor, limit=query.limit + 1)
        page = found[: query.limit]
        more = page[-1].monitor.id if len(found) > query.limit else None
        return MonitorList([shapes.to_line(kept) for kept in page], more)

    async def get_monitor(self, exchange: Exchange, id: str) -> ShownMonitor:
        return shapes.to_api(await self.monitors.get(exchange.caller, id))

    async def change_monitor(self, exchange: Exchange, id: str, body: MonitorChange) -> ShownMonitor:
        return shapes.to_api(await self.monitors.change(exchange.caller, id, body, exchange.actor))

    async def delete_monitor(self, exchange: Exchange, id: str) -> ShownMonitor:
        """As it was."""
        deleted = await self.get_monitor(exchange, id)
        await self.monitors.remove(exchange.caller, id, exchange.actor)
        return deleted

    async def check_monitor(self, exchange: Exchange, id: str) -> Response:
        job = await self.monitors.check_now(exchange.caller, id, exchange.actor)
        return answer(shapes.to_accepted(id, job.job_id), 202)

    async def snooze_monitor(self, exchange: Exchange, id: str, body: SnoozeRequest) -> ShownMonitor:
        kept = await self.monitors.snooze(exchange.caller, id, body.seconds, exchange.actor)
        return shapes.to_api(kept)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Monitors"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The monitor's id."},
            "problems": (problems.NOT_FOUND,),
            "example": shapes.EXAMPLE_MONITOR,
        }
        refusals = (
            problems.INVALID_URL,
            problems.INVALID_SELECTOR,
            problems.NOT_FOUND,
            problems.QUOTA_EXCEEDED,
            problems.UNPROCESSABLE_ENTITY,
        )
        return [
            Route(
                method="POST",
                path="/api/monitors",
                handler=self.create_monitor,
                summary="Watch a page, a list, a crawl or a search",
                description="The first look is made at once, and later ones are compared with the last good "
                "one. Errors, captchas and log-ins are never changes. Subscribe a webhook to `monitor.*` to "
                "be told.",
                status=201,
                answers=ShownMonitor,
                example_body=shapes.EXAMPLE_REQUEST,
                example=shapes.EXAMPLE_MONITOR,
                problems=refusals,
                **common,
            ),
            Route(
                method="POST",
                path="/api/monitors/try",
                handler=self.try_rules,
                idempotent=False,
                summary="Try rules on two pages, without storing anything",
                description="Each page is given by its address, its HTML or its text.",
                max_body_bytes=MAX_TRIAL_BYTES,
                example_body=MonitorTrial(
                    before=GivenPage(text="Price: £22.00\n12 views"),
                    after=GivenPage(text="Price: £19.00\n31 views"),
                ),
                example=shapes.EXAMPLE_TRIAL,
                problems=(problems.INVALID_URL, problems.INVALID_SELECTOR),
                **common,
            ),
            Route(
                method="GET",
                path="/api/monitors",
                handler=self.list_monitors,
                summary="List your monitors, newest first",
                example=MonitorList([shapes.EXAMPLE_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/monitors/{id}",
                handler=self.get_monitor,
                summary="Show a monitor",
                **one,
            ),
            Route(
                method="PATCH",
                path="/api/monitors/{id}",
                handler=self.change_monitor,
                control=True,
                summary="Change, pause, resume or mute a monitor",
                description="If it watches something else, or by other rules, it begins with a first look.",
                example_body=MonitorChange(muted=True),
                **{**one, "problems": refusals},
            ),
            Route(
                method="DELETE",
                path="/api/monitors/{id}",
                handler=self.delete_monitor,
                control=True,
                summary="Delete a monitor with its history",
                **one,
            ),
            Route(
                method="POST",
                path="/api/monitors/{id}/check",
                handler=self.check_monitor,
                summary="Check now",
                description="If a check is queued or running, the answer names that one.",
                status=202,
                answers=MonitorAccepted,
                **{
                    **one,
                    "example": shapes.EXAMPLE_ACCEPTED,
                    "problems": (
                        problems.NOT_FOUND,
                        problems.QUOTA_EXCEEDED,
                        problems.UNPROCESSABLE_ENTITY,
                    ),
                },
            ),
            Route(
                method="POST",
                path="/api/monitors/{id}/snooze",
                handler=self.snooze_monitor,
                control=True,
                summary="Tell nothing for a while",
                description="Changes are recorded all the same.",
                example_body=SnoozeRequest("8h"),
                **one,
            ),
        ]
