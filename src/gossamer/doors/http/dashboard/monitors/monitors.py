"""The pages of monitors: the list, the form that makes one, a monitor, and a change with its difference."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.monitors.monitor_changes import MonitorChangesEndpoints
from gossamer.doors.http.api.monitors.monitor_shapes import DiffQuery, MonitorQuery
from gossamer.doors.http.api.monitors.monitors import MonitorsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.monitors.difference import NOISES, REASONS, shown_rows
from gossamer.doors.http.dashboard.monitors.monitor_form import RENDERS, WATCHED, read_monitor
from gossamer.doors.http.dashboard.work.struct_form import fields_of
from gossamer.flows.monitors.monitors import KeptMonitor
from gossamer.state.db.connection import AsyncConnection
from gossamer.web.monitors.monitor_answer import MonitorLine
from gossamer.web.monitors.monitor_request import MonitorChange, SnoozeRequest
from gossamer.web.schedules.timing import Timing

HERE: Final = "/app/monitors"
NEW: Final = f"{HERE}/new"
SNOOZES: Final = (("1h", "An hour"), ("8h", "8 hours"), ("1d", "A day"), ("1w", "A week"), ("0s", "Wake it"))
SHOWN_CHECKS: Final = 20


class MonitorsShown(msgspec.Struct):
    """Which monitors, or which of its changes, a page lists."""

    cursor: str = ""


class ChangeShown(msgspec.Struct):
    """How a page shows a difference."""

    view: Literal["inline", "side"] = "inline"


class MonitorPages(Struct, frozen=True):
    dashboard: Dashboard
    monitors: MonitorsEndpoints
    found: MonitorChangesEndpoints

    async def show_list(self, exchange: Exchange, query: MonitorsShown) -> Response:
        listed = await self.monitors.list_monitors(exchange, MonitorQuery(cursor=query.cursor or None))
        return self.dashboard.render(
            exchange,
            "automation/monitors.html",
            here="monitors",
            found=listed.monitors,
            when=describe,
            **list_links(HERE, filters(query), listed.next_cursor),
        )

    async def show_new(self, exchange: Exchange, form: Form = NO_FORM) -> Response:
        return self.dashboard.render(
            exchange,
            "automation/new_monitor.html",
            here="monitors",
            form=form,
            fields=list(fields_of(Timing).values()),
            watched=WATCHED,
            renders=RENDERS,
        )

    async def create(self, exchange: Exchange, form: Form) -> Response:
        async def remember(connection: AsyncConnection, kept: KeptMonitor) -> None:
            await exchange.remember(connection, self._see(kept.monitor.id, "monitor-made"))

        body = read_monitor(form)
        made = await self.monitors.monitors.create(exchange.caller, body, exchange.actor, remember)
        return self._see(made.monitor.id, "monitor-made")

    async def show(
        self, exchange: Exchange, id: str, query: MonitorsShown | None = None, form: Form = NO_FORM
    ) -> Response:
        monitor = await self.monitors.get_monitor(exchange, id)
        cursor = query.cursor if query is not None else ""
        listed = await self.found.list_changes(exchange, id, MonitorQuery(cursor=cursor or None, limit=25))
        checks = await self.found.list_checks(exchange, id, MonitorQuery(limit=SHOWN_CHECKS))
        rules = msgspec.json.format(msgspec.json.encode(monitor.rules), indent=2).decode()
        return self.dashboard.render(
            exchange,
            "automation/monitor.html",
            here="monitors",
            form=form,
            monitor=monitor,
            changes=listed.changes,
            checks=checks.checks,
            rules=rules,
            reasons=REASONS,
            noises=NOISES,
            snoozes=SNOOZES,
            when=describe(monitor),
            **list_links(f"{HERE}/{id}", filters(query or MonitorsShown()), listed.next_cursor),
        )

    async def show_change(
        self,
        exchange: Exchange,
        id: str,
        change: str,
        query: ChangeShown | None = None,
        form: Form = NO_FORM,
    ) -> Response:
        monitor = await self.monitors.get_monitor(exchange, id)
        shown = await self.found.get_change(exchange, id, change, DiffQuery())
        return self.dashboard.render(
            exchange,
            "automation/change.html",
            here="monitors",
            form=form,
            monitor=monitor,
            change=shown,
            view=query.view if query is not None else "inline",
            parts=[(part, shown_rows(part.rows)) for part in shown.parts],
            reasons=REASONS,
            noises=NOISES,
        )

    async def check(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.monitors.check_monitor(exchange, id)
        return self._see(id, "monitor-checking")

    async def pause(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, MonitorChange(paused=True), "monitor-paused")

    async def resume(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, MonitorChange(paused=False), "monitor-resumed")

    async def mute(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, MonitorChange(muted=True), "monitor-muted")

    async def unmute(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, MonitorChange(muted=False), "monitor-unmuted")

    async def snooze(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.monitors.snooze_monitor(exchange, id, SnoozeRequest(form["duration"] or "1d"))
        return self._see(id, "monitor-snoozed")

    async def acknowledge(self, exchange: Exchange, form: Form, id: str, change: str) -> Response:
        await self.found.acknowledge_change(exchange, id, change)
        return self._see(id, "monitor-acknowledged")

    async def ask_to_delete(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        monitor = await self.monitors.get_monitor(exchange, id)
        return self.dashboard.ask_to_delete(
            exchange,
            f"{HERE}/{id}",
            noun="monitor",
            subject=monitor.name or monitor.watched,
            consequence="Nobody looks any more, and everything that it has found is deleted.",
            form=form,
        )

    async def delete(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.monitors.delete_monitor(exchange, id)
        return self.dashboard.see(HERE, notice="monitor-deleted")

    async def _change(self, exchange: Exchange, id: str, change: MonitorChange, notice: str) -> Response:
        await self.monitors.change_monitor(exchange, id, change)
        return self._see(id, notice)

    def _see(self, monitor_id: str, notice: str) -> Response:
        return self.dashboard.see(f"{HERE}/{monitor_id}", notice=notice)

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        one = f"{HERE}/{{id}}"
        change = f"{one}/changes/{{change}}"
        shown: dict[str, Any] = {"show": self.show}
        return [
            page(HERE, self.show_list, "Monitors"),
            page(NEW, self.show_new, "Watch something"),
            form(NEW, self.create, "Watch something", control=False, show=self.show_new),
            page(one, self.show, "A monitor"),
            form(f"{one}/check", self.check, "Check a monitor now", control=False, **shown),
            form(f"{one}/pause", self.pause, "Pause a monitor", **shown),
            form(f"{one}/resume", self.resume, "Resume a monitor", **shown),
            form(f"{one}/mute", self.mute, "Mute a monitor", **shown),
            form(f"{one}/unmute", self.unmute, "Unmute a monitor", **shown),
            form(f"{one}/snooze", self.snooze, "Snooze a monitor", **shown),
            page(change, self.show_change, "A change"),
            form(f"{change}/acknowledge", self.acknowledge, "Acknowledge a change", show=self.show_change),
            page(f"{one}/delete", self.ask_to_delete, "Ask before a monitor is deleted"),
            form(f"{one}/delete", self.delete, "Delete a monitor", show=self.ask_to_delete),
        ]


def describe(monitor: MonitorLine) -> str:
    """When it looks, in few words."""
    timing = monitor.timing
    if timing is None:
        return "never"
    return f"every {timing.every}" if timing.every else f"{timing.cron} ({timing.timezone})"
