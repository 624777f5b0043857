"""Schedules over HTTP: make, list, show, change, pause, resume, run and delete."""

from typing import Any

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.schedules import schedule_shapes as shapes
from gossamer.doors.http.api.schedules.schedule_shapes import ScheduleQuery, ScheduleRunQuery
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.schedules.schedule_keeper import KeptSchedule, ScheduleKeeper
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import Schedule
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.spec import MAX_SEEDS
from gossamer.web.schedules.schedule_answer import (
    ScheduleList,
    ScheduleRunList,
    ShownRun,
    ShownSchedule,
    TimingPreview,
    show_time,
)
from gossamer.web.schedules.schedule_change import ScheduleChange, ScheduleRequest, TimingPreviewRequest
from gossamer.web.schedules.schedule_task import ScheduledCrawl
from gossamer.web.schedules.timing import Timing
from gossamer.web.url.url import MAX_URL_CHARS

MAX_BODY = MAX_SEEDS * MAX_URL_CHARS + 1_000_000


class SchedulesEndpoints(Struct, frozen=True):
    keeper: ScheduleKeeper

    async def create_schedule(self, exchange: Exchange, body: ScheduleRequest) -> Response:
        async def remember(connection: AsyncConnection, schedule: Schedule) -> None:
            await exchange.remember(connection, _to_created(schedule))

        return _to_created(await self.keeper.create(exchange.caller, body, exchange.actor, remember))

    async def preview_timing(self, exchange: Exchange, body: TimingPreviewRequest) -> TimingPreview:
        planned = await self.keeper.preview(body.timing, body.count)
        return TimingPreview([show_time(each, body.timing) for each in planned])

    async def list_schedules(self, exchange: Exchange, query: ScheduleQuery) -> ScheduleList:
        found = await self.keeper.list_schedules(
            exchange.caller, kind=query.kind, before=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        more = page[-1].schedule.id if len(found) > query.limit else None
        return ScheduleList([shapes.to_line(kept) for kept in page], more)

    async def get_schedule(self, exchange: Exchange, id: str) -> ShownSchedule:
        return shapes.to_api(await self.keeper.get(exchange.caller, id))

    async def change_schedule(self, exchange: Exchange, id: str, body: ScheduleChange) -> ShownSchedule:
        await self.keeper.change(exchange.caller, id, body, exchange.actor)
        return await self.get_schedule(exchange, id)

    async def pause_schedule(self, exchange: Exchange, id: str) -> ShownSchedule:
        await self.keeper.pause(exchange.caller, id, exchange.actor)
        return await self.get_schedule(exchange, id)

    async def resume_schedule(self, exchange: Exchange, id: str) -> ShownSchedule:
        await self.keeper.resume(exchange.caller, id, exchange.actor)
        return await self.get_schedule(exchange, id)

    async def run_schedule(self, exchange: Exchange, id: str) -> Response:
        kind = (await self.keeper.get(exchange.caller, id)).schedule.kind

        async def remember(connection: AsyncConnection, run: ScheduleRun) -> None:
            await exchange.remember(connection, answer(shapes.run_to_api(run, kind), 202))

        run = await self.keeper.run_now(exchange.caller, id, exchange.actor, remember)
        return answer(shapes.run_to_api(run, kind), 202)

    async def list_runs(self, exchange: Exchange, id: str, query: ScheduleRunQuery) -> ScheduleRunList:
        schedule, found = await self.keeper.list_runs(
            exchange.caller, id, before=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        more = page[-1].id if len(found) > query.limit else None
        return ScheduleRunList([shapes.run_to_api(run, schedule.kind) for run in page], more)

    async def delete_schedule(self, exchange: Exchange, id: str) -> ShownSchedule:
        """As it was."""
        deleted = await self.get_schedule(exchange, id)
        await self.keeper.remove(exchange.caller, id, exchange.actor)
        return deleted

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Schedules"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The schedule's id."},
            "problems": (problems.NOT_FOUND,),
            "example": shapes.EXAMPLE_SCHEDULE,
        }
        changing = {**one, "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY)}
        return [
            Route(
                method="POST",
                path="/api/schedules",
                handler=self.create_schedule,
                summary="Start a crawl, batch or audit again and again",
                description="`task` is what its own endpoint takes, with `kind`. It is checked now, and "
                "started by the same rules each time, with the rights that your key has then. A run is "
                "skipped while the one before it is not over.",
                status=201,
                answers=ShownSchedule,
                problems=(problems.INVALID_URL, problems.QUOTA_EXCEEDED, problems.INVALID_SELECTOR),
                max_body_bytes=MAX_BODY,
                example_body=_EXAMPLE_REQUEST,
                example=shapes.EXAMPLE_SCHEDULE,
                **common,
            ),
            Route(
                method="POST",
                path="/api/schedules/preview",
                handler=self.preview_timing,
                control=True,
                idempotent=False,
                summary="Show when a timing would run, without storing anything",
                example_body=TimingPreviewRequest(timing=_EXAMPLE_REQUEST.timing, count=1),
                example=TimingPreview([shapes.EXAMPLE_NEXT]),
                **common,
            ),
            Route(
                method="GET",
                path="/api/schedules",
                handler=self.list_schedules,
                summary="List your schedules, newest first",
                example=ScheduleList([shapes.EXAMPLE_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/schedules/{id}",
                handler=self.get_schedule,
                summary="Show a schedule, and its next runs",
                **one,
            ),
            Route(
                method="PATCH",
                path="/api/schedules/{id}",
                handler=self.change_schedule,
                control=True,
                summary="Change a schedule",
                description="What is left out stays. A new `timing` counts from now. A new `task` is "
                "checked, and gives the schedule the rights of your key.",
                max_body_bytes=MAX_BODY,
                example_body=ScheduleChange(timing=Timing(every="6h", jitter="10m")),
                **{**changing, "problems": (*changing["problems"], problems.INVALID_URL)},
            ),
            Route(
                method="POST",
                path="/api/schedules/{id}/pause",
                handler=self.pause_schedule,
                control=True,
                summary="Pause a schedule",
                description="What it has started goes on.",
                **changing,
            ),
            Route(
                method="POST",
                path="/api/schedules/{id}/resume",
                handler=self.resume_schedule,
                control=True,
                summary="Resume a paused schedule",
                description="It runs at the next time from now on. One that stopped because its key was "
                "disabled gets the rights of yours.",
                **changing,
            ),
            Route(
                method="POST",
                path="/api/schedules/{id}/run",
                handler=self.run_schedule,
                summary="Run a schedule now",
                description="Its next runs stay as they are planned. A paused one can be run, too.",
                status=202,
                answers=ShownRun,
                **{
                    **changing,
                    "problems": (*changing["problems"], problems.QUOTA_EXCEEDED),
                    "example": shapes.EXAMPLE_RUN,
                },
            ),
            Route(
                method="GET",
                path="/api/schedules/{id}/runs",
                handler=self.list_runs,
                summary="List the runs of a schedule, newest first",
                description="The last 200 are kept.",
                **{**one, "example": ScheduleRunList([shapes.EXAMPLE_RUN], None)},
            ),
            Route(
                method="DELETE",
                path="/api/schedules/{id}",
                handler=self.delete_schedule,
                control=True,
                summary="Delete a schedule, with its history",
                description="The answer shows it as it was. What it has started stays.",
                **changing,
            ),
        ]


def _to_created(schedule: Schedule) -> Response:
    kept = KeptSchedule(schedule, None, False, schedule.created_at)
    return answer(shapes.to_api(kept), 201, {"Location": f"/api/schedules/{schedule.id}"})


_EXAMPLE_REQUEST = ScheduleRequest(
    name="news",
    task=ScheduledCrawl(seeds=("https://example.com/",), max_pages=100),
    timing=Timing(cron="0 6 * * MON-FRI", timezone="Europe/Zurich"),
)
