"""The pages of schedules: the list, the form that makes one, and one schedule with its history."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.schedules.schedule_shapes import ScheduleQuery, ScheduleRunQuery
from gossamer.doors.http.api.schedules.schedules import MAX_BODY, SchedulesEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.work.struct_form import fields_of, read_struct
from gossamer.problems import validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import Schedule
from gossamer.web.schedules.schedule_answer import ScheduleLine, TimingPreview
from gossamer.web.schedules.schedule_change import ScheduleChange, ScheduleRequest, TimingPreviewRequest
from gossamer.web.schedules.schedule_words import PauseReason, ScheduleKind, SkipReason
from gossamer.web.schedules.timing import Timing

HERE: Final = "/app/schedules"
NEW: Final = f"{HERE}/new"
KINDS: Final = {
    ScheduleKind.CRAWL: "Crawl",
    ScheduleKind.BATCH: "Batch",
    ScheduleKind.AUDIT: "Audit",
    ScheduleKind.MONITOR: "Monitor",
    ScheduleKind.RECRAWL: "Recrawl",
    ScheduleKind.WARM_UP: "Warm-up",
}
MADE_HERE: Final = ("crawl", "batch", "audit")
PAUSES: Final = {
    PauseReason.REQUEST: "It is paused.",
    PauseReason.KEY_DISABLED: "It has stopped: the key that made it is disabled.",
    PauseReason.KEY_EXPIRED: "It has stopped: the key that made it has expired.",
    PauseReason.PERSON_DISABLED: "It has stopped: the person who made it is disabled.",
    PauseReason.MAKER_GONE: "It has stopped: the key or person who made it is gone.",
    PauseReason.NEVER_DUE: "It has stopped: its timing has no more times.",
}
SKIPS: Final = {
    SkipReason.STILL_RUNNING.value: "The run before it was not over.",
    SkipReason.MISSED.value: "No server was up in time.",
}
_WORK_PAGES: Final = {
    ScheduleKind.CRAWL: "/app/crawls/{}",
    ScheduleKind.RECRAWL: "/app/crawls/{}",
    ScheduleKind.BATCH: "/app/batches/{}",
    ScheduleKind.AUDIT: "/app/audits/{}",
    ScheduleKind.MONITOR: "/app/jobs/{}",
    ScheduleKind.WARM_UP: "/app/jobs/{}",
}
_ADDRESSES: Final = {"crawl": "seeds", "batch": "urls"}


class SchedulesShown(msgspec.Struct):
    """Which schedules, or which of its runs, a page lists."""

    cursor: str = ""


class SchedulePages(Struct, frozen=True):
    dashboard: Dashboard
    schedules: SchedulesEndpoints

    async def show_list(self, exchange: Exchange, query: SchedulesShown) -> Response:
        found = await self.schedules.list_schedules(exchange, ScheduleQuery(cursor=query.cursor or None))
        return self.dashboard.render(
            exchange,
            "automation/schedules.html",
            here="schedules",
            found=found.schedules,
            kinds=KINDS,
            when=describe,
            **list_links(HERE, filters(query), found.next_cursor),
        )

    async def show_new(self, exchange: Exchange, form: Form = NO_FORM) -> Response:
        return self._new(exchange, form)

    async def preview(self, exchange: Exchange, form: Form) -> Response:
        asked = TimingPreviewRequest(timing=read_struct(Timing, form))
        return self._new(exchange, form, await self.schedules.preview_timing(exchange, asked))

    async def create(self, exchange: Exchange, form: Form) -> Response:
        timing = read_struct(Timing, form)
        request = Form({"name": form["name"]}).to(ScheduleRequest, task=_task(form), timing=timing)

        async def remember(connection: AsyncConnection, schedule: Schedule) -> None:
            await exchange.remember(connection, self._see(schedule.id, "schedule-made"))

        keeper = self.schedules.keeper
        made = await keeper.create(exchange.caller, request, exchange.actor, remember)
        return self._see(made.id, "schedule-made")

    async def show(
        self, exchange: Exchange, id: str, query: SchedulesShown | None = None, form: Form = NO_FORM
    ) -> Response:
        schedule = await self.schedules.get_schedule(exchange, id)
        cursor = query.cursor if query is not None else ""
        listed = await self.schedules.list_runs(exchange, id, ScheduleRunQuery(cursor=cursor or None))
        proposed = Form(_typed(schedule)) if form.problem is None else form
        return self.dashboard.render(
            exchange,
            "automation/schedule.html",
            here="schedules",
            form=form,
            change=proposed,
            fields=list(fields_of(Timing).values()),
            schedule=schedule,
            runs=listed.runs,
            kinds=KINDS,
            pauses=PAUSES,
            skips=SKIPS,
            when=describe(schedule),
            task=msgspec.json.format(msgspec.json.encode(schedule.task), indent=2).decode(),
            work_page=_WORK_PAGES[schedule.kind].format,
            **list_links(f"{HERE}/{id}", filters(query or SchedulesShown()), listed.next_cursor),
        )

    async def change(self, exchange: Exchange, form: Form, id: str) -> Response:
        change = ScheduleChange(timing=read_struct(Timing, form), name=form["name"])
        await self.schedules.change_schedule(exchange, id, change)
        return self._see(id, "schedule-changed")

    async def pause(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.schedules.pause_schedule(exchange, id)
        return self._see(id, "schedule-paused")

    async def resume(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.schedules.resume_schedule(exchange, id)
        return self._see(id, "schedule-resumed")

    async def run(self, exchange: Exchange, form: Form, id: str) -> Response:
        async def remember(connection: AsyncConnection, run: ScheduleRun) -> None:
            await exchange.remember(connection, self._see(id, "schedule-run"))

        await self.schedules.keeper.run_now(exchange.caller, id, exchange.actor, remember)
        return self._see(id, "schedule-run")

    async def ask_to_delete(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        schedule = await self.schedules.get_schedule(exchange, id)
        return self.dashboard.ask_to_delete(
            exchange,
            f"{HERE}/{id}",
            noun="schedule",
            subject=schedule.name or describe(schedule),
            consequence="It runs no more, and its history is deleted. What it has started stays.",
            form=form,
        )

    async def delete(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.schedules.delete_schedule(exchange, id)
        return self.dashboard.see(HERE, notice="schedule-deleted")

    def _see(self, schedule_id: str, notice: str) -> Response:
        return self.dashboard.see(f"{HERE}/{schedule_id}", notice=notice)

    def _new(self, exchange: Exchange, form: Form, preview: TimingPreview | None = None) -> Response:
        return self.dashboard.render(
            exchange,
            "automation/new_schedule.html",
            here="schedules",
            form=form,
            fields=list(fields_of(Timing).values()),
            kinds=[(kind, KINDS[ScheduleKind(kind)]) for kind in MADE_HERE],
            preview=preview,
        )

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        one = f"{HERE}/{{id}}"
        new: dict[str, Any] = {"show": self.show_new, "max_body_bytes": MAX_BODY}
        return [
            page(HERE, self.show_list, "Schedules"),
            page(NEW, self.show_new, "Make a schedule"),
            form(NEW, self.create, "Make a schedule", control=False, **new),
            form(f"{NEW}/preview", self.preview, "Preview the next runs", idempotent=False, **new),
            page(one, self.show, "A schedule"),
            form(f"{one}/change", self.change, "Change a schedule", show=self.show),
            form(f"{one}/pause", self.pause, "Pause a schedule", show=self.show),
            form(f"{one}/resume", self.resume, "Resume a schedule", show=self.show),
            form(f"{one}/run", self.run, "Run a schedule now", show=self.show, control=False),
            page(f"{one}/delete", self.ask_to_delete, "Ask before a schedule is deleted"),
            form(f"{one}/delete", self.delete, "Delete a schedule", show=self.ask_to_delete),
        ]


def describe(schedule: ScheduleLine) -> str:
    """When it runs, in few words."""
    timing = schedule.timing
    return f"every {timing.every}" if timing.every else f"{timing.cron} ({timing.timezone})"


def _typed(schedule: ScheduleLine) -> Mapping[str, str]:
    """The fields of the form that changes it, as they would be typed."""
    return {
        "name": schedule.name,
        **{name: str(value) for name, value in msgspec.structs.asdict(schedule.timing).items()},
    }


def _task(form: Form) -> dict[str, Any]:
    """The body of the task's endpoint, from its addresses and the options in JSON."""
    kind, addresses = form["kind"], form.lines("addresses")
    try:
        more = msgspec.json.decode(form["options"] or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise validation_error(
            f"More options: this is no JSON object: {error}.", hint='For example: {"maxPages": 100}'
        ) from None
    if kind == "audit" and len(addresses) != 1:
        raise validation_error("An audit is of one page or site.", hint="Give one address.")
    given = {"url": addresses[0]} if kind == "audit" else {_ADDRESSES.get(kind, "urls"): addresses}
    return {"kind": kind, **given, **more}
